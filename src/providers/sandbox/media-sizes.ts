import type { ImageRequest, PixelSize, VideoRequest } from "../../core/media.ts";

/** Pixels by aspect ratio of images that lie or are square; those that stand are the same, turned. */
type Sizes = Readonly<Record<string, readonly [width: number, height: number]>>;

/** At 1K; 2K and 4K have twice and four times each side. Source: https://ai.google.dev/gemini-api/docs/image-generation */
const GEMINI_1K: Sizes = {
  "1:1": [1024, 1024],
  "3:2": [1264, 848],
  "4:3": [1200, 896],
  "5:4": [1152, 928],
  "16:9": [1376, 768],
  "21:9": [1584, 672],
};

/** Each of Midjourney's four images. */
const MIDJOURNEY: Sizes = {
  "1:1": [1024, 1024],
  "3:2": [1344, 896],
  "4:3": [1232, 928],
  "5:4": [1200, 960],
  "16:9": [1456, 816],
  "21:9": [1680, 720],
};

/** Videos by resolution: wide, less wide and square, as the models of the catalogue make them. */
const VIDEOS: Readonly<Record<VideoRequest["resolution"], readonly (readonly [number, number])[]>> = {
  "480p": [
    [864, 496],
    [752, 560],
    [640, 640],
  ],
  "720p": [
    [1280, 720],
    [1088, 832],
    [960, 960],
  ],
  "1080p": [
    [1920, 1080],
    [1632, 1248],
    [1440, 1440],
  ],
};

const sized = ([width, height]: readonly [number, number], times = 1): PixelSize => ({
  width: width * times,
  height: height * times,
});

const turned = ({ width, height }: PixelSize): PixelSize => ({ width: height, height: width });

function videoSizes(resolution: VideoRequest["resolution"]): readonly PixelSize[] {
  const lying = VIDEOS[resolution].map((size) => sized(size));
  return [...lying, ...lying.slice(0, -1).map(turned)];
}

/** All sizes of videos. */
export const VIDEO_SIZES = (["480p", "720p", "1080p"] as const).flatMap(videoSizes);

/** The size for a ratio; a square where it is none of these. */
function sizeIn(sizes: Sizes, aspectRatio: string, times = 1): PixelSize {
  const own = sizes[aspectRatio];
  const other = sizes[aspectRatio.split(":").toReversed().join(":")];
  if (own === undefined && other !== undefined) return turned(sized(other, times));
  return sized(own ?? [1024, 1024], times);
}

/** How large the images of a request are. */
export function sizeOfImage(request: ImageRequest): PixelSize {
  const { size, imageSize = "1K", aspectRatio = "1:1", midjourney } = request;
  if (size !== undefined) return size;
  return midjourney === undefined ? geminiSize(aspectRatio, imageSize) : sizeIn(MIDJOURNEY, aspectRatio);
}

/** The size of an image of Gemini's; a square where the ratio is none of its own. */
export function geminiSize(aspectRatio: string, imageSize: "1K" | "2K" | "4K"): PixelSize {
  return sizeIn(GEMINI_1K, aspectRatio, { "1K": 1, "2K": 2, "4K": 4 }[imageSize]);
}

/** How large a video is: by its aspect ratio, else the nearest to the shape of its first frame where that is known. */
export function sizeOfVideo(
  { resolution, aspectRatio }: VideoRequest,
  frame: PixelSize | undefined,
): PixelSize {
  const ratio = aspectRatio === undefined && frame !== undefined ? frame.width / frame.height : undefined;
  const wanted = Math.log(ratio ?? (aspectRatio === "9:16" ? 9 / 16 : 16 / 9));
  const off = ({ width, height }: PixelSize): number => Math.abs(Math.log(width / height) - wanted);
  return videoSizes(resolution).reduce((best, size) => (off(size) < off(best) ? size : best));
}
