import { type ImageSize, imageSizeIn } from "../core/media/image-size.ts";
import { checksum } from "../runtime/hash.ts";
import { type ByteReader, nameAt, type Steps, viewOf } from "./byte-reader.ts";

/** What was found of an image: its size, `no size`, or `broken` where it is cut off or inconsistent. */
export type FoundImage = ImageSize | "no size" | "broken";

/** Bytes up to the size in a PNG or WebP image: its first chunk begins at 12 or 8 and has it. */
const HEAD_BYTES = 32;

/** Reads chunk by chunk to the end mark, each with its checksum, with a header first and data within. */
export function* readPng(file: ByteReader): Steps<FoundImage> {
  const size = imageSizeIn(yield* file.peek(HEAD_BYTES));
  yield* file.pass(8);
  let hasData = false;
  for (let isFirst = true; ; isFirst = false) {
    const head = yield* file.take(8);
    if (head === undefined) return "broken";
    const length = viewOf(head).getUint32(0);
    const type = nameAt(head, 4);
    if (isFirst && (type !== "IHDR" || length !== 13)) return "broken";
    let sum = checksum(head.subarray(4));
    const isThere = yield* file.pass(length, (stretch) => void (sum = checksum(stretch, sum)));
    const stated = isThere ? yield* file.take(4) : undefined;
    if (stated === undefined || viewOf(stated).getUint32(0) !== sum) return "broken";
    if (type === "IEND") return hasData ? (size ?? "no size") : "broken";
    if (type === "IDAT" && length > 0) hasData = true;
  }
}

/** Reads segment by segment, and over the coded data between them, to the end mark; with a frame and a scan within. */
export function* readJpeg(file: ByteReader): Steps<FoundImage> {
  yield* file.pass(2);
  let frame: FoundImage = "broken";
  let hasScan = false;
  let marker = yield* nextMarker(file);
  for (;;) {
    if (marker === undefined) return "broken";
    if (marker === 0xd9) return hasScan ? frame : "broken";
    if (!isBare(marker)) {
      const head = yield* file.take(2);
      const length = head === undefined ? 0 : viewOf(head).getUint16(0) - 2;
      if (marker < 0xc0 || head === undefined || length < 0) return "broken";
      const end = file.at + length;
      if (isFrame(marker) && frame === "broken") frame = length < 5 ? "no size" : yield* frameSize(file);
      if (!(yield* file.pass(end - file.at))) return "broken";
      hasScan ||= marker === 0xda && frame !== "broken";
    }
    marker = marker === 0xda ? yield* behindCodedData(file) : yield* nextMarker(file);
  }
}

/** The marker that must stand here, behind any number of fill bytes. */
function* nextMarker(file: ByteReader): Steps<number | undefined> {
  if ((yield* file.byte()) !== 0xff) return undefined;
  return yield* markerHere(file);
}

function* markerHere(file: ByteReader): Steps<number | undefined> {
  for (;;) {
    const byte = yield* file.byte();
    if (byte !== 0xff) return byte;
  }
}

/** The next marker behind coded data, in which FF stands before 00 or a restart mark. */
function* behindCodedData(file: ByteReader): Steps<number | undefined> {
  while (yield* file.passTo(0xff)) {
    const marker = yield* markerHere(file);
    if (marker !== 0 && (marker === undefined || !isBare(marker))) return marker;
  }
  return undefined;
}

/** A marker without a segment behind it. */
function isBare(marker: number): boolean {
  return marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7);
}

/** Start of frame of any coding; C4, C8 and CC, among them, are tables. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}

/** The fields of a frame behind its length: bits of a sample, height, width. */
function* frameSize(file: ByteReader): Steps<FoundImage> {
  const frame = yield* file.take(5);
  if (frame === undefined) return "broken";
  const height = viewOf(frame).getUint16(1);
  const width = viewOf(frame).getUint16(3);
  return width > 0 && height > 0 ? { width, height } : "no size";
}

/** Reads chunk by chunk within the length that the head states, with a coded image among them. */
export function* readWebp(file: ByteReader): Steps<FoundImage> {
  const head = yield* file.peek(HEAD_BYTES);
  const size = imageSizeIn(head);
  const end = viewOf(head).getUint32(4, true) + 8;
  yield* file.pass(12);
  let hasImage = false;
  while (end - file.at >= 8) {
    const chunk = yield* file.take(8);
    if (chunk === undefined) return "broken";
    const length = viewOf(chunk).getUint32(4, true);
    if (length > end - file.at || !(yield* file.pass(length))) return "broken";
    if (IMAGES.has(nameAt(chunk, 0)) && length > 0) hasImage = true;
    // Some writers leave out the last chunk's fill byte.
    if (length % 2 === 1 && file.at < end && !(yield* file.pass(1))) return "broken";
  }
  return hasImage && file.at === end ? (size ?? "no size") : "broken";
}

const IMAGES: ReadonlySet<string> = new Set(["VP8 ", "VP8L", "ANMF"]);
