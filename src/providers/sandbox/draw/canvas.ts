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
  const between = (a: number, b: number): number => Math.round(a + (b - a) * share);
  return [between(from[0], to[0]), between(from[1], to[1]), between(from[2], to[2])];
}

/** A pixel as it lies in memory. */
export function wordOf([red, green, blue]: Colour): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** Fills a rectangle of whole pixels, as far as it lies on the canvas. */
export function fillRectangle(
  canvas: Canvas,
  { x, y, width, height }: PixelSize & { readonly x: number; readonly y: number },
  paint: Paint,
): void {
  const left = Math.max(0, x);
  const right = Math.min(canvas.width, x + width);
  for (let row = Math.max(0, y); row < Math.min(canvas.height, y + height); row += 1)
    fillSpan(canvas, { row, left, right }, colourAt(paint, row), paint.opacity ?? 1);
}

/** Pixels of a row from `left` up to `right`, all of them on the canvas. */
interface Span {
  readonly row: number;
  readonly left: number;
  readonly right: number;
}

function fillSpan(
  { pixels, words, width }: Canvas,
  { row, left, right }: Span,
  colour: Colour,
  opacity: number,
): void {
  if (right <= left) return;
  if (opacity >= 1) {
    words.fill(wordOf(colour), row * width + left, row * width + right);
    return;
  }
  const [red, green, blue] = colour;
  for (let at = (row * width + left) * 4; at < (row * width + right) * 4; at += 4) {
    pixels[at] = blend(pixels[at], red, opacity);
    pixels[at + 1] = blend(pixels[at + 1], green, opacity);
    pixels[at + 2] = blend(pixels[at + 2], blue, opacity);
  }
}

function blend(under = 0, over: number, opacity: number): number {
  return Math.round(under + (over - under) * opacity);
}
