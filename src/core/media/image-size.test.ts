import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { runsOf } from "../../../test/runs.ts";
import { imageSizeIn, imageSizeOf, rawImageSizeOf } from "./image-size.ts";

const RUNS = runsOf(100, 50_000);

type Bytes = readonly number[];

const text = (value: string): Bytes => Array.from(value, (character) => character.charCodeAt(0));
const big16 = (n: number): Bytes => [n >> 8, n & 255];
const little16 = (n: number): Bytes => [n & 255, n >> 8];
const uri = (bytes: Bytes, type = "image/png"): string =>
  `data:${type};base64,${Buffer.from(bytes).toString("base64")}`;

function png(width: number, height: number): Bytes {
  const head = Buffer.alloc(26);
  head.writeUInt32BE(13, 8);
  head.write("IHDR", 12);
  head.writeUInt32BE(width, 16);
  head.writeUInt32BE(height, 20);
  return [0x89, ...text("PNG\r\n\u001a\n"), ...head.subarray(8), 0, 0, 0];
}

/** A frame header of `marker` after segments of the given lengths, which hold another frame header to trip over. */
function jpeg(width: number, height: number, segments: readonly number[] = [], marker = 0xc0): Bytes {
  const frame = [...big16(17), 8, ...big16(height), ...big16(width), 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1];
  const skipped = segments.flatMap((length, i) => {
    const thumbnail = [0xff, 0xd8, 0xff, 0xc0, ...big16(17), 8, 0, 1, 0, 1];
    const content = Array.from({ length: length - 2 }, (_, at) => thumbnail[at] ?? 0xff);
    return [0xff, 0xe0 + (i % 16), ...big16(length), ...content];
  });
  return [0xff, 0xd8, ...skipped, 0xff, marker, ...frame, 0xff, 0xda];
}

function gif(
  width: number,
  height: number,
  more: { colours?: number; frame?: [number, number]; from?: [number, number] } = {},
): Bytes {
  const flags = more.colours === undefined ? 0 : 0x80 + more.colours;
  const table = more.colours === undefined ? 0 : 3 * 2 ** (more.colours + 1);
  const [frameWidth, frameHeight] = more.frame ?? [1, 1];
  const [left, top] = more.from ?? [0, 0];
  const comment = [0x21, 0xfe, 3, 0x2c, 9, 9, 2, 0x2c, 9, 0];
  const screen = text("GIF89a").concat(little16(width), little16(height), [flags, 0, 0]);
  const colours = Array.from({ length: table }, () => 0x2c);
  const frame = [0x2c].concat(
    little16(left),
    little16(top),
    little16(frameWidth),
    little16(frameHeight),
    [0],
  );
  return screen.concat(colours, comment, frame);
}

const webp = (chunk: string, content: Bytes): Bytes => [
  ...text(`RIFF\0\0\0\0WEBP${chunk}\0\0\0\0`),
  ...content,
];
const lossy = (width: number, height: number, scale = 0): Bytes =>
  webp("VP8 ", [0, 0, 0, 0x9d, 1, 0x2a, ...little16(width + scale), ...little16(height + scale)]);
const lossless = (width: number, height: number): Bytes => {
  const bits = width - 1 + (height - 1) * 16_384;
  return webp("VP8L", [0x2f, ...little16(bits % 65_536), ...little16(Math.floor(bits / 65_536))]);
};
const extended = (width: number, height: number): Bytes => {
  const canvas = (n: number): Bytes => [...little16((n - 1) % 65_536), (n - 1) >> 16];
  return webp("VP8X", [0, 0, 0, 0, ...canvas(width), ...canvas(height)]);
};

const side = (most: number) => fc.integer({ min: 1, max: most });
const sized = (name: string, most: number, make: (width: number, height: number) => Bytes) => ({
  name,
  image: fc
    .tuple(side(most), side(most))
    .map(([width, height]) => ({ bytes: make(width, height), size: { width, height } })),
});
const lengths = fc.array(fc.integer({ min: 2, max: 3_000 }), { maxLength: 6 });
const KINDS = [
  sized("PNG", 2 ** 31 - 1, png),
  {
    name: "JPEG behind segments, of any coding",
    image: fc
      .record({
        width: side(65_535),
        height: side(65_535),
        segments: lengths,
        marker: fc.constantFrom(0xc0, 0xc1, 0xc2, 0xc3, 0xc9, 0xcf),
      })
      .map(({ width, height, segments, marker }) => ({
        bytes: jpeg(width, height, segments, marker),
        size: { width, height },
      })),
  },
  sized("GIF", 65_535, gif),
  sized("GIF with a colour table", 65_535, (width, height) => gif(width, height, { colours: 7 })),
  sized("lossy WebP", 16_383, lossy),
  sized("lossy WebP, scaled for display", 16_383, (width, height) => lossy(width, height, 0x4000)),
  sized("lossless WebP", 16_384, lossless),
  sized("extended WebP", 2 ** 24, extended),
];

describe("the size of an image is read from its head", () => {
  for (const { name, image } of KINDS) {
    test(`${name}: of any size`, () => {
      fc.assert(
        fc.property(image, ({ bytes, size }) => {
          expect(imageSizeOf(uri(bytes))).toEqual(size);
        }),
        RUNS,
      );
    });

    test(`${name}: cut anywhere, it is the same size or none`, () => {
      fc.assert(
        fc.property(image, fc.double({ min: 0, max: 1, noNaN: true }), ({ bytes, size }, part) => {
          const whole = uri(bytes);
          const cut = imageSizeOf(whole.slice(0, Math.floor(whole.length * part)));
          expect(cut === undefined || (cut.width === size.width && cut.height === size.height)).toBe(true);
        }),
        RUNS,
      );
    });

    test(`${name}: with bytes overwritten, nothing is thrown and a size is whole and positive`, () => {
      const spoiled = fc.tuple(image, fc.array(fc.tuple(fc.nat(60), fc.nat(255)), { maxLength: 5 }));
      fc.assert(
        fc.property(spoiled, ([{ bytes }, changes]) => {
          const changed = [...bytes];
          for (const [at, byte] of changes) if (at < changed.length) changed[at] = byte;
          const size = imageSizeOf(uri(changed));
          if (size === undefined) return;
          expect(Number.isInteger(size.width) && Number.isInteger(size.height)).toBe(true);
          expect(Math.min(size.width, size.height)).toBeGreaterThan(0);
        }),
        RUNS,
      );
    });
  }

  test("the media type may be wrong, in capitals, or carry a long parameter", () => {
    const bytes = jpeg(640, 480, [40_000, 65_535, 65_535]);
    for (const type of ["image/png", "IMAGE/WEBP", `image/jpeg;thought_signature=${"a".repeat(60_000)}`])
      expect(imageSizeOf(uri(bytes, type))).toEqual({ width: 640, height: 480 });
    expect(imageSizeOf(uri(bytes).replace("data:", "DATA:").replace(";base64", ";BASE64"))).toBeDefined();
  });

  test("the content of a data URI begins within its first 65,536 characters", () => {
    const withHeader = (length: number): string => {
      const [head, tail] = ["data:image/png;x=", ";base64,"];
      const content = Buffer.from(png(3, 2)).toString("base64");
      return `${head}${"a".repeat(length - head.length - tail.length)}${tail}${content}`;
    };
    expect(imageSizeOf(withHeader(65_536))).toEqual({ width: 3, height: 2 });
    expect(imageSizeOf(withHeader(65_537))).toBeUndefined();
  });

  test("fill bytes before a JPEG's marker are stepped over", () => {
    for (const fill of [1, 2, 3]) {
      const bytes = [0xff, 0xd8, ...Array.from({ length: fill }, () => 0xff), ...jpeg(7, 5).slice(2)];
      expect([fill, imageSizeOf(uri(bytes))]).toEqual([fill, { width: 7, height: 5 }]);
    }
  });

  test("a marker without a segment is stepped over, and a frame header of each coding is one", () => {
    const marked = [0xff, 0xd8, 0xff, 0x01, 0xff, 0x01, ...jpeg(7, 5).slice(2)];
    expect(imageSizeOf(uri(marked))).toEqual({ width: 7, height: 5 });
    for (let marker = 0xbf; marker <= 0xd0; marker += 1) {
      const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
      const size = imageSizeOf(uri(jpeg(7, 5, [], marker)));
      expect([marker, size]).toEqual([marker, isFrame ? { width: 7, height: 5 } : undefined]);
    }
  });

  test("a JPEG's tables and notes are stepped over, whatever their marker, and nothing from the scan on", () => {
    for (let marker = 0; marker < 0xff; marker += 1) {
      const bytes = [0xff, 0xd8, 0xff, marker, ...big16(4), 0, 0, ...jpeg(7, 5).slice(2)];
      const isSegment = [0xc4, 0xc8, 0xcc].includes(marker) || marker > 0xda;
      // Those of a frame header have the size themselves, and 01 has no segment.
      if (marker === 0x01 || (marker >= 0xc0 && marker <= 0xcf && !isSegment)) continue;
      expect([marker, imageSizeOf(uri(bytes))]).toEqual([
        marker,
        isSegment ? { width: 7, height: 5 } : undefined,
      ]);
    }
  });

  test("a GIF of the earlier version is one, and a lossless WebP that is transparent", () => {
    const earlier = gif(9, 8).map((byte, at) => (at === 4 ? 0x37 : byte));
    expect(imageSizeOf(uri(earlier))).toEqual({ width: 9, height: 8 });
    const transparent = lossless(9, 8).map((byte, at) => (at === 24 ? byte + 0x10 : byte));
    expect(imageSizeOf(uri(transparent))).toEqual({ width: 9, height: 8 });
  });

  test("a GIF's colour table is as long as its flags say, and there is none without its flag", () => {
    for (let colours = 0; colours < 8; colours += 1)
      expect(imageSizeOf(uri(gif(9, 8, { colours })))).toEqual({ width: 9, height: 8 });
    const without = gif(9, 8).map((byte, at) => (at === 10 ? 0x7f : byte));
    expect(imageSizeOf(uri(without))).toEqual({ width: 9, height: 8 });
  });

  test("an image beyond a data URI: base64 alone, or its bytes", () => {
    for (const bytes of [png(30, 20), jpeg(30, 20), gif(30, 20), lossy(30, 20), extended(30, 20)]) {
      expect(rawImageSizeOf(Buffer.from(bytes).toString("base64"))).toEqual({ width: 30, height: 20 });
      expect(imageSizeIn(Uint8Array.from(bytes))).toEqual({ width: 30, height: 20 });
      expect(imageSizeIn(Uint8Array.from(bytes.slice(0, 9)))).toBeUndefined();
    }
  });

  test("a GIF whose first image goes beyond its screen is as large as that, from the screen's corner", () => {
    expect(imageSizeOf(uri(gif(2, 900, { frame: [800, 600] })))).toEqual({ width: 800, height: 900 });
    const apart = gif(2, 900, { frame: [800, 600], from: [300, 520] });
    expect(imageSizeOf(uri(apart))).toEqual({ width: 1_100, height: 1_120 });
  });
});

describe("what is no such image has no size", () => {
  const whole = uri(png(3, 2));
  const cases: readonly (readonly [string, string])[] = [
    ["a link", "https://example.com/a.png"],
    ["nothing", ""],
    ["no content", "data:image/png;base64,"],
    ["no base64", whole.replace(";base64", "")],
    ["no comma", whole.replace(",", "")],
    ["a header without end", `data:image/png;x=${"a".repeat(70_000)}${whole.slice(14)}`],
    ["line breaks in the head", whole.replace("iVBOR", "iVB\nOR")],
    ["escapes in the head", whole.replace("iVBOR", "iVB%4FR")],
    ["characters beyond ASCII", whole.replace("iVBOR", "iVBÖR")],
    ["another format", uri(text("BM000000000000000000000000"))],
    ["an image of drawings", uri(text("<svg width='9' height='9'/>"))],
    ["a PNG of no width", uri(png(0, 2))],
    ["a PNG of no height", uri(png(2, 0))],
    ["a PNG with another mark", uri(png(3, 2).map((byte, at) => (at === 7 ? 0 : byte)))],
    ["a PNG that begins with another chunk", uri(png(3, 2).map((byte, at) => (at === 12 ? 0 : byte)))],
    ["a GIF of another version", uri(gif(9, 9).map((byte, at) => (at === 4 ? 0x38 : byte)))],
    ["a lossless WebP without its mark", uri(lossless(9, 9).map((byte, at) => (at === 20 ? 0x2e : byte)))],
    ["a lossy WebP without its mark", uri(lossy(9, 9).map((byte, at) => (at === 24 ? 0 : byte)))],
    ["a RIFF of sound", uri(lossy(9, 9).map((byte, at) => (at === 8 ? 0x41 : byte)))],
    ["a JPEG whose height comes later", uri(jpeg(9, 0))],
    ["a JPEG whose scan comes first", uri([0xff, 0xd8, 0xff, 0xda, 0, 2, ...jpeg(9, 9).slice(2)])],
    ["a JPEG with a segment of no length", uri([0xff, 0xd8, 0xff, 0xe0, 0, 0, ...jpeg(9, 9).slice(2)])],
    ["a JPEG without its mark", uri(jpeg(9, 9).map((byte, at) => (at === 1 ? 0xd9 : byte)))],
    ["a JPEG whose segment has no mark", uri(jpeg(9, 9, [2]).map((byte, at) => (at === 6 ? 0 : byte)))],
    ["a GIF without an image", uri([...gif(9, 9).slice(0, 13), 0x3b])],
    ["a WebP of an unknown chunk", uri(webp("ALPH", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]))],
  ];
  for (const [name, url] of cases) test(name, () => expect(imageSizeOf(url)).toBeUndefined());

  test("any text and any bytes are taken without throwing", () => {
    const start = fc.constantFrom([], [0x89], [0xff, 0xd8], [0xff, 0xd8, 0xff], text("GIF89a"), text("RIFF"));
    const bytes = fc.tuple(start, fc.uint8Array({ maxLength: 80 })).map(([a, b]) => uri([...a, ...b]));
    fc.assert(
      fc.property(fc.oneof(bytes, fc.string({ unit: "binary" }), fc.string()), (url) => {
        imageSizeOf(url);
        imageSizeOf(`data:;base64,${url}`);
      }),
      RUNS,
    );
  });
});

describe("the search for a size is bounded", () => {
  const small = (count: number): readonly number[] => Array.from({ length: count }, () => 2);
  test("a JPEG's frame header is found behind five hundred segments, and not looked for behind more", () => {
    expect(imageSizeOf(uri(jpeg(9, 8, small(500))))).toEqual({ width: 9, height: 8 });
    expect(imageSizeOf(uri(jpeg(9, 8, small(511))))).toEqual({ width: 9, height: 8 });
    expect(imageSizeOf(uri(jpeg(9, 8, small(512))))).toBeUndefined();
  });

  test("a GIF's first image is found behind a comment of five hundred parts, and not looked for behind more", () => {
    const [screen, frame] = [gif(9, 8).slice(0, 13), gif(9, 8).slice(23)];
    const commented = (parts: number): Bytes => {
      const comment = Array.from({ length: parts }, () => [1, 0x2c]).flat();
      return [...screen, 0x21, 0xfe, ...comment, 0, ...frame];
    };
    expect(imageSizeOf(uri(commented(509)))).toEqual({ width: 9, height: 8 });
    expect(imageSizeOf(uri(commented(510)))).toBeUndefined();
  });

  test("twenty megabytes that never come to a point are given up", () => {
    const endless = [
      Buffer.alloc(20_000_000, 0xff).fill(0xd8, 1, 2),
      Buffer.concat([Buffer.from(gif(9, 9).slice(0, 13)), Buffer.alloc(20_000_000, "\u0021\u0001\u0001")]),
    ];
    for (const bytes of endless)
      expect(imageSizeOf(`data:image/x;base64,${bytes.toString("base64")}`)).toBeUndefined();
    expect(imageSizeOf(`data:${"a".repeat(20_000_000)}`)).toBeUndefined();
  });
});
