import { createChance } from "../chance.ts";
import type { FilmOrder } from "../picture-order.ts";
import { type Canvas, createCanvas } from "./canvas.ts";
import { createFilmEncoder, type Planes } from "./h264.ts";
import { choosePalette, paintLandscape } from "./landscape.ts";
import { writeMp4 } from "./mp4.ts";
import type { Box } from "./path.ts";
import { drawPoster } from "./poster.ts";
import { readTiles } from "./tiles.ts";
import { drawTrack, type Track, TRACK_UNITS } from "./track.ts";

/** Frames a second: enough for a train. */
const FPS = 12;

/** A film can be entered every five seconds. */
const KEY_EVERY = 5 * FPS;

/**
 * The file of a film: a picture as of any order, and at its foot a train that goes from the begin to the end, with the
 * time. The same order is the same file.
 */
export async function makeFilm(order: FilmOrder): Promise<Uint8Array> {
  const { size, durationSec } = order;
  const tiles = await readTiles(order.references);
  const chance = createChance(order.seed);
  const palette = choosePalette(chance);
  const still = createCanvas(size);
  paintLandscape(still, palette, chance);
  const { foot, unit } = drawPoster(still, palette, { ...order, tiles, foot: TRACK_UNITS });
  const track: Track = { box: inPairs(foot, size), unit, durationSec, palette };

  const encoder = createFilmEncoder(size, FPS);
  copyToPlanes(still, { x: 0, y: 0, ...size }, encoder.planes);
  const canvas: Canvas = createCanvas(size);
  const frames = Array.from({ length: durationSec * FPS }, (_, i) => {
    copyBox(still, canvas, track.box);
    drawTrack(canvas, track, i / FPS);
    copyToPlanes(canvas, track.box, encoder.planes);
    const isKey = i % KEY_EVERY === 0;
    return { bytes: encoder.encode(isKey), isKey };
  });
  return writeMp4({ size, fps: FPS, config: encoder.config, frames });
}

/** The box with even sides and corners, as chroma is shared by two pixels each way. */
function inPairs({ x, y, width, height }: Box, size: FilmOrder["size"]): Box {
  const left = Math.max(0, Math.floor(x / 2) * 2);
  const top = Math.max(0, Math.floor(y / 2) * 2);
  const right = Math.min(size.width, Math.ceil((x + width) / 2) * 2);
  const bottom = Math.min(size.height, Math.ceil((y + height) / 2) * 2);
  return { x: left, y: top, width: right - left, height: bottom - top };
}

function copyBox(from: Canvas, to: Canvas, { x, y, width, height }: Box): void {
  for (let row = y; row < y + height; row += 1) {
    const at = row * from.width + x;
    to.words.set(from.words.subarray(at, at + width), at);
  }
}

/** Red, green and blue as luma and chroma of limited range. Source: ITU-R BT.709. */
function copyToPlanes({ width, pixels }: Canvas, box: Box, { y, cb, cr, stride }: Planes): void {
  for (let row = box.y; row < box.y + box.height; row += 2)
    for (let column = box.x; column < box.x + box.width; column += 2) {
      let [red, green, blue] = [0, 0, 0];
      for (const [down, across] of CORNERS) {
        const at = ((row + down) * width + column + across) * 4;
        const [r, g, b] = [pixels[at] as number, pixels[at + 1] as number, pixels[at + 2] as number];
        y[(row + down) * stride + column + across] = 16.5 + 0.1826 * r + 0.6142 * g + 0.062 * b;
        red += r;
        green += g;
        blue += b;
      }
      const chroma = (row * stride) / 4 + column / 2;
      cb[chroma] = 128.5 + (-0.1006 * red - 0.3386 * green + 0.4392 * blue) / 4;
      cr[chroma] = 128.5 + (0.4392 * red - 0.3989 * green - 0.0403 * blue) / 4;
    }
}

const CORNERS = [
  [0, 0],
  [0, 1],
  [1, 0],
  [1, 1],
] as const;
