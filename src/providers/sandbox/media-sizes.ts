import type { ImageRequest, PixelSize, VideoRequest } from "../../core/media.ts";

/** Pixels at 1K by aspect ratio; 2K and 4K have twice and four times each side. Source: https://ai.google.dev/gemini-api/docs/image-generation */
const GEMINI_1K: Readonly<Record<string, PixelSize>> = {
  "1:1": { width: 1024, height: 1024 },
  "2:3": { width: 848, height: 1264 },
  "3:2": { width: 1264, height: 848 },
  "3:4": { width: 896, height: 1200 },
  "4:3": { width: 1200, height: 896 },
  "4:5": { width: 928, height: 1152 },
  "5:4": { width: 1152, height: 928 },
  "9:16": { width: 768, height: 1376 },
  "16:9": { width: 1376, height: 768 },
  "21:9": { width: 1584, height: 672 },
};

/** Each of Midjourney's four images, by aspect ratio. */
const MIDJOURNEY: Readonly<Record<string, PixelSize>> = {
  "1:1": { width: 1024, height: 1024 },
  "2:3": { width: 896, height: 1344 },
  "3:2": { width: 1344, height: 896 },
  "3:4": { width: 928, height: 1232 },
  "4:3": { width: 1232, height: 928 },
  "4:5": { width: 960, height: 1200 },
  "5:4": { width: 1200, height: 960 },
  "9:16": { width: 816, height: 1456 },
  "16:9": { width: 1456, height: 816 },
  "21:9": { width: 1680, height: 720 },
};

/** Videos by resolution: wide, square-ish and tall, as the models of the catalogue make them. */
const VIDEOS: Readonly<Record<VideoRequest["resolution"], readonly PixelSize[]>> = {
  "480p": [
    { width: 864, height: 496 },
    { width: 752, height: 560 },
    { width: 640, height: 640 },
    { width: 560, height: 752 },
    { width: 496, height: 864 },
  ],
  "720p": [
    { width: 1280, height: 720 },
    { width: 1088, height: 832 },
    { width: 960, height: 960 },
    { width: 832, height: 1088 },
    { width: 720, height: 1280 },
  ],
  "1080p": [
    { width: 1920, height: 1080 },
    { width: 1632, height: 1248 },
    { width: 1440, height: 1440 },
    { width: 1248, height: 1632 },
    { width: 1080, height: 1920 },
  ],
};

/** All sizes of videos. */
export const VIDEO_SIZES: readonly PixelSize[] = Object.values(VIDEOS).flat();

const SQUARE: PixelSize = { width: 1024, height: 1024 };

/** How large the images of a request are. */
export function sizeOfImage(request: ImageRequest): PixelSize {
  const { size, imageSize = "1K", aspectRatio = "1:1", midjourney } = request;
  if (size !== undefined) return size;
  if (midjourney !== undefined) return MIDJOURNEY[aspectRatio] ?? SQUARE;
  return geminiSize(aspectRatio, imageSize);
}

/** The size of an image of Gemini's; a square where the ratio is none of its own. */
export function geminiSize(aspectRatio: string, imageSize: "1K" | "2K" | "4K"): PixelSize {
  const { width, height } = GEMINI_1K[aspectRatio] ?? SQUARE;
  const times = { "1K": 1, "2K": 2, "4K": 4 }[imageSize];
  return { width: width * times, height: height * times };
}

/** How large a video is: by its aspect ratio, else the nearest to the shape of its first frame where that is known. */
export function sizeOfVideo(
  { resolution, aspectRatio }: VideoRequest,
  frame: PixelSize | undefined,
): PixelSize {
  const ratio = aspectRatio === undefined && frame !== undefined ? frame.width / frame.height : undefined;
  const wanted = Math.log(ratio ?? (aspectRatio === "9:16" ? 9 / 16 : 16 / 9));
  const off = ({ width, height }: PixelSize): number => Math.abs(Math.log(width / height) - wanted);
  return VIDEOS[resolution].reduce((best, size) => (off(size) < off(best) ? size : best));
}
