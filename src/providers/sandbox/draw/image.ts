import type { ImageOrder } from "../image-order.ts";
import { encodeImage } from "./encode.ts";
import { drawPoster } from "./poster.ts";
import { readTiles } from "./tiles.ts";

/** The file of an image. The same order is the same file. */
export async function makeImage(order: ImageOrder): Promise<Uint8Array> {
  const tiles = await readTiles(order.references, order.mask);
  return encodeImage(await drawPoster(order, tiles), order.format);
}
