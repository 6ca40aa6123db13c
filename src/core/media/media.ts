/**
 * Requests for images and videos after the parameters of the model were checked and its defaults filled in. Plain data,
 * so that a request can wait in the store. A parameter that the model does not take is absent.
 */
export type MediaRequest = ImageRequest | VideoRequest;

/** An image, a video or audio that a request names: an http(s) URL, or a data URI as it came. */
export type MediaInput = string;

export interface ImageRequest {
  readonly kind: "image";
  readonly prompt: string;
  /** How many images, 1 to 4. */
  readonly n: number;
  /** Absent: random. */
  readonly seed?: number;
  readonly size?: PixelSize;
  readonly imageSize?: "1K" | "2K" | "4K";
  /** `16:9` */
  readonly aspectRatio?: string;
  /** Images to start from, in the order in which they were given. */
  readonly images: readonly MediaInput[];
  /** Transparent where the image is to be painted anew. */
  readonly mask?: MediaInput;
  /** A word (`low`, `medium`, `high`, `auto`), or Midjourney's number as text (`0.25`, `0.5`, `1`, `2`). */
  readonly quality?: string;
  readonly background?: "opaque" | "auto";
  readonly outputFormat?: ImageFormat;
  readonly midjourney?: MidjourneyStyle;
}

export const IMAGE_FORMATS = ["png", "jpeg", "webp"] as const;
export type ImageFormat = (typeof IMAGE_FORMATS)[number];

/** What only Midjourney has. */
export interface MidjourneyStyle {
  readonly version: "6" | "6.1" | "7";
  /** Absent: off. */
  readonly niji?: "5" | "6";
  readonly chaos: number;
  readonly weird: number;
  readonly stylize: number;
  /** An image whose style is followed: an http(s) URL. */
  readonly sref?: MediaInput;
}

export interface PixelSize {
  readonly width: number;
  readonly height: number;
}

export interface VideoRequest {
  readonly kind: "video";
  readonly prompt: string;
  /** Absent: random. */
  readonly seed?: number;
  readonly durationSec: number;
  readonly resolution: "480p" | "720p" | "1080p";
  /** Absent with frames, which set it. */
  readonly aspectRatio?: "16:9" | "9:16";
  /** Absent where the model does not take it. */
  readonly shotType?: "single" | "multi";
  readonly negativePrompt?: string;
  /** Absent where the model does not take it. */
  readonly expandPrompt?: boolean;
  readonly firstFrame?: MediaInput;
  readonly lastFrame?: MediaInput;
  readonly referenceImages: readonly MediaInput[];
  readonly referenceVideos: readonly MediaInput[];
  readonly referenceAudios: readonly MediaInput[];
}
