import { joinBytes } from "../../../core/bytes/bytes.ts";
import type { PixelSize } from "../../../core/media/media.ts";

export interface Track {
  readonly name: string;
  readonly size: PixelSize;
  readonly fps: number;
  /** An `AVCDecoderConfigurationRecord`. */
  readonly config: Uint8Array;
  readonly frames: readonly { readonly bytes: Uint8Array; readonly isKey: boolean }[];
}

const IDENTITY = [0x00010000, 0, 0, 0, 0x00010000, 0, 0, 0, 0x40000000];

/**
 * One track of H.264 as an MP4 file, with its index in front. Times of making it are left at zero: the same video is the
 * same file. Source: ISO/IEC 14496-12 and 14496-15.
 */
export function writeMp4(track: Track): Uint8Array {
  const head = box("ftyp", "isom", [0x200], "isomiso2avc1mp41");
  // The index says where the frames begin, which depends on how long it is itself.
  const begin = head.length + movie(track, 0).length + 8;
  return joinBytes([head, movie(track, begin), box("mdat", ...track.frames.map(({ bytes }) => bytes))]);
}

function movie(track: Track, begin: number): Uint8Array {
  const { size, fps, frames, name } = track;
  const length = frames.length;
  const rest = [0, 0, 0, 0, 0, 0, 2];
  const information = box(
    "minf",
    box("vmhd", [1, 0, 0]),
    box("dinf", box("dref", [0, 1], box("url ", [1]))),
    sampleTable(track, begin),
  );
  const media = box(
    "mdia",
    box("mdhd", [0, 0, 0, fps, length, 0x55c40000]),
    box("hdlr", [0, 0], "vide", [0, 0, 0], `${name}\0`),
    information,
  );
  const shown = [size.width << 16, size.height << 16];
  const head = box("tkhd", [3, 0, 0, 1, 0, length, 0, 0, 0, 0, ...IDENTITY, ...shown]);
  const time = box("mvhd", [0, 0, 0, fps, length, 0x00010000, 0x01000000, 0, 0, ...IDENTITY, ...rest]);
  return box("moov", time, box("trak", head, media));
}

function sampleTable({ size, config, frames }: Track, begin: number): Uint8Array {
  const keys = frames.flatMap(({ isKey }, i) => (isKey ? [i + 1] : []));
  const shown = [(size.width << 16) | size.height, 0x00480000, 0x00480000, 0];
  const named = [0x00010000, 0, 0, 0, 0, 0, 0, 0, 24];
  const entry = box(
    "avc1",
    [0, 1, 0, 0, 0, 0, ...shown, ...named],
    new Uint8Array([0xff, 0xff]),
    box("avcC", config),
  );
  return box(
    "stbl",
    box("stsd", [0, 1], entry),
    box("stts", [0, 1, frames.length, 1]),
    box("stss", [0, keys.length, ...keys]),
    box("stsc", [0, 1, 1, frames.length, 1]),
    box("stsz", [0, 0, frames.length, ...frames.map(({ bytes }) => bytes.length)]),
    box("stco", [0, 1, begin]),
  );
}

/** A box of text, of numbers of 32 bits, and of bytes. */
function box(type: string, ...content: readonly (string | readonly number[] | Uint8Array)[]): Uint8Array {
  const parts = content.map((part) => {
    if (typeof part === "string") return new TextEncoder().encode(part);
    return part instanceof Uint8Array ? part : wordsOf(part);
  });
  const length = parts.reduce((sum, part) => sum + part.length, 8);
  return joinBytes([wordsOf([length]), new TextEncoder().encode(type), ...parts]);
}

function wordsOf(values: readonly number[]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(values.length * 4));
  values.forEach((value, i) => bytes.setUint32(i * 4, value));
  return new Uint8Array(bytes.buffer);
}
