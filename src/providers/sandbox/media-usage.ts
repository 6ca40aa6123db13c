import { imageSizeOf } from "../../core/image-size.ts";
import type { ImageRequest, PixelSize, VideoRequest } from "../../core/media.ts";
import { NO_USAGE, type Usage } from "../../core/usage.ts";
import { tokensOf } from "./text-pieces.ts";

/** A picture of 1K or 2K, and of 4K. Source: https://ai.google.dev/gemini-api/docs/pricing */
const GEMINI_TOKENS = { "1K": 1_120, "2K": 1_120, "4K": 2_000 } as const;

/** A square of 1024 pixels by quality; `auto` is taken for `medium`. Source: https://platform.openai.com/docs/guides/image-generation */
const GPT_TOKENS: Readonly<Record<string, number>> = { low: 196, medium: 1_756, high: 7_024 };
/** And what is longer than wide or wider than long, of 1536 by 1024. */
const GPT_LONG_TOKENS: Readonly<Record<string, number>> = { low: 165, medium: 1_372, high: 5_488 };

/** A picture that goes in, of unknown size. */
const INPUT_PICTURE_TOKENS = 258;
const MOST_INPUT_PICTURE_TOKENS = 1_500;

/** Seconds that a film which goes in is taken to have, and the most that all of them may. */
const INPUT_FILM_SEC = 5;
const MOST_INPUT_FILM_SEC = 15;

/** What `delivered` pictures of `size` come to, counted as the model's own vendor does. */
export function pictureUsage(
  model: string,
  request: ImageRequest,
  size: PixelSize,
  delivered: number,
): Usage {
  const vendor = vendorOf(model);
  if (vendor !== "openai" && vendor !== "google") return { ...NO_USAGE, images: delivered };
  const input = tokensOf(request.prompt);
  const imageInput = request.images.reduce((sum, image) => sum + inputPictureTokens(image), 0);
  if (vendor === "google")
    return {
      ...NO_USAGE,
      input: input * delivered,
      imageInput: imageInput * delivered,
      imageOutput: GEMINI_TOKENS[request.imageSize ?? "1K"] * delivered,
      images: delivered,
    };
  return { ...NO_USAGE, input, imageInput, imageOutput: gptTokens(request, size) * delivered };
}

function gptTokens({ quality = "auto" }: ImageRequest, { width, height }: PixelSize): number {
  const word = quality in GPT_TOKENS ? quality : "medium";
  const [table, pixels] = width === height ? [GPT_TOKENS, 1_024 * 1_024] : [GPT_LONG_TOKENS, 1_536 * 1_024];
  return Math.ceil(((table[word] ?? 0) * width * height) / pixels);
}

function inputPictureTokens(image: string): number {
  const size = imageSizeOf(image);
  if (size === undefined) return INPUT_PICTURE_TOKENS;
  return Math.min(MOST_INPUT_PICTURE_TOKENS, Math.ceil((size.width * size.height) / 1_024));
}

/** What a film of `size` comes to: tokens for ByteDance, seconds for others. */
export function filmUsage(model: string, request: VideoRequest, { width, height }: PixelSize): Usage {
  const { durationSec, referenceVideos } = request;
  if (vendorOf(model) !== "bytedance") return { ...NO_USAGE, seconds: durationSec };
  const inputSec = Math.min(MOST_INPUT_FILM_SEC, referenceVideos.length * INPUT_FILM_SEC);
  const tokens = Math.ceil(((inputSec + durationSec) * width * height * 24) / 1_024);
  return { ...NO_USAGE, output: tokens };
}

function vendorOf(model: string): string {
  return model.slice(0, Math.max(0, model.indexOf("/")));
}
