import type { PixelSize } from "../../../core/media.ts";

/** Opaque pixels in red, green, blue and a fourth byte that is always 255, row by row from the top. */
export interface Canvas extends PixelSize {
  readonly pixels: Uint8Array;
  /** The same bytes, a pixel at a time. */
  readonly words: Uint32Array;
}

/** Red, green and blue, 0 to 255. */
export type Colour = readonly [red: number, green: number, blue: number];

/** What a shape is filled with: a colour, or one that goes over into another from row `top` to row `bottom`. */
export interface Paint {
  readonly colour: Colour;
  readonly to?: { readonly colour: Colour; readonly top: number; readonly bottom: number };
  /** 0 to 1; absent: 1. */
  readonly opacity?: number;
}

/** A black canvas. */
export function createCanvas({ width, height }: PixelSize): Canvas {
  const pixels = new Uint8Array(width * height * 4);
  const words = new Uint32Array(pixels.buffer);
  words.fill(wordOf([0, 0, 0]));
  return { width, height, pixels, words };
}

/** The colour of `paint` in row `y`. */
export function colourAt({ colour, to }: Paint, y: number): Colour {
  if (to === undefined) return colour;
  const share = Math.min(1, Math.max(0, (y - to.top) / Math.max(1, to.bottom - to.top)));
  return mix(colour, to.colour, share);
}

/** Between two colours. */
export function mix(from: Colour, to: Colour, share: number): Colour {
  return [between(from[0], to[0], share), between(from[1], to[1], share), between(from[2], to[2], share)];
}

/** A pixel as it lies in memory. */
export function wordOf([red, green, blue]: Colour): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** Pixels of a row from `left` up to `right`, all of them on the canvas. */
export interface Span {
  readonly row: number;
  readonly left: number;
  readonly right: number;
}

/** Lays so much of a colour, 0 to 1, over the pixels of a span. */
export function blendSpan({ pixels, width }: Canvas, span: Span, colour: Colour, share: number): void {
  const [red, green, blue] = colour;
  const end = (span.row * width + span.right) * 4;
  for (let at = (span.row * width + span.left) * 4; at < end; at += 4) {
    pixels[at] = between(pixels[at] as number, red, share);
    pixels[at + 1] = between(pixels[at + 1] as number, green, share);
    pixels[at + 2] = between(pixels[at + 2] as number, blue, share);
  }
}

function between(from: number, to: number, share: number): number {
  return Math.round(from + (to - from) * share);
}

/** Fills the whole canvas. */
export function fillCanvas({ width, height, words }: Canvas, paint: Paint): void {
  for (let row = 0; row < height; row += 1)
    words.fill(wordOf(colourAt(paint, row)), row * width, (row + 1) * width);
}
