import { createChance } from "../chance.ts";
import type { ImageOrder } from "../image-order.ts";
import { createCanvas } from "./canvas.ts";
import { encodeImage } from "./encode.ts";
import { choosePalette, paintLandscape } from "./landscape.ts";
import { drawPoster } from "./poster.ts";
import { readTiles } from "./tiles.ts";

/** The file of an image: a landscape of the seed, and over it what was asked for. The same order is the same file. */
export async function makeImage(order: ImageOrder): Promise<Uint8Array> {
  const tiles = await readTiles(order.references, order.mask);
  const canvas = createCanvas(order.size);
  const chance = createChance(order.seed);
  const palette = choosePalette(chance);
  paintLandscape(canvas, palette, chance);
  drawPoster(canvas, palette, { ...order, tiles });
  return encodeImage(canvas, order.format);
}
