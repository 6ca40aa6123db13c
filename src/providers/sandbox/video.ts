import { readFile } from "node:fs/promises";
import { joinBytes } from "../../core/bytes/bytes.ts";
import type { PixelSize } from "../../core/media.ts";
import { writeMp4 } from "./mp4.ts";

/** Frames a second of the samples. */
export const VIDEO_FPS = 12;

/** Where the sample of a size is: H.264 as a stream of bytes (ITU-T H.264, Annex B), made by `npm run sandbox:videos`. */
export function videoSampleUrl({ width, height }: PixelSize): URL {
  return new URL(`./videos/${width}x${height}.h264`, import.meta.url);
}

/** The file of a video: as much of the sample of its size as it lasts. Its seed stands in the track's name. */
export async function makeVideo(size: PixelSize, durationSec: number, seed: string): Promise<Uint8Array> {
  const units = unitsIn(await readFile(videoSampleUrl(size)));
  const sample = framesOf(units);
  const count = durationSec * VIDEO_FPS;
  const rounds = Array.from({ length: Math.ceil(count / sample.length) }, () => sample);
  const frames = rounds.flat().slice(0, count);
  return writeMp4({
    name: `Switchyard sandbox ${seed}`,
    size,
    fps: VIDEO_FPS,
    config: configOf(units),
    frames,
  });
}

/** Types of units. */
const UNIT = { other: 1, key: 5, sequence: 7, picture: 8 } as const;

const typeOf = (unit: Uint8Array): number => (unit[0] ?? 0) & 31;

/** What stands between start codes. */
function unitsIn(stream: Buffer): readonly Uint8Array[] {
  const units: Uint8Array[] = [];
  for (let at = stream.indexOf(START); at !== -1;) {
    const next = stream.indexOf(START, at + START.length);
    units.push(stream.subarray(at + START.length, next === -1 ? stream.length : next));
    at = next;
  }
  return units;
}

const START = Buffer.from([0, 0, 0, 1]);

/** Frames as MP4 has them: each of their units behind its length. A unit that begins at the first block begins a frame. */
function framesOf(
  units: readonly Uint8Array[],
): readonly { readonly bytes: Uint8Array; readonly isKey: boolean }[] {
  const frames: { bytes: Uint8Array; readonly isKey: boolean }[] = [];
  for (const unit of units) {
    const isKey = typeOf(unit) === UNIT.key;
    if (!isKey && typeOf(unit) !== UNIT.other) continue;
    if (((unit[1] ?? 0) & 0x80) !== 0) frames.push({ bytes: new Uint8Array(0), isKey });
    const frame = frames.at(-1);
    if (frame !== undefined) frame.bytes = joinBytes([frame.bytes, ...counted(unit, 4)]);
  }
  return frames;
}

/** The decoder's configuration. Source: ISO/IEC 14496-15, 5.3.3.1. */
function configOf(units: readonly Uint8Array[]): Uint8Array {
  const [sequence, picture] = [UNIT.sequence, UNIT.picture].map(
    (type) => units.find((unit) => typeOf(unit) === type) ?? new Uint8Array(0),
  ) as [Uint8Array, Uint8Array];
  const head = new Uint8Array([1, ...sequence.subarray(1, 4), 0xff, 0xe1]);
  return joinBytes([head, ...counted(sequence, 2), new Uint8Array([1]), ...counted(picture, 2)]);
}

function counted(unit: Uint8Array, lengthBytes: 2 | 4): readonly Uint8Array[] {
  const length = Buffer.alloc(lengthBytes);
  length.writeUIntBE(unit.length, 0, lengthBytes);
  return [length, unit];
}
