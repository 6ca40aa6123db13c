import { crc32, constants, deflateRawSync } from "node:zlib";
import { joinBytes } from "../../core/bytes/bytes.ts";
import type { Pixels } from "./pixels.ts";

/** Rows that are compressed at a time, so that a large image is not held twice. */
const BAND_ROWS = 128;

/** zlib's level: a higher one makes these images hardly smaller. */
const LEVEL = 6;

const SIGNATURE = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** A PNG without transparency. Source: https://www.w3.org/TR/png-3/ */
export function encodePng({ width, height, pixels }: Pixels): Uint8Array {
  const header = new DataView(new ArrayBuffer(13));
  header.setUint32(0, width);
  header.setUint32(4, height);
  header.setUint8(8, 8);
  header.setUint8(9, 2);
  // The two bytes in front and the sum behind make a zlib stream: https://www.rfc-editor.org/rfc/rfc1950
  const compressed: Uint8Array[] = [new Uint8Array([0x78, 0x01])];
  const sum = { low: 1, high: 0 };
  for (let top = 0; top < height; top += BAND_ROWS) {
    const band = packRows(pixels, width, top, Math.min(height, top + BAND_ROWS));
    addAdler(sum, band);
    const isLast = top + BAND_ROWS >= height;
    const finishFlush = isLast ? constants.Z_FINISH : constants.Z_SYNC_FLUSH;
    compressed.push(deflateRawSync(band, { level: LEVEL, finishFlush }));
  }
  const adler = new DataView(new ArrayBuffer(4));
  adler.setUint16(0, sum.high);
  adler.setUint16(2, sum.low);
  compressed.push(new Uint8Array(adler.buffer));
  return joinBytes([
    SIGNATURE,
    chunk("IHDR", new Uint8Array(header.buffer)),
    chunk("IDAT", joinBytes(compressed)),
    chunk("IEND", new Uint8Array(0)),
  ]);
}

/** Rows without a filter: flat images with text get smallest so. */
function packRows(pixels: Pixels["pixels"], width: number, top: number, bottom: number): Uint8Array {
  const rows = new Uint8Array((1 + width * 3) * (bottom - top));
  let to = 0;
  let from = top * width * 4;
  for (let y = top; y < bottom; y += 1) {
    to += 1;
    for (let x = 0; x < width; x += 1) {
      rows[to] = pixels[from] as number;
      rows[to + 1] = pixels[from + 1] as number;
      rows[to + 2] = pixels[from + 2] as number;
      to += 3;
      from += 4;
    }
  }
  return rows;
}

/** Sums stay exact for this many bytes before they need the modulus. */
const ADLER_RUN = 5_552;

function addAdler(sum: { low: number; high: number }, bytes: Uint8Array): void {
  let { low, high } = sum;
  for (let begin = 0; begin < bytes.length; begin += ADLER_RUN) {
    const end = Math.min(bytes.length, begin + ADLER_RUN);
    for (let at = begin; at < end; at += 1) {
      low += bytes[at] as number;
      high += low;
    }
    low %= 65_521;
    high %= 65_521;
  }
  sum.low = low;
  sum.high = high;
}

function chunk(name: string, data: Uint8Array): Uint8Array {
  const named = joinBytes([new TextEncoder().encode(name), data]);
  const bytes = new Uint8Array(named.length + 8);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, data.length);
  bytes.set(named, 4);
  view.setUint32(named.length + 4, crc32(named));
  return bytes;
}
