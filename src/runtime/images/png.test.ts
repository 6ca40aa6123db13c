import { describe, expect, test } from "bun:test";
import { crc32, deflateSync, inflateSync } from "node:zlib";
import * as fc from "fast-check";
import { encodeJpeg, encodeWebp } from "../../../test/images/encoders.ts";
import { runsOf } from "../../../test/runs.ts";
import { decodePixels } from "./decode.ts";
import { decodePng } from "./decode-png.ts";
import { encodePng } from "./encode-png.ts";

const RUNS = runsOf(150, 2_000);

/** The image of a file; `undefined` where the file is broken. */
const read = (bytes: Uint8Array<ArrayBuffer>) => decodePixels(bytes).catch(() => undefined);

interface Kind {
  readonly name: string;
  readonly colourType: number;
  readonly depth: number;
  readonly samples: number;
}

const KINDS: readonly Kind[] = [
  ...[1, 2, 4, 8, 16].map((depth) => ({ name: `grey of ${depth} bits`, colourType: 0, depth, samples: 1 })),
  ...[8, 16].map((depth) => ({ name: `colours of ${depth} bits`, colourType: 2, depth, samples: 3 })),
  ...[1, 2, 4, 8].map((depth) => ({ name: `a palette of ${depth} bits`, colourType: 3, depth, samples: 1 })),
  ...[8, 16].map((depth) => ({
    name: `grey and opacity of ${depth} bits`,
    colourType: 4,
    depth,
    samples: 2,
  })),
  ...[8, 16].map((depth) => ({
    name: `colours and opacity of ${depth} bits`,
    colourType: 6,
    depth,
    samples: 4,
  })),
];

const PALETTE = Uint8Array.from({ length: 768 }, (_, i) => (i * 37) % 256);
const OPACITIES = Uint8Array.from({ length: 100 }, (_, i) => 255 - i);

const ADAM7 = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;

interface Written {
  readonly bytes: Uint8Array;
  /** What is to be read: red, green, blue, opacity. */
  readonly pixels: readonly number[];
}

/** Writes a PNG of any kind in the plainest way, each row by a filter that `pick` picks. */
function writePng(
  kind: Kind,
  { width, height }: { width: number; height: number },
  pick: (most: number) => number,
  interlaced: boolean,
): Written {
  const { depth, samples, colourType } = kind;
  const values = Array.from({ length: width * height * samples }, () => pick(2 ** depth));
  const step = Math.max(1, (samples * depth) / 8);
  const rows: Buffer[] = [];
  for (const [x0, y0, dx, dy] of interlaced ? ADAM7 : ([[0, 0, 1, 1]] as const)) {
    const columns = Math.max(0, Math.ceil((width - x0) / dx));
    let above = Buffer.alloc(Math.ceil((columns * samples * depth) / 8));
    for (let y = y0; y < height && columns > 0; y += dy) {
      const line = Buffer.alloc(above.length);
      for (let column = 0; column < columns; column += 1)
        for (let sample = 0; sample < samples; sample += 1) {
          const value = values[(y * width + x0 + column * dx) * samples + sample]!;
          const index = column * samples + sample;
          if (depth === 16) line.writeUInt16BE(value, index * 2);
          else line[(index * depth) >> 3]! |= value << (8 - depth - ((index * depth) & 7));
        }
      const filter = pick(5);
      const filtered = Buffer.alloc(line.length);
      for (let i = 0; i < line.length; i += 1) {
        const [left, up, corner] = [line[i - step] ?? 0, above[i]!, above[i - step] ?? 0];
        const guess = left + up - corner;
        const nearest = [left, up, corner].reduce((best, one) =>
          Math.abs(guess - one) < Math.abs(guess - best) ? one : best,
        );
        filtered[i] = line[i]! - [0, left, up, (left + up) >> 1, nearest][filter]!;
      }
      rows.push(Buffer.from([filter]), filtered);
      above = line;
    }
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([depth, colourType, 0, 0, interlaced ? 1 : 0], 8);
  const bytes = Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    chunk("IHDR", head),
    ...(colourType === 3 ? [chunk("PLTE", PALETTE), chunk("tRNS", OPACITIES)] : []),
    chunk("IDAT", deflateSync(Buffer.concat(rows))),
    chunk("IEND", new Uint8Array()),
  ]);
  const scaled = (value: number): number =>
    depth === 16 ? value >> 8 : Math.floor((value * 255) / (2 ** depth - 1));
  const pixels = Array.from({ length: width * height }, (_, i) => {
    const own = values.slice(i * samples, (i + 1) * samples);
    const [first = 0, second = 0] = own;
    if (colourType === 3) return [...PALETTE.slice(first * 3, first * 3 + 3), OPACITIES[first] ?? 255];
    if (samples <= 2)
      return [scaled(first), scaled(first), scaled(first), samples === 2 ? scaled(second) : 255];
    return [...own.slice(0, 3).map(scaled), own[3] === undefined ? 255 : scaled(own[3])];
  });
  return { bytes: new Uint8Array(bytes), pixels: pixels.flat() };
}

function chunk(name: string, data: Uint8Array): Buffer {
  const named = Buffer.concat([Buffer.from(name), data]);
  const around = Buffer.alloc(8);
  around.writeUInt32BE(data.length, 0);
  around.writeUInt32BE(crc32(named), 4);
  return Buffer.concat([around.subarray(0, 4), named, around.subarray(4)]);
}

const sizes = fc.record({ width: fc.integer({ min: 1, max: 20 }), height: fc.integer({ min: 1, max: 20 }) });

test("a file that is written ends with an empty last chunk", () => {
  const file = encodePng({ width: 1, height: 1, pixels: new Uint8Array([1, 2, 3, 255]) });
  expect(file.subarray(-12).toHex()).toBe("0000000049454e44ae426082");
});

test("a pixel whose colour is beyond the palette is black", () => {
  const head = Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 8, 3, 0, 0, 0]);
  const bytes = Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    chunk("IHDR", head),
    chunk("PLTE", Uint8Array.of(9, 9, 9)),
    chunk("IDAT", deflateSync(Uint8Array.of(0, 5))),
    chunk("IEND", new Uint8Array()),
  ]);
  expect([...decodePng(new Uint8Array(bytes)).pixels]).toEqual([0, 0, 0, 255]);
});

describe("a PNG that is given is read", () => {
  for (const kind of KINDS)
    test(`${kind.name}, by any filter, interlaced or not`, () => {
      fc.assert(
        fc.property(sizes, fc.boolean(), fc.infiniteStream(fc.nat(65_535)), (size, interlaced, numbers) => {
          const pick = (most: number): number => Number(numbers.next().value) % most;
          const { bytes, pixels } = writePng(kind, size, pick, interlaced);
          const read = decodePng(bytes);
          expect({ width: read.width, height: read.height }).toEqual(size);
          expect([...read.pixels]).toEqual([...pixels]);
        }),
        { ...RUNS, numRuns: Math.ceil(RUNS.numRuns / 5) },
      );
    });

  test("cut or spoiled, it is said to be broken, and nothing else happens", async () => {
    const written = writePng(KINDS.at(-1)!, { width: 9, height: 9 }, (most) => 7 % most, false);
    const bytes = new Uint8Array(written.bytes);
    // Behind its pixels are the sum of them, that of the chunk, and an empty one.
    for (let length = 24; length < bytes.length - 20; length += 7)
      expect(await read(bytes.slice(0, length))).toBeUndefined();
    for (let at = 8; at < bytes.length; at += 1) {
      const spoiled = bytes.slice();
      spoiled[at]! ^= 0x55;
      // A spoiled head may say any size.
      if (at >= 16 && at < 24) continue;
      const image = await read(spoiled);
      expect(image === undefined || image.pixels.length === image.width * image.height * 4).toBe(true);
    }
  });
});

test("what is drawn is the same once it has been a PNG", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 1, max: 400 }),
      fc.infiniteStream(fc.nat(255)),
      (width, height, numbers) => {
        const pixels = Uint8Array.from({ length: width * height * 4 }, (_, at) =>
          at % 4 === 3 ? 255 : Number(numbers.next().value),
        );
        const bytes = encodePng({ width, height, pixels });
        expect([...decodePng(bytes).pixels]).toEqual([...pixels]);
        // Its sums are right: another reader would look at them.
        const at = Buffer.from(bytes).indexOf("IDAT");
        const length = new DataView(bytes.buffer).getUint32(at - 4);
        expect(inflateSync(bytes.slice(at + 4, at + 4 + length)).length).toBe(height * (1 + width * 3));
        expect(new DataView(bytes.buffer).getUint32(at + 4 + length)).toBe(
          crc32(bytes.slice(at, at + 4 + length)),
        );
      },
    ),
    { ...RUNS, numRuns: 20 },
  );
});

const ORANGE = {
  width: 64,
  height: 40,
  colorSpace: "srgb",
  data: Uint8ClampedArray.from({ length: 64 * 40 * 4 }, (_, at) => [0xe0, 0x80, 0x20, 0xff][at % 4] ?? 0),
} as const;

const FILES = {
  jpeg: async () => new Uint8Array(await encodeJpeg(ORANGE, { quality: 88 })),
  webp: async () => new Uint8Array(await encodeWebp(ORANGE, { quality: 88 })),
};

test.each(["jpeg", "webp"] as const)(
  "a %s that is given is read as what was drawn, nearly",
  async (format) => {
    const { width, height, pixels } = (await read(await FILES[format]()))!;
    expect([width, height]).toEqual([64, 40]);
    [0xe0, 0x80, 0x20, 0xff].forEach((value, i) => expect(Math.abs(pixels[i]! - value)).toBeLessThan(6));
    // By an address other packages take the process for a browser.
    expect("location" in globalThis).toBe(false);
  },
);

test.each(["jpeg", "webp"] as const)("a broken %s spoils nothing for the next", async (format) => {
  const whole = await FILES[format]();
  const spoiled = whole.slice();
  // Behind the head that says the size.
  for (let at = format === "jpeg" ? 200 : 30; at < spoiled.length; at += 1) spoiled[at] = 0xff;
  expect(await read(whole.slice(0, 32))).toBeUndefined();
  await read(spoiled);
  expect(await read(whole)).toMatchObject({ width: 64, height: 40 });
});
