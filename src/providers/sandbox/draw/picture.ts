import { createChance } from "../chance.ts";
import type { PictureOrder } from "../picture-order.ts";
import { createCanvas, fillRectangle, type Colour } from "./canvas.ts";
import { encodePicture } from "./encode.ts";

/** The file of a picture. */
export async function makePicture(order: PictureOrder): Promise<Uint8Array> {
  const canvas = createCanvas(order.size);
  const chance = createChance(`${order.seed}/${order.prompt}`);
  const colour = (): Colour => [chance.between(32, 224), chance.between(32, 224), chance.between(32, 224)];
  fillRectangle(
    canvas,
    { x: 0, y: 0, ...order.size },
    { colour: colour(), to: { colour: colour(), top: 0, bottom: order.size.height } },
  );
  return encodePicture(canvas, order.format);
}
