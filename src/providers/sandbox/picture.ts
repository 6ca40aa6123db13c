import type { Chance } from "./chance.ts";
import { type Colour, createCanvas, fillRectangle } from "./draw/canvas.ts";
import { encodePng } from "./draw/png.ts";

/** The longer side in pixels: it is a picture to try things with. */
const SIDE = 96;

/** A PNG of `aspectRatio` (`16:9`; a square where it says nothing), in base64: two colours that chance has picked, shaded. */
export function drawPicture(aspectRatio: string | undefined, chance: Chance): string {
  const [wide = 1, high = 1] =
    /^(\d{1,3}):(\d{1,3})$/
      .exec(aspectRatio ?? "")
      ?.slice(1)
      .map(Number) ?? [];
  const longer = Math.max(wide, high, 1);
  const side = (part: number): number => Math.max(1, Math.round((SIDE * part) / longer));
  const canvas = createCanvas({ width: side(wide), height: side(high) });
  const to = { colour: colour(chance), top: 0, bottom: canvas.height };
  fillRectangle(canvas, { x: 0, y: 0, ...canvas }, { colour: colour(chance), to });
  return encodePng(canvas).toBase64();
}

function colour(chance: Chance): Colour {
  return [chance.between(32, 224), chance.between(32, 224), chance.between(32, 224)];
}
