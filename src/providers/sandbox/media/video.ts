import { readFile } from "node:fs/promises";
import type { PixelSize } from "../../../core/media/media.ts";
import { writeMp4 } from "./mp4.ts";

/** Frames a second of the samples. */
export const VIDEO_FPS = 12;

/**
 * Where the sample of a size is, made by `npm run sandbox:videos`. The sample is the decoder's configuration and the
 * frames as MP4 has them, each behind its length in four bytes.
 */
export function videoSampleUrl({ width, height }: PixelSize): URL {
  return new URL(`./videos/${width}x${height}.avc`, import.meta.url);
}

/** The file of a video: as much of the sample of its size as it lasts. Its seed stands in the track's name. */
export async function makeVideo(size: PixelSize, durationSec: number, seed: string): Promise<Uint8Array> {
  const file = await readFile(videoSampleUrl(size));
  const parts: Uint8Array[] = [];
  for (let at = 0; at < file.length; at += 4 + file.readUInt32BE(at))
    parts.push(file.subarray(at + 4, at + 4 + file.readUInt32BE(at)));
  const [config = new Uint8Array(0), ...sample] = parts;
  const frames = Array.from({ length: durationSec * VIDEO_FPS }, (_, i) => ({
    bytes: sample[i % sample.length] as Uint8Array,
    isKey: i % sample.length === 0,
  }));
  return writeMp4({ name: `Switchyard sandbox ${seed}`, size, fps: VIDEO_FPS, config, frames });
}
