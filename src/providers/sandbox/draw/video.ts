import { createChance } from "../chance.ts";
import type { VideoOrder } from "../image-order.ts";
import { type Canvas, createCanvas } from "./canvas.ts";
import { createVideoEncoder, type Planes } from "./h264.ts";
import { choosePalette, paintLandscape } from "./landscape.ts";
import { writeMp4 } from "./mp4.ts";
import type { Box } from "./path.ts";
import { drawPoster } from "./poster.ts";
import { readTiles } from "./tiles.ts";
import { drawRails, drawTrain, type Track, TRACK_UNITS } from "./track.ts";

/** Frames a second: enough for a train. */
const FPS = 12;

/** A video can be entered every five seconds. */
const KEY_EVERY = 5 * FPS;

/**
 * The file of a video: an image as of any order, and at its foot a train that goes from the begin to the end, with the
 * time. The same order is the same file.
 */
export async function makeVideo(order: VideoOrder): Promise<Uint8Array> {
  const { size, durationSec } = order;
  const tiles = await readTiles(order.references);
  const chance = createChance(order.seed);
  const palette = choosePalette(chance);
  const still = createCanvas(size);
  paintLandscape(still, palette, chance);
  const { foot, unit } = drawPoster(still, palette, { ...order, tiles, foot: TRACK_UNITS });
  const track: Track = { box: inPairs(foot, size), unit, durationSec, palette };
  drawRails(still, track);

  const encoder = createVideoEncoder(size, FPS);
  copyToPlanes(still, { x: 0, y: 0, ...size }, encoder.planes);
  const canvas: Canvas = createCanvas(size);
  const frames = Array.from({ length: durationSec * FPS }, (_, i) => {
    copyBox(still, canvas, track.box);
    drawTrain(canvas, track, i / FPS);
    copyToPlanes(canvas, track.box, encoder.planes);
    const isKey = i % KEY_EVERY === 0;
    return { bytes: encoder.encode(isKey), isKey };
  });
  return writeMp4({ size, fps: FPS, config: encoder.config, frames });
}

/** The box with even sides and corners, as chroma is shared by two pixels each way. */
function inPairs({ x, y, width, height }: Box, size: VideoOrder["size"]): Box {
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
  // Nothing is made anew in here: it goes over every pixel.
  const luma = (at: number): number =>
    16.5 +
    0.1826 * (pixels[at] as number) +
    0.6142 * (pixels[at + 1] as number) +
    0.062 * (pixels[at + 2] as number);
  const below = width * 4;
  const sum = (at: number): number =>
    (pixels[at] as number) +
    (pixels[at + 4] as number) +
    (pixels[at + below] as number) +
    (pixels[at + below + 4] as number);
  for (let row = box.y; row < box.y + box.height; row += 2)
    for (let column = box.x; column < box.x + box.width; column += 2) {
      const at = (row * width + column) * 4;
      const to = row * stride + column;
      y[to] = luma(at);
      y[to + 1] = luma(at + 4);
      y[to + stride] = luma(at + below);
      y[to + stride + 1] = luma(at + below + 4);
      const red = sum(at) / 4;
      const green = sum(at + 1) / 4;
      const blue = sum(at + 2) / 4;
      const chroma = (row * stride) / 4 + column / 2;
      cb[chroma] = 128.5 - 0.1006 * red - 0.3386 * green + 0.4392 * blue;
      cr[chroma] = 128.5 + 0.4392 * red - 0.3989 * green - 0.0403 * blue;
    }
}
