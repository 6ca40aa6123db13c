import { imageSizeIn } from "../core/image-size.ts";
import { checksum } from "../runtime/hash.ts";
import type { NotStored } from "./assets.ts";
import { isWholeFilm } from "./film.ts";

/** What a file is, told by its bytes alone. */
export interface Content {
  readonly mediaType: (typeof MEDIA_TYPES)[Extension];
  readonly extension: Extension;
}

/** The kinds of files that are kept, by the ending of their names. */
export const MEDIA_TYPES = {
  png: "image/png",
  jpg: "image/jpeg",
  webp: "image/webp",
  mp4: "video/mp4",
} as const;
export type Extension = keyof typeof MEDIA_TYPES;

/**
 * The most bytes that are kept of one file. The largest pictures that models make are 4096 x 4096 (as PNG at most
 * 48 MiB), the largest films 15 s in 1080p (below 100 MB at any usual rate).
 */
export const MAX_FILE_BYTES = { image: 50 * 1024 * 1024, video: 256 * 1024 * 1024 } as const;

type Kind = keyof typeof MAX_FILE_BYTES;

const WANTED: Readonly<Record<Kind, string>> = {
  image: "a PNG, JPEG or WebP picture",
  video: "an MP4 film",
};

/**
 * What `bytes` are, when they are a whole file of the wanted kind; else a sentence that says what is wrong. A picture of
 * one pixel is no picture: some providers send it in place of one that they have withheld.
 */
export function contentOf(bytes: Uint8Array, kind: Kind): Content | NotStored {
  if (bytes.length === 0) return refuse("The file is empty.");
  if (bytes.length > MAX_FILE_BYTES[kind])
    return refuse(`The file has ${bytes.length} bytes; at most ${MAX_FILE_BYTES[kind]} are kept.`);
  const found = FORMATS.find((format) => format.begins(bytes));
  if (found === undefined || found.kind !== kind)
    return refuse(`The file is ${found?.name ?? otherName(bytes)}, not ${WANTED[kind]}.`);
  if (!found.isWhole(bytes))
    return refuse(`The file begins like ${found.name}, but it is cut off or broken.`);
  if (kind === "image") {
    const size = imageSizeIn(bytes);
    if (size === undefined) return refuse(`The file is ${found.name} without a size.`);
    if (size.width === 1 && size.height === 1) return refuse("The picture has a single pixel.");
  }
  return { mediaType: MEDIA_TYPES[found.extension], extension: found.extension };
}

function refuse(notStored: string): NotStored {
  return { notStored };
}

interface Format {
  readonly name: string;
  readonly kind: Kind;
  readonly extension: Extension;
  begins(bytes: Uint8Array): boolean;
  isWhole(bytes: Uint8Array): boolean;
}

const FORMATS: readonly Format[] = [
  {
    name: "a PNG picture",
    kind: "image",
    extension: "png",
    begins: (bytes) => hasText(bytes, 0, "\u0089PNG\r\n\u001a\n"),
    isWhole: isWholePng,
  },
  {
    name: "a JPEG picture",
    kind: "image",
    extension: "jpg",
    begins: (bytes) => hasText(bytes, 0, "\u00ff\u00d8\u00ff"),
    isWhole: isWholeJpeg,
  },
  {
    name: "a WebP picture",
    kind: "image",
    extension: "webp",
    begins: (bytes) => hasText(bytes, 0, "RIFF") && hasText(bytes, 8, "WEBP"),
    isWhole: isWholeWebp,
  },
  {
    name: "an MP4 film",
    kind: "video",
    extension: "mp4",
    // The other brands of the same boxes are pictures and QuickTime, which not every browser shows.
    begins: (bytes) => hasText(bytes, 4, "ftyp") && !NO_FILM.has(textAt(bytes, 8, 4)),
    isWhole: isWholeFilm,
  },
];

const NO_FILM: ReadonlySet<string> = new Set([
  "avif",
  "avis",
  "heic",
  "heix",
  "hevc",
  "mif1",
  "msf1",
  "qt  ",
]);

/** What the sentence calls a file that is not kept; for the operator and the client, so no byte of it is shown. */
function otherName(bytes: Uint8Array): string {
  if (hasText(bytes, 0, "GIF8")) return "a GIF picture";
  if (hasText(bytes, 4, "ftyp")) return "a QuickTime, HEIC or AVIF file";
  if (hasText(bytes, 0, "\u001aE\u00df\u00a3")) return "a WebM or Matroska film";
  if (hasText(bytes, 0, "BM")) return "a BMP picture";
  if (hasText(bytes, 0, "%PDF")) return "a PDF document";
  const head = textAt(bytes, 0, 512)
    .replace(/^\u00ef\u00bb\u00bf/, "")
    .trimStart()
    .toLowerCase();
  if (/^(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)?(<!doctype svg[^>]*>\s*)?<svg/s.test(head)) return "an SVG drawing";
  if (head.startsWith("<")) return "an HTML or XML page";
  if (head.startsWith("{") || head.startsWith("[")) return "JSON text";
  return "of no known kind";
}

/** Chunk by chunk to the end mark, each with its checksum, with a header first and data within. */
function isWholePng(bytes: Uint8Array): boolean {
  const view = viewOf(bytes);
  let at = 8;
  let hasData = false;
  while (at + 12 <= bytes.length) {
    const length = view.getUint32(at);
    const type = textAt(bytes, at + 4, 4);
    const end = at + 8 + length;
    if (end + 4 > bytes.length) return false;
    if (at === 8 && (type !== "IHDR" || length !== 13)) return false;
    if (checksum(bytes.subarray(at + 4, end)) !== view.getUint32(end)) return false;
    if (type === "IEND") return hasData;
    if (type === "IDAT" && length > 0) hasData = true;
    at = end + 4;
  }
  return false;
}

/** Segment by segment, and over the coded data between them, to the end mark; with a frame and a scan within. */
function isWholeJpeg(bytes: Uint8Array): boolean {
  let at = 2;
  let hasFrame = false;
  let hasScan = false;
  while (at + 1 < bytes.length) {
    if (bytes[at] !== 0xff) return false;
    const marker = bytes[at + 1] ?? 0;
    if (marker === 0xff) {
      at += 1;
    } else if (marker === 0xd9) {
      return hasFrame && hasScan;
    } else if (isBare(marker)) {
      at += 2;
    } else {
      const length = (bytes[at + 2] ?? 0) * 256 + (bytes[at + 3] ?? 0);
      if (marker < 0xc0 || length < 2 || at + 2 + length > bytes.length) return false;
      if (marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc) hasFrame = true;
      at += 2 + length;
      if (marker === 0xda) {
        hasScan = hasFrame;
        at = afterCodedData(bytes, at);
      }
    }
  }
  return false;
}

/** A marker without a segment behind it. */
function isBare(marker: number): boolean {
  return marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7);
}

/** The next marker: in coded data FF stands before 00 or a restart mark. */
function afterCodedData(bytes: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(0xff, from); at !== -1; at = bytes.indexOf(0xff, at + 2)) {
    const marker = bytes[at + 1] ?? 0;
    if (marker !== 0 && !isBare(marker)) return at;
  }
  return bytes.length;
}

/** Chunk by chunk within the length that the head states, with a coded picture among them. */
function isWholeWebp(bytes: Uint8Array): boolean {
  const view = viewOf(bytes);
  const end = view.getUint32(4, true) + 8;
  if (end > bytes.length) return false;
  let at = 12;
  let hasPicture = false;
  while (at + 8 <= end) {
    const length = view.getUint32(at + 4, true);
    const next = at + 8 + length + (length % 2);
    // The last chunk's filling byte is left out by some writers.
    if (at + 8 + length > end) return false;
    if (["VP8 ", "VP8L", "ANMF"].includes(textAt(bytes, at, 4)) && length > 0) hasPicture = true;
    at = next;
  }
  return hasPicture && at >= end;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function hasText(bytes: Uint8Array, at: number, text: string): boolean {
  return textAt(bytes, at, text.length) === text;
}

/** Bytes as characters of the same number. */
function textAt(bytes: Uint8Array, at: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + length));
}
