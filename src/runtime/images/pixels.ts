import type { PixelSize } from "../../core/media/media.ts";

/** An image in memory: red, green, blue and opacity of each pixel, row by row from the top. */
export interface Pixels extends PixelSize {
  readonly pixels: Uint8Array | Uint8ClampedArray;
}
