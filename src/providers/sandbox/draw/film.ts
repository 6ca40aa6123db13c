import { createChance } from "../chance.ts";
import type { FilmOrder } from "../picture-order.ts";
import { createCanvas, fillRectangle, type Colour } from "./canvas.ts";
import { createFilmEncoder, type Planes } from "./h264.ts";
import { writeMp4 } from "./mp4.ts";
import type { Canvas } from "./canvas.ts";

const FPS = 12;
const KEY_EVERY = FPS * 5;

/** The file of a film. */
export async function makeFilm({ size, durationSec, seed, prompt }: FilmOrder): Promise<Uint8Array> {
  const canvas = createCanvas(size);
  const chance = createChance(`${seed}/${prompt}`);
  const colour = (): Colour => [chance.between(32, 224), chance.between(32, 224), chance.between(32, 224)];
  const paint = { colour: colour(), to: { colour: colour(), top: 0, bottom: size.height } };
  const encoder = createFilmEncoder(size, FPS);
  const count = durationSec * FPS;
  const frames = Array.from({ length: count }, (_, i) => {
    fillRectangle(canvas, { x: 0, y: 0, ...size }, paint);
    fillRectangle(
      canvas,
      { x: 0, y: size.height - 32, width: Math.round((size.width * i) / count), height: 16 },
      { colour: [255, 255, 255] },
    );
    copyToPlanes(canvas, encoder.planes);
    return { bytes: encoder.encode(i % KEY_EVERY === 0), isKey: i % KEY_EVERY === 0 };
  });
  return writeMp4({ size, fps: FPS, config: encoder.config, frames });
}

function copyToPlanes({ width, height, pixels }: Canvas, { y, cb, cr, stride }: Planes): void {
  for (let row = 0; row < height; row += 1)
    for (let column = 0; column < width; column += 1) {
      const at = (row * width + column) * 4;
      const [r, g, b] = [pixels[at] ?? 0, pixels[at + 1] ?? 0, pixels[at + 2] ?? 0];
      y[row * stride + column] = Math.round(16 + 0.1826 * r + 0.6142 * g + 0.062 * b);
      if ((row | column) & 1) continue;
      const chroma = (row * stride) / 4 + column / 2;
      cb[chroma] = Math.round(128 - 0.1006 * r - 0.3386 * g + 0.4392 * b);
      cr[chroma] = Math.round(128 + 0.4392 * r - 0.3989 * g - 0.0403 * b);
    }
}
