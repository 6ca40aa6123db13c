import { imageSizeIn } from "../../core/media/image-size.ts";
import { decodePixels } from "./decode.ts";
import { encodePng } from "./encode-png.ts";
import type { Pixels } from "./pixels.ts";

/** How many images of the same size one image holds. */
export interface Grid {
  readonly columns: number;
  readonly rows: number;
}

/** A larger image is not decoded: it would take too much memory, and no grid is as large. */
const MOST_PIXELS = 40_000_000;

/**
 * The images of which `file` is a grid, as PNG files, row by row. A pixel that is left over at the right or at the
 * bottom belongs to none. Rejects for a file that is no whole image, or too small or too large for it.
 */
export async function cutGrid(file: Uint8Array<ArrayBuffer>, grid: Grid): Promise<Uint8Array[]> {
  const size = imageSizeIn(file);
  if (size === undefined || size.width * size.height > MOST_PIXELS)
    throw new Error("it is no image of a fitting size");
  const image = await decodePixels(file);
  if (image === undefined) throw new Error("it is an image of another kind");
  const width = Math.floor(image.width / grid.columns);
  const height = Math.floor(image.height / grid.rows);
  if (width === 0 || height === 0) throw new Error("it is too small for a grid");
  return Array.from({ length: grid.columns * grid.rows }, (_, at) => {
    const left = (at % grid.columns) * width;
    const top = Math.floor(at / grid.columns) * height;
    return encodePng(part(image, { left, top, width, height }));
  });
}

interface Place {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

function part(whole: Pixels, { left, top, width, height }: Place): Pixels {
  const pixels = new Uint8Array(width * height * 4);
  for (let row = 0; row < height; row += 1) {
    const from = ((top + row) * whole.width + left) * 4;
    pixels.set(whole.pixels.subarray(from, from + width * 4), row * width * 4);
  }
  return { width, height, pixels };
}
