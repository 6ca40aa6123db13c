/** Width and height of an image in pixels, before any rotation that its metadata asks for. */
export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** Images of one request whose size is read: as many as any vendor takes. Further ones count as of unknown size. */
export const MAX_SIZED_IMAGES = 1_500;

/** The byte at an offset; NaN where there is none, which makes NaN of every sum it is in. */
type ByteAt = (offset: number) => number;

/** Characters in which a media type with its parameters is looked for; a signature among them takes some thousands. */
const MAX_HEADER = 64 * 1024;

/** Segments or blocks that are skipped in search of the size; enough for 32 MiB of JPEG segments. */
const MAX_STEPS = 512;

/**
 * The size of the PNG, JPEG, GIF or WebP image in a data URI; `undefined` for anything else and for a broken image. It
 * goes by the bytes, not the media type, and decodes only the few characters that state the size.
 */
export function imageSizeOf(url: string): ImageSize | undefined {
  const byteAt = openDataUri(url);
  return byteAt === undefined ? undefined : sizeIn(byteAt);
}

/** The same for an image in base64 without a data URI. */
export function rawImageSizeOf(base64: string): ImageSize | undefined {
  return sizeIn(openBase64(base64, 0));
}

/** The same for an image in bytes. */
export function imageSizeIn(bytes: Uint8Array): ImageSize | undefined {
  return sizeIn((offset) => bytes[offset] ?? NaN);
}

function sizeIn(byteAt: ByteAt): ImageSize | undefined {
  switch (byteAt(0)) {
    case 0x89:
      return pngSize(byteAt);
    case 0xff:
      return jpegSize(byteAt);
    case 0x47:
      return gifSize(byteAt);
    case 0x52:
      return webpSize(byteAt);
    default:
      return undefined;
  }
}

/**
 * The value of each base64 character by its code. White space and escapes have none: they would shift all that follows.
 */
const SEXTETS: readonly number[] = sextets();

function sextets(): number[] {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const values: number[] = [];
  for (let i = 0; i < alphabet.length; i += 1) values[alphabet.charCodeAt(i)] = i;
  return values;
}

function openDataUri(url: string): ByteAt | undefined {
  const head = url.slice(0, MAX_HEADER);
  const comma = head.indexOf(",");
  const isBase64 = comma !== -1 && head.slice(0, comma).toLowerCase().endsWith(";base64");
  if (!isBase64 || head.slice(0, 5).toLowerCase() !== "data:") return undefined;
  return openBase64(url, comma + 1);
}

/** The bytes of the base64 that begins at `start`. */
function openBase64(text: string, start: number): ByteAt {
  const sextet = (at: number): number => SEXTETS[text.charCodeAt(at)] ?? NaN;
  return (offset) => {
    const rest = offset % 3;
    const at = start + ((offset - rest) / 3) * 4 + rest;
    const first = sextet(at);
    const second = sextet(at + 1);
    if (rest === 0) return first * 4 + Math.floor(second / 16);
    if (rest === 1) return (first % 16) * 16 + Math.floor(second / 4);
    return (first % 4) * 64 + second;
  };
}

function pngSize(byteAt: ByteAt): ImageSize | undefined {
  if (!hasText(byteAt, 1, "PNG\r\n\u001a\n") || !hasText(byteAt, 12, "IHDR")) return undefined;
  return sizeOf(
    bigEndian(byteAt, 16) * 65_536 + bigEndian(byteAt, 18),
    bigEndian(byteAt, 20) * 65_536 + bigEndian(byteAt, 22),
  );
}

/** Skips segments up to the frame header: EXIF, with a thumbnail of its own, often stands before it. */
function jpegSize(byteAt: ByteAt): ImageSize | undefined {
  if (byteAt(1) !== 0xd8) return undefined;
  let at = 2;
  for (let step = 0; step < MAX_STEPS; step += 1) {
    if (byteAt(at) !== 0xff) return undefined;
    const marker = byteAt(at + 1);
    if (isFrameHeader(marker)) return sizeOf(bigEndian(byteAt, at + 7), bigEndian(byteAt, at + 5));
    if (marker === 0xff) at += 1;
    else if (marker === 0x01) at += 2;
    else {
      const length = bigEndian(byteAt, at + 2);
      // Behind the scan or the end comes no header any more; a length counts its own two bytes.
      if (marker < 0xc0 || (marker >= 0xd0 && marker <= 0xda) || !(length >= 2)) return undefined;
      at += 2 + length;
    }
  }
  return undefined;
}

/** Start of frame of any coding; among these C4, C8 and CC are tables. */
function isFrameHeader(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}

/** The screen, or the first image where that is larger: decoders allocate for it. */
function gifSize(byteAt: ByteAt): ImageSize | undefined {
  if (!hasText(byteAt, 0, "GIF87a") && !hasText(byteAt, 0, "GIF89a")) return undefined;
  const flags = byteAt(10);
  let at = 13 + (flags >= 0x80 ? 3 * 2 ** ((flags % 8) + 1) : 0);
  let isInExtension = false;
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const byte = byteAt(at);
    if (isInExtension) {
      isInExtension = byte !== 0;
      at += 1 + byte;
    } else if (byte === 0x21) {
      isInExtension = true;
      at += 2;
    } else if (byte === 0x2c) {
      return sizeOf(
        Math.max(littleEndian(byteAt, 6), littleEndian(byteAt, at + 1) + littleEndian(byteAt, at + 5)),
        Math.max(littleEndian(byteAt, 8), littleEndian(byteAt, at + 3) + littleEndian(byteAt, at + 7)),
      );
    } else return undefined;
  }
  return undefined;
}

function webpSize(byteAt: ByteAt): ImageSize | undefined {
  if (!hasText(byteAt, 0, "RIFF") || !hasText(byteAt, 8, "WEBP")) return undefined;
  if (hasText(byteAt, 12, "VP8X")) {
    const canvas = (offset: number): number => littleEndian(byteAt, offset) + byteAt(offset + 2) * 65_536 + 1;
    return sizeOf(canvas(24), canvas(27));
  }
  if (hasText(byteAt, 12, "VP8L") && byteAt(20) === 0x2f) {
    // Two numbers of 14 bits, each stored less one.
    const bits = littleEndian(byteAt, 21) + littleEndian(byteAt, 23) * 65_536;
    return sizeOf((bits % 16_384) + 1, (Math.floor(bits / 16_384) % 16_384) + 1);
  }
  if (hasText(byteAt, 12, "VP8 ") && hasText(byteAt, 23, "\u009d\u0001*")) {
    // The upper two bits of each are for scaling on display.
    return sizeOf(littleEndian(byteAt, 26) % 16_384, littleEndian(byteAt, 28) % 16_384);
  }
  return undefined;
}

function hasText(byteAt: ByteAt, offset: number, text: string): boolean {
  for (let i = 0; i < text.length; i += 1) if (byteAt(offset + i) !== text.charCodeAt(i)) return false;
  return true;
}

function bigEndian(byteAt: ByteAt, offset: number): number {
  return byteAt(offset) * 256 + byteAt(offset + 1);
}

function littleEndian(byteAt: ByteAt, offset: number): number {
  return byteAt(offset) + byteAt(offset + 1) * 256;
}

function sizeOf(width: number, height: number): ImageSize | undefined {
  return width > 0 && height > 0 ? { width, height } : undefined;
}
