import { joinBytes } from "../../../core/bytes.ts";
import type { PixelSize } from "../../../core/media.ts";

/** What is put into the file. */
export interface Track {
  readonly size: PixelSize;
  readonly fps: number;
  /** An `AVCDecoderConfigurationRecord`. */
  readonly config: Uint8Array;
  readonly frames: readonly { readonly bytes: Uint8Array; readonly isKey: boolean }[];
}

/** The same video is the same file: times of making it are left at zero. */
const NO_TIME = 0;

const IDENTITY = [0x00010000, 0, 0, 0, 0x00010000, 0, 0, 0, 0x40000000];

/** One track of H.264 as an MP4 file, with its index in front. Source: ISO/IEC 14496-12 and 14496-15. */
export function writeMp4(track: Track): Uint8Array {
  const head = box(
    "ftyp",
    ascii("isom"),
    u32(0x200),
    ascii("isom"),
    ascii("iso2"),
    ascii("avc1"),
    ascii("mp41"),
  );
  const media = track.frames.map(({ bytes }) => bytes);
  // The index says where the frames begin, which depends on how long it is itself.
  const begin = head.length + movie(track, 0).length + 8;
  return joinBytes([head, movie(track, begin), box("mdat", ...media)]);
}

function movie(track: Track, mediaBegin: number): Uint8Array {
  const { size, fps, frames } = track;
  const length = frames.length;
  return box(
    "moov",
    full(
      "mvhd",
      0,
      u32(NO_TIME, NO_TIME, fps, length, 0x00010000),
      u16(0x0100, 0),
      u32(0, 0, ...IDENTITY),
      u32(0, 0, 0, 0, 0, 0),
      u32(2),
    ),
    box(
      "trak",
      full(
        "tkhd",
        3,
        u32(NO_TIME, NO_TIME, 1, 0, length, 0, 0),
        u16(0, 0, 0, 0),
        u32(...IDENTITY),
        u32(size.width << 16, size.height << 16),
      ),
      box(
        "mdia",
        full("mdhd", 0, u32(NO_TIME, NO_TIME, fps, length), u16(0x55c4, 0)),
        full("hdlr", 0, u32(0), ascii("vide"), u32(0, 0, 0), ascii("Switchyard sandbox\0")),
        box(
          "minf",
          full("vmhd", 1, u16(0, 0, 0, 0)),
          box("dinf", full("dref", 0, u32(1), full("url ", 1))),
          sampleTable(track, mediaBegin),
        ),
      ),
    ),
  );
}

function sampleTable({ size, config, frames }: Track, mediaBegin: number): Uint8Array {
  const keys = frames.flatMap(({ isKey }, i) => (isKey ? [i + 1] : []));
  const entry = box(
    "avc1",
    u16(0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, size.width, size.height),
    u32(0x00480000, 0x00480000, 0),
    u16(1),
    new Uint8Array(32),
    u16(24, 0xffff),
    box("avcC", config),
  );
  return box(
    "stbl",
    full("stsd", 0, u32(1), entry),
    full("stts", 0, u32(1, frames.length, 1)),
    full("stss", 0, u32(keys.length, ...keys)),
    full("stsc", 0, u32(1, 1, frames.length, 1)),
    full("stsz", 0, u32(0, frames.length, ...frames.map(({ bytes }) => bytes.length))),
    full("stco", 0, u32(1, mediaBegin)),
  );
}

function box(type: string, ...content: readonly Uint8Array[]): Uint8Array {
  const length = content.reduce((sum, { length }) => sum + length, 8);
  return joinBytes([u32(length), ascii(type), ...content]);
}

function full(type: string, flags: number, ...content: readonly Uint8Array[]): Uint8Array {
  return box(type, u32(flags), ...content);
}

function u32(...values: readonly number[]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(values.length * 4));
  values.forEach((value, i) => bytes.setUint32(i * 4, value));
  return new Uint8Array(bytes.buffer);
}

function u16(...values: readonly number[]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(values.length * 2));
  values.forEach((value, i) => bytes.setUint16(i * 2, value));
  return new Uint8Array(bytes.buffer);
}

function ascii(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
