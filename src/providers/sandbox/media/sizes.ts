import type { ImageRequest, PixelSize, VideoRequest } from "../../../core/media/media.ts";

/** Pixels by aspect ratio of images that lie or are square; those that stand are the same, turned. */
type Sizes = Readonly<Record<string, string>>;

/** At 1K; 2K and 4K have twice and four times each side. Source: https://ai.google.dev/gemini-api/docs/image-generation */
const GEMINI_1K: Sizes = {
  "1:1": "1024x1024",
  "3:2": "1264x848",
  "4:3": "1200x896",
  "5:4": "1152x928",
  "16:9": "1376x768",
  "21:9": "1584x672",
};

/** Each of Midjourney's four images. */
const MIDJOURNEY: Sizes = {
  "1:1": "1024x1024",
  "3:2": "1344x896",
  "4:3": "1232x928",
  "5:4": "1200x960",
  "16:9": "1456x816",
  "21:9": "1680x720",
};

/** Videos by resolution: square, less wide and wide, as the models of the catalogue make them. */
const VIDEOS: Readonly<Record<VideoRequest["resolution"], string>> = {
  "480p": "640x640 752x560 864x496",
  "720p": "960x960 1088x832 1280x720",
  "1080p": "1440x1440 1632x1248 1920x1080",
};

const sidesIn = (size: string): readonly number[] => size.split("x").map(Number);

function videoSizes(resolution: VideoRequest["resolution"]): readonly PixelSize[] {
  const lying = VIDEOS[resolution].split(" ").map(sidesIn);
  const standing = lying.slice(1).map((sides) => sides.toReversed());
  return [...lying, ...standing].map(([width = 0, height = 0]) => ({ width, height }));
}

export const VIDEO_SIZES = (["480p", "720p", "1080p"] as const).flatMap(videoSizes);

/** The size for a ratio; a square where it is none of these. */
function sizeIn(sizes: Sizes, aspectRatio: string, times = 1): PixelSize {
  const turned = sizes[aspectRatio.split(":").toReversed().join(":")];
  const sides = sidesIn(sizes[aspectRatio] ?? turned ?? "1024x1024");
  const [width = 0, height = 0] = sizes[aspectRatio] === undefined ? sides.toReversed() : sides;
  return { width: width * times, height: height * times };
}

/** How large the images of a request are. */
export function sizeOfImage(request: ImageRequest): PixelSize {
  const { size, imageSize = "1K", aspectRatio = "1:1", midjourney } = request;
  if (size !== undefined) return size;
  return midjourney === undefined ? geminiSize(aspectRatio, imageSize) : sizeIn(MIDJOURNEY, aspectRatio);
}

/** The size of an image of Gemini's; a square where the ratio is none of its own. */
export function geminiSize(aspectRatio: string, imageSize: "1K" | "2K" | "4K"): PixelSize {
  return sizeIn(GEMINI_1K, aspectRatio, Number.parseInt(imageSize, 10));
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
