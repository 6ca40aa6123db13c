import { createChance } from "../chance.ts";
import type { PictureOrder } from "../picture-order.ts";
import { createCanvas } from "./canvas.ts";
import { encodePicture } from "./encode.ts";
import { choosePalette, paintLandscape } from "./landscape.ts";
import { drawPoster } from "./poster.ts";
import { readTiles } from "./tiles.ts";

/** The file of a picture: a landscape of the seed, and over it what was asked for. The same order is the same file. */
export async function makePicture(order: PictureOrder): Promise<Uint8Array> {
  const tiles = await readTiles(order.references, order.mask);
  const canvas = createCanvas(order.size);
  const chance = createChance(order.seed);
  const palette = choosePalette(chance);
  paintLandscape(canvas, palette, chance);
  drawPoster(canvas, palette, { ...order, tiles });
  return encodePicture(canvas, order.format);
}
