import { inflateSync } from "node:zlib";
import { joinBytes } from "../../core/bytes/bytes.ts";
import type { Pixels } from "./pixels.ts";

/** What the head of a PNG says. */
interface Head {
  readonly width: number;
  readonly height: number;
  readonly depth: number;
  /** Samples of a pixel. */
  readonly samples: number;
  readonly colourType: number;
  readonly isInterlaced: boolean;
}

/** Samples of a pixel by colour type. */
const SAMPLES: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

/** Where the seven passes of an interlaced image begin, and how far apart their pixels lie: x, y, x, y. */
const PASSES = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;

/** Reads a PNG. Throws for any other file. Source: https://www.w3.org/TR/png-3/ */
export function decodePng(bytes: Uint8Array): Pixels {
  const chunks = readChunks(bytes);
  const head = readHead(chunks.find(({ name }) => name === "IHDR")?.data);
  const { width, height, samples, depth, isInterlaced } = head;
  const passes = isInterlaced ? PASSES : ([[0, 0, 1, 1]] as const);
  const sizes = passes.map(([x, y, dx, dy]) => ({
    columns: Math.max(0, Math.ceil((width - x) / dx)),
    rows: Math.max(0, Math.ceil((height - y) / dy)),
  }));
  const rowLength = (columns: number): number => Math.ceil((columns * samples * depth) / 8);
  const length = sizes.reduce(
    (sum, { columns, rows }) => sum + (columns > 0 ? rows * (1 + rowLength(columns)) : 0),
    0,
  );
  const packed = joinBytes(chunks.filter(({ name }) => name === "IDAT").map(({ data }) => data));
  const raw = inflateSync(packed, { maxOutputLength: length });
  if (raw.length < length) throw new Error("it ends too early");

  const image: Pixels = { width, height, pixels: new Uint8Array(width * height * 4) };
  const write = pixelWriter(head, chunks, image);
  let at = 0;
  passes.forEach(([x0, y0, dx, dy], i) => {
    const { columns, rows } = sizes[i] ?? { columns: 0, rows: 0 };
    const size = rowLength(columns);
    let above = new Uint8Array(size);
    for (let row = 0; row < rows && columns > 0; row += 1) {
      const line = raw.slice(at + 1, at + 1 + size);
      unfilter(raw[at] ?? 0, line, above, Math.max(1, (samples * depth) / 8));
      for (let column = 0; column < columns; column += 1)
        write(line, column, (y0 + row * dy) * width + x0 + column * dx);
      above = line;
      at += 1 + size;
    }
  });
  return image;
}

interface Chunk {
  readonly name: string;
  readonly data: Uint8Array;
}

function readChunks(bytes: Uint8Array): readonly Chunk[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const chunks: Chunk[] = [];
  for (let at = 8; at + 12 <= bytes.length;) {
    const length = view.getUint32(at);
    const name = new TextDecoder("latin1").decode(bytes.subarray(at + 4, at + 8));
    chunks.push({ name, data: bytes.subarray(at + 8, at + 8 + length) });
    at += 12 + length;
  }
  return chunks;
}

function readHead(data: Uint8Array | undefined): Head {
  if (data === undefined || data.length < 13) throw new Error("it has no head");
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const colourType = view.getUint8(9);
  const samples = SAMPLES[colourType];
  const depth = view.getUint8(8);
  if (samples === undefined || ![1, 2, 4, 8, 16].includes(depth))
    throw new Error("its pixels are of no known kind");
  return {
    width: view.getUint32(0),
    height: view.getUint32(4),
    depth,
    samples,
    colourType,
    isInterlaced: view.getUint8(12) === 1,
  };
}

/** Puts the `column`th pixel of a line in its place in the image. */
function pixelWriter(
  { depth, samples, colourType }: Head,
  chunks: readonly Chunk[],
  { pixels }: Pixels,
): (line: Uint8Array, column: number, place: number) => void {
  const palette = chunks.find(({ name }) => name === "PLTE")?.data;
  const opacities = chunks.find(({ name }) => name === "tRNS")?.data;
  const most = 2 ** depth - 1;
  const sampleAt = (line: Uint8Array, index: number): number => {
    if (depth === 8) return line[index] ?? 0;
    if (depth === 16) return line[index * 2] ?? 0;
    const bit = index * depth;
    const value = ((line[bit >> 3] as number) >> (8 - depth - (bit & 7))) & most;
    return colourType === 3 ? value : (value * 255) / most;
  };
  return (line, column, place) => {
    const first = column * samples;
    const to = place * 4;
    const value = sampleAt(line, first);
    const isGrey = colourType === 0 || colourType === 4;
    if (colourType === 3) for (let i = 0; i < 3; i += 1) pixels[to + i] = palette?.[value * 3 + i] ?? 0;
    else for (let i = 0; i < 3; i += 1) pixels[to + i] = isGrey ? value : sampleAt(line, first + i);
    if (colourType === 3) pixels[to + 3] = opacities?.[value] ?? 255;
    else pixels[to + 3] = colourType >= 4 ? sampleAt(line, first + samples - 1) : 255;
  };
}

/** Turns filtered lines back into bytes; the pixel on the left is `step` bytes before. */
function unfilter(kind: number, line: Uint8Array, above: Uint8Array, step: number): void {
  for (let i = 0; i < line.length; i += 1) {
    const left = i < step ? 0 : (line[i - step] as number);
    const up = above[i] as number;
    const corner = i < step ? 0 : (above[i - step] as number);
    line[i] = (line[i] as number) + predicted(kind, left, up, corner);
  }
}

function predicted(kind: number, left: number, up: number, corner: number): number {
  if (kind === 1) return left;
  if (kind === 2) return up;
  if (kind === 3) return (left + up) >> 1;
  if (kind !== 4) return 0;
  const [offLeft, offUp, offCorner] = [
    Math.abs(up - corner),
    Math.abs(left - corner),
    Math.abs(left + up - 2 * corner),
  ];
  if (offLeft <= offUp && offLeft <= offCorner) return left;
  return offUp <= offCorner ? up : corner;
}
