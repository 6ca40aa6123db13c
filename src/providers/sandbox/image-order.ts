import type { ImageFormat, ImageRequest, MediaInput, PixelSize } from "../../core/media.ts";
import type { Ask } from "./ask.ts";
import { geminiSize } from "./media-sizes.ts";

/** A word and its value, as they are shown: `quality`, `high`. */
export type Fact = readonly [label: string, value: string];

/** An image to be drawn. Plain data, so that it can go to a thread. */
export interface ImageOrder {
  readonly size: PixelSize;
  readonly format: ImageFormat;
  /** What chance is seeded with. */
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

/** What is the model's and the attempt's of an order. */
interface Making {
  readonly size: PixelSize;
  readonly seed: string;
  readonly model: string;
  readonly index: number;
}

/** The `index`th image of a request. */
export function imageOrder(request: ImageRequest, { size, seed, model, index }: Making): ImageOrder {
  const { prompt, images, mask, outputFormat = "png", midjourney } = request;
  const style = midjourney?.sref;
  return {
    size,
    format: outputFormat,
    seed: `${seed}/${index}`,
    model,
    prompt,
    facts: imageFacts(request, size),
    ...(request.n > 1 ? { ofMany: [index + 1, request.n] } : {}),
    references: [...numbered(images), ...(style === undefined ? [] : [{ label: "style", input: style }])],
    ...(mask === undefined ? {} : { mask }),
  };
}

function imageFacts(request: ImageRequest, size: PixelSize): readonly Fact[] {
  const { imageSize, aspectRatio, seed, quality, background, outputFormat, midjourney } = request;
  return present([
    ["size", `${size.width} × ${size.height}`],
    ["image size", imageSize],
    ["aspect ratio", aspectRatio],
    ["seed", seed?.toString() ?? "random"],
    ["quality", quality],
    ["background", background],
    ["format", outputFormat],
    ["version", midjourney?.version],
    ["niji", midjourney?.niji],
    ["stylize", midjourney?.stylize.toString()],
    ["chaos", midjourney?.chaos.toString()],
    ["weird", midjourney?.weird.toString()],
  ]);
}

/** The image in the `index`th choice of an answer. */
export function answerImageOrder(ask: Ask, index: number): ImageOrder {
  const { model, userText, aspectRatio, imageSize, seed, images } = ask;
  const size = imageSize === undefined ? smallSize(aspectRatio) : geminiSize(aspectRatio ?? "1:1", imageSize);
  return {
    size,
    format: "png",
    seed: `${seed}/${index}`,
    model,
    prompt: userText,
    facts: present([
      ["size", `${size.width} × ${size.height}`],
      ["image size", imageSize],
      ["aspect ratio", aspectRatio],
    ]),
    references: numbered(images),
  };
}

/** The longer side of an image in an answer, unless a size is asked for: it must not weigh much. */
const SMALL_SIDE = 256;

/** A square where the aspect ratio says nothing. */
function smallSize(aspectRatio: string | undefined): PixelSize {
  const [wide = 1, high = 1] =
    /^(\d{1,3}):(\d{1,3})$/
      .exec(aspectRatio ?? "")
      ?.slice(1)
      .map(Number) ?? [];
  const longer = Math.max(wide, high, 1);
  const side = (part: number): number => Math.max(1, Math.round((SMALL_SIDE * part) / longer));
  return { width: side(wide), height: side(high) };
}

function numbered(inputs: readonly MediaInput[]): readonly Reference[] {
  return inputs.map((input, i) => ({ label: `image ${i + 1}`, input }));
}

function present(facts: readonly (readonly [string, string | undefined])[]): readonly Fact[] {
  return facts.flatMap(([label, value]) =>
    value === undefined || value === "" ? [] : [[label, value] as const],
  );
}
