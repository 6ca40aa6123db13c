import type { ImageFormat, ImageRequest, MediaInput, PixelSize } from "../../../core/media/media.ts";
import type { Ask } from "../formats/ask.ts";
import { geminiSize, sizeOfImage } from "./sizes.ts";

/** A word and its value, as they are shown: `quality`, `high`. */
export type Fact = readonly [label: string, value: string];

/** An image to be drawn. Plain data, so that it can go to a thread. */
export interface ImageOrder {
  readonly size: PixelSize;
  readonly format: ImageFormat;
  readonly seed: string;
  readonly model: string;
  readonly prompt: string;
  readonly facts: readonly Fact[];
  /** Which of how many, from 1; absent where that says nothing. */
  readonly ofMany?: readonly [number, number];
  readonly references: readonly Reference[];
  readonly mask?: MediaInput;
}

/** What was given to go by. */
export interface Reference {
  /** What it is: `image 1`, `style`. */
  readonly label: string;
  readonly input: MediaInput;
}

/** The `index`th image of a request to a model. */
export function imageOrder(request: ImageRequest, model: string, seed: string, index: number): ImageOrder {
  const { prompt, n, images, mask, imageSize, aspectRatio, quality, background, outputFormat } = request;
  const { midjourney } = request;
  const size = sizeOfImage(request);
  const style = midjourney?.sref;
  return {
    size,
    format: outputFormat ?? "png",
    seed: `${seed}/${index}`,
    model,
    prompt,
    facts: factsOf(size, {
      "image size": imageSize,
      "aspect ratio": aspectRatio,
      seed: request.seed ?? "random",
      quality,
      background,
      format: outputFormat,
      version: midjourney?.version,
      niji: midjourney?.niji,
      stylize: midjourney?.stylize,
      chaos: midjourney?.chaos,
      weird: midjourney?.weird,
    }),
    ...(n > 1 ? { ofMany: [index + 1, n] } : {}),
    references: [...numbered(images), ...(style === undefined ? [] : [{ label: "style", input: style }])],
    ...(mask === undefined ? {} : { mask }),
  };
}

/** The image in the `index`th choice of an answer: light, unless a size is asked for. */
export function answerImageOrder(ask: Ask, index: number): ImageOrder {
  const { model, userText, aspectRatio, imageSize, seed, images } = ask;
  const size = imageSize === undefined ? smallSize(aspectRatio) : geminiSize(aspectRatio ?? "1:1", imageSize);
  return {
    size,
    format: "png",
    seed: `${seed}/${index}`,
    model,
    prompt: userText,
    facts: factsOf(size, { "image size": imageSize, "aspect ratio": aspectRatio }),
    references: numbered(images),
  };
}

const SMALL_SIDE = 256;

/** A square where the aspect ratio says nothing. */
function smallSize(aspectRatio = ""): PixelSize {
  const [, wide = 1, high = 1] = (/^(\d{1,3}):(\d{1,3})$/.exec(aspectRatio) ?? []).map(Number);
  const side = (part: number): number =>
    Math.max(1, Math.round((SMALL_SIDE * part) / Math.max(wide, high, 1)));
  return { width: side(wide), height: side(high) };
}

function numbered(inputs: readonly MediaInput[]): readonly Reference[] {
  return inputs.map((input, i) => ({ label: `image ${i + 1}`, input }));
}

type Asked = Readonly<Record<string, string | number | undefined>>;

function factsOf({ width, height }: PixelSize, asked: Asked): readonly Fact[] {
  const facts: Asked = { size: `${width} × ${height}`, ...asked };
  return Object.entries(facts).flatMap(([label, value]) =>
    value === undefined || value === "" ? [] : [[label, String(value)] as const],
  );
}
