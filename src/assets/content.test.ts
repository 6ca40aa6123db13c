import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  concat,
  FILE_TYPE,
  JPEG_FILE,
  LOSSLESS_WEBP_FILE,
  mp4Box,
  mp4File,
  pngChunk,
  pngFile,
  PROGRESSIVE_JPEG_FILE,
  WEBP_FILE,
} from "../../test/assets/media-files.ts";
import { SEED } from "../../test/runs.ts";
import { MAX_FILE_BYTES, openContentCheck } from "./content.ts";

const seeded = { seed: SEED };
const text = (value: string): Uint8Array => new TextEncoder().encode(value);

/** What a file is, told piece by piece; the pieces are as long as they are written in one go. */
function contentOf(bytes: Uint8Array, kind: "image" | "video", pieceBytes = bytes.length) {
  const check = openContentCheck(kind);
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const refused = check.push(bytes.subarray(at, at + pieceBytes));
    if (refused !== undefined) return refused;
  }
  return check.end();
}

const latin1 = (value: string): Uint8Array => new Uint8Array(Buffer.from(value, "latin1"));

const WHOLE: readonly (readonly [string, Uint8Array, "image" | "video", string])[] = [
  ["a PNG image", pngFile(), "image", "png"],
  ["a PNG image with data in two chunks", twoChunks(), "image", "png"],
  ["a JPEG image", JPEG_FILE, "image", "jpg"],
  ["a JPEG image in several scans", PROGRESSIVE_JPEG_FILE, "image", "jpg"],
  ["a JPEG image with bytes behind its end", concat([JPEG_FILE, text("more")]), "image", "jpg"],
  ...[0x01, 0xd0, 0xd3, 0xd7].map((mark): (typeof WHOLE)[number] => [
    `a JPEG image with the mark ${mark.toString(16)} in its data`,
    concat([JPEG_FILE.subarray(0, -2), new Uint8Array([0xff, mark, 0xff, 0x00]), JPEG_FILE.subarray(-2)]),
    "image",
    "jpg",
  ]),
  ["a WebP image", WEBP_FILE, "image", "webp"],
  ["a WebP image without loss", LOSSLESS_WEBP_FILE, "image", "webp"],
  ["an MP4 video", mp4File(), "video", "mp4"],
  ["an MP4 video whose data comes first", dataFirst(), "video", "mp4"],
  ["an MP4 video whose data has a long length", longData(), "video", "mp4"],
  ["an MP4 video whose head ends in less than a box", paddedHead(), "video", "mp4"],
  ["an MP4 video whose data goes to the end", openData(), "video", "mp4"],
];

describe("a whole file is known by its bytes", () => {
  for (const [name, bytes, kind, extension] of WHOLE) {
    test(name, () => expect(contentOf(bytes, kind)).toMatchObject({ extension }));
  }

  test("also where they are a part of others", () => {
    for (const [, bytes, kind, extension] of WHOLE) {
      const within = concat([text("xyz"), bytes, text("xyz")]).subarray(3, 3 + bytes.length);
      expect(contentOf(within, kind)).toMatchObject({ extension });
    }
  });
});

describe("a file that was cut anywhere is refused", () => {
  const cuttable = WHOLE.filter(([name]) => !/behind its end|to the end/.test(name));
  for (const [name, bytes, kind] of cuttable) {
    test(name, () => {
      for (let length = 0; length < bytes.length; length += 1)
        expect(contentOf(bytes.subarray(0, length), kind)).toHaveProperty("notStored");
    });
  }
});

test("a PNG image with any bit changed is refused: each chunk has a checksum", () => {
  const bytes = pngFile();
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.nat(7), (at, bit) => {
      const changed = bytes.slice();
      changed[at] = (changed[at] ?? 0) ^ (1 << bit);
      expect(contentOf(changed, "image")).toHaveProperty("notStored");
    }),
    { ...seeded, numRuns: 500 },
  );
});

test("no bytes of any kind make it throw or take long", () => {
  const heads = WHOLE.map(([, bytes]) => bytes);
  fc.assert(
    fc.property(
      fc.constantFrom(...heads),
      fc.nat(700),
      fc.uint8Array({ maxLength: 300 }),
      fc.constantFrom("image" as const, "video" as const),
      (head, at, junk, kind) => {
        const bytes = concat([head.subarray(0, at), junk, head.subarray(at)]);
        const found = contentOf(bytes, kind);
        expect("notStored" in found || found.mediaType.startsWith(kind)).toBe(true);
      },
    ),
    { ...seeded, numRuns: 2_000 },
  );
});

test("a file is the same in whatever pieces it comes, whole or with a bit changed or cut off", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...WHOLE),
      fc.option(fc.tuple(fc.nat(1_500), fc.nat(7))),
      fc.nat(1_500),
      fc.integer({ min: 1, max: 700 }),
      ([, whole, kind], change, cut, pieceBytes) => {
        const bytes = whole.slice(0, cut < whole.length ? whole.length - cut : whole.length);
        if (change !== null && change[0] < bytes.length) bytes[change[0]]! ^= 1 << change[1];
        expect(contentOf(bytes, kind, pieceBytes)).toEqual(contentOf(bytes, kind));
      },
    ),
    { ...seeded, numRuns: 2_000 },
  );
});

test("what is no image or video is refused by its first bytes, before the rest has come", () => {
  const page = text("<!doctype html>".padEnd(600));
  for (const kind of ["image", "video"] as const) {
    const check = openContentCheck(kind);
    expect(check.push(page)).toMatchObject({
      notStored: expect.stringContaining("an HTML or XML page"),
    });
  }
});

test("a file beyond its bound is refused at the piece that crosses it, also behind the end of an image", () => {
  const check = openContentCheck("image");
  expect(check.push(pngFile())).toBeUndefined();
  const piece = new Uint8Array(MAX_FILE_BYTES.image - pngFile().length);
  expect(check.push(piece)).toBeUndefined();
  expect(check.push(new Uint8Array(1))).toHaveProperty("notStored");
  expect(check.end()).toHaveProperty("notStored");
});

describe("what is refused is named", () => {
  const bmff = (brand: string): Uint8Array => mp4Box("ftyp", latin1(`${brand}\u0000\u0000\u0000\u0000`));
  const cases: readonly (readonly [string, Uint8Array, "image" | "video", string])[] = [
    ["nothing", new Uint8Array(), "image", "The file is empty."],
    ["a page", text("<!DOCTYPE html><html><script>x()</script>"), "image", "an HTML or XML page, not a PNG"],
    ["a page behind white space", text("\ufeff \n<html>"), "video", "an HTML or XML page, not an MP4 video"],
    ["a drawing", text('<svg xmlns="x"><script/></svg>'), "image", "an SVG drawing"],
    ["a drawing with a head", text('<?xml version="1.0"?>\n<!-- a --><svg>'), "image", "an SVG drawing"],
    ["an error", text('{"error":{"message":"sk-secret"}}'), "image", "JSON text"],
    ["a GIF", text("GIF89a\u0001\u0000"), "image", "a GIF image"],
    ["a BMP", text("BM123456"), "image", "a BMP image"],
    ["a PDF", text("%PDF-1.7"), "image", "a PDF document"],
    ["a WebM video", latin1("\u001aE\u00df\u00a3webm"), "video", "a WebM or Matroska video"],
    ["an AVIF image", bmff("avif"), "image", "a QuickTime, HEIC or AVIF file"],
    ["a QuickTime video", bmff("qt  "), "video", "a QuickTime, HEIC or AVIF file"],
    ["noise", new Uint8Array(100).fill(3), "image", "of no known kind"],
    ["an image for a video", pngFile(), "video", "a PNG image, not an MP4 video"],
    ["a video for an image", mp4File(), "image", "an MP4 video, not a PNG, JPEG or WebP image"],
    ["an image of one pixel", pngFile(1, 1), "image", "a single pixel"],
    ["an image without width", pngFile(0, 9), "image", "without a size"],
    [
      "a PNG that begins with its data",
      concat([
        pngFile().subarray(0, 8),
        pngChunk("IDAT", pngFile().subarray(16, 29)),
        pngFile().subarray(33),
      ]),
      "image",
      "cut off or broken",
    ],
    [
      "a PNG whose head is longer",
      concat([
        pngFile().subarray(0, 8),
        pngChunk("IHDR", pngFile().subarray(16, 30)),
        pngFile().subarray(33),
      ]),
      "image",
      "cut off or broken",
    ],
    [
      "a JPEG with a frame of too few bytes",
      concat([latin1("\u00ff\u00d8\u00ff\u00c0\u0000\u0006abcd"), JPEG_FILE.subarray(2)]),
      "image",
      "without a size",
    ],
    ["a PNG without data", pngWith(pngChunk("IEND", new Uint8Array())), "image", "cut off or broken"],
    ["a PNG without an end", pngFile().subarray(0, -12), "image", "cut off or broken"],
    ["a JPEG without a frame", latin1("\u00ff\u00d8\u00ff\u00d9"), "image", "cut off or broken"],
    [
      "a JPEG with a scan and no frame",
      latin1(
        "\u00ff\u00d8\u00ff\u00e0\u0000\u0010JFIF\u0000\u0001\u0001\u0000\u0000\u0001\u0000\u0001\u0000\u0000\u00ff\u00da\u0000\u0003\u0000abc\u00ff\u00d9",
      ),
      "image",
      "cut off or broken",
    ],
    [
      "a JPEG with a segment of no marker's",
      concat([latin1("\u00ff\u00d8\u00ff\u0002\u0000\u0004ab"), JPEG_FILE.subarray(2)]),
      "image",
      "cut off or broken",
    ],
    [
      "a JPEG whose segment has no room for its own length",
      concat([latin1("\u00ff\u00d8\u00ff\u00e1\u0000\u0001"), JPEG_FILE.subarray(2)]),
      "image",
      "cut off or broken",
    ],
    ["audio", mp4File({ handler: "soun" }), "video", "cut off or broken"],
    ["a video whose track reaches beyond its head", overlongTrack(), "video", "cut off or broken"],
    ["a WebP image whose only frame is empty", emptyWebp(), "image", "cut off or broken"],
    ["a video without data", mp4File({ dataBytes: 0 }), "video", "cut off or broken"],
    ["a video without a head", concat([FILE_TYPE, mp4Box("mdat", new Uint8Array(9))]), "video", "cut off"],
    [
      "a video with a broken box",
      concat([mp4File(), text("\u0000\u0000\u0000\u0007free")]),
      "video",
      "cut off",
    ],
    [
      "an image that is too large",
      concat([pngFile(), new Uint8Array(MAX_FILE_BYTES.image)]),
      "image",
      "at most 52428800 bytes are kept",
    ],
  ];
  for (const [name, bytes, kind, words] of cases) {
    test(name, () => {
      const found = contentOf(bytes, kind);
      expect("notStored" in found ? found.notStored : found).toContain(words);
      expect(JSON.stringify(found)).not.toContain("sk-secret");
    });
  }
});

test("a video has a hundred thousand boxes at the most", () => {
  // Eight of its own.
  const withMore = (count: number): Uint8Array => {
    const free = Buffer.alloc(8);
    free.writeUInt32BE(8, 0);
    free.write("free", 4, "latin1");
    return concat([mp4File(), Buffer.alloc(8 * count, free)]);
  };
  expect(contentOf(withMore(99_992), "video")).toMatchObject({ extension: "mp4" });
  expect(contentOf(withMore(99_993), "video")).toHaveProperty("notStored");
});

test("an image of one pixel in height is an image", () => {
  expect(contentOf(pngFile(1, 2), "image")).toMatchObject({ mediaType: "image/png" });
});

function pngWith(...chunks: readonly Uint8Array[]): Uint8Array {
  return concat([pngFile().subarray(0, 33), ...chunks]);
}

function twoChunks(): Uint8Array {
  const png = pngFile();
  const data = png.subarray(41, -16);
  return pngWith(
    pngChunk("tEXt", text("C\u0000x")),
    pngChunk("IDAT", data.subarray(0, 5)),
    pngChunk("IDAT", data.subarray(5)),
    pngChunk("IEND", new Uint8Array()),
  );
}

/** A canvas of 2 by 2 and a chunk for an image without anything in it. */
function emptyWebp(): Uint8Array {
  const canvas = latin1("VP8X\n\0\0\0\0\0\0\0\u0001\0\0\u0001\0\0");
  const frame = latin1("ANMF\0\0\0\0");
  const length = 4 + canvas.length + frame.length;
  return concat([latin1(`RIFF${String.fromCharCode(length)}\0\0\0WEBP`), canvas, frame]);
}

/** An MP4 file's boxes in the other order. */
function dataFirst(): Uint8Array {
  const video = mp4File();
  return concat([FILE_TYPE, video.subarray(-1_008), video.subarray(FILE_TYPE.length, -1_008)]);
}

function longData(): Uint8Array {
  const video = mp4File();
  const long = Buffer.alloc(16);
  long.writeUInt32BE(1, 0);
  long.write("mdat", 4, "latin1");
  long.writeBigUInt64BE(1_016n, 8);
  return concat([video.subarray(0, -1_008), long, video.subarray(-1_000)]);
}

function paddedHead(): Uint8Array {
  const video = mp4File();
  const head = new DataView(video.buffer, FILE_TYPE.length);
  head.setUint32(0, head.getUint32(0) + 4);
  return concat([video.subarray(0, -1_008), new Uint8Array(4), video.subarray(-1_008)]);
}

function openData(): Uint8Array {
  const video = mp4File();
  video.fill(0, video.length - 1_008, video.length - 1_004);
  return video;
}

/** The track says that it is longer than the head that it stands in, and ends where the box behind the head does. */
function overlongTrack(): Uint8Array {
  const video = mp4File();
  const behind = mp4Box("free", new Uint8Array(8));
  const at = Buffer.from(video).indexOf("trak", 0, "latin1") - 4;
  const size = new DataView(video.buffer, at);
  size.setUint32(0, size.getUint32(0) + behind.length);
  return concat([video.subarray(0, -1_008), behind, video.subarray(-1_008)]);
}
