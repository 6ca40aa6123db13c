import { describe, expect, test } from "bun:test";
import { crc32, deflateSync } from "node:zlib";
import { encodeJpeg, encodeWebp } from "../../../../test/images/encoders.ts";
import { runsOf } from "../../../../test/runs.ts";
import type { ImageOrder } from "../media/image-order.ts";
import { decodePng } from "../../../runtime/images/decode-png.ts";
import type { Pixels } from "../../../runtime/images/pixels.ts";
import * as fc from "fast-check";
import { encodePng } from "../../../runtime/images/encode-png.ts";
import { makeImage } from "./poster.ts";
import { render, words } from "./renderer.ts";

const ORDER: ImageOrder = {
  size: { width: 480, height: 480 },
  format: "png",
  seed: "1",
  model: "acme/one",
  prompt: "a red fox",
  facts: [["size", "480 × 480"]],
  references: [],
};

type Colour = readonly [red: number, green: number, blue: number];

const RED: Colour = [230, 10, 20];

/** A file of one colour. */
async function plain(colour: Colour, format: "png" | "jpeg" | "webp" = "png"): Promise<string> {
  const pixels = new Uint8Array(300 * 200 * 4).fill(255);
  for (let at = 0; at < pixels.length; at += 4) pixels.set(colour, at);
  const data = new Uint8ClampedArray(pixels);
  const image = { width: 300, height: 200, colorSpace: "srgb", data, pixels } as const;
  const encode = { png: encodePng, jpeg: encodeJpeg, webp: encodeWebp }[format];
  const file = new Uint8Array(await encode(image));
  return `data:image/${format};base64,${file.toBase64()}`;
}

const drawn = async (more: Partial<ImageOrder> = {}): Promise<Pixels> =>
  decodePng(await makeImage({ ...ORDER, ...more }));

/** How many pixels are about of a colour. */
function count({ pixels }: Pixels, colour: Colour, off = 12): number {
  let found = 0;
  for (let at = 0; at < pixels.length; at += 4)
    if (colour.every((value, i) => Math.abs(value - pixels[at + i]!) <= off)) found += 1;
  return found;
}

/** The box in which two images differ: left, top, right, bottom; `undefined` where they do not. */
function difference(one: Pixels, other: Pixels): readonly number[] | undefined {
  const [xs, ys]: [number[], number[]] = [[], []];
  for (let at = 0; at < one.pixels.length; at += 4)
    if ([0, 1, 2].some((i) => one.pixels[at + i] !== other.pixels[at + i])) {
      xs.push((at / 4) % one.width);
      ys.push(Math.floor(at / 4 / one.width));
    }
  if (xs.length === 0) return undefined;
  const least = (values: number[]): number => values.reduce((a, b) => Math.min(a, b));
  const most = (values: number[]): number => values.reduce((a, b) => Math.max(a, b));
  return [least(xs), least(ys), most(xs), most(ys)];
}

test("a prompt that has room stands there to its last word", async () => {
  const of = (prompt: string): Promise<Pixels> => drawn({ size: { width: 1024, height: 1024 }, prompt });
  const [sea, lake] = [
    await of("A lighthouse above a calm, wide sea"),
    await of("A lighthouse above a calm, wide lake"),
  ];
  const [, top = 0] = difference(sea, lake) ?? [];
  // On its second line.
  expect(top).toBeGreaterThan(800);
});

describe("an image shows", () => {
  test("its prompt: another one differs there, and nowhere else", async () => {
    const [left, top, right, bottom] = difference(await drawn(), await drawn({ prompt: "a red box" }))!;
    expect(top).toBeGreaterThan(240);
    expect([left! > 19, right! < 460, bottom! < 460]).toEqual([true, true, true]);
  });

  test("its model, its parameters, and which of how many it is", async () => {
    const first = await drawn();
    for (const more of [
      { model: "acme/two" },
      { facts: [["size", "480 × 481"]] as const },
      { ofMany: [1, 2] as const },
      { seed: "2" },
    ])
      expect(difference(first, await drawn(more))).toBeDefined();
    const [, , right, bottom] = difference(await drawn({ ofMany: [1, 2] }), await drawn({ ofMany: [2, 2] }))!;
    expect([right! > 400, bottom! < 80]).toEqual([true, true]);
  });

  test("a long prompt as far as there is room, and none at all", async () => {
    const long = await drawn({ prompt: "word ".repeat(6_000) });
    expect(difference(long, await drawn({ prompt: "word ".repeat(7_000) }))).toBeUndefined();
    expect(difference(long, await drawn({ prompt: "" }))).toBeDefined();
  });

  for (const format of ["png", "jpeg", "webp"] as const)
    test(`an image that was given as ${format}`, async () => {
      const input = await plain(RED, format);
      const references = [{ label: "image 1", input }] as const;
      expect(count(await drawn(), RED)).toBe(0);
      expect(count(await drawn({ references }), RED)).toBeGreaterThan(8_000);
    });

  test("sixteen of them, each smaller", async () => {
    const colours = Array.from({ length: 16 }, (_, i): Colour => [15 * i, 255 - 15 * i, (i * 97) % 256]);
    const references = await Promise.all(
      colours.map(async (colour, i) => ({ label: `image ${i + 1}`, input: await plain(colour) }) as const),
    );
    const image = await drawn({ references, size: { width: 1024, height: 1024 } });
    for (const colour of colours) expect(count(image, colour, 4)).toBeGreaterThan(1_000);
  });

  test("where an image is to be painted anew", async () => {
    const references = [{ label: "image 1", input: await plain(RED) }] as const;
    const whole = count(await drawn({ references, mask: await plain([0, 0, 0]) }), RED);
    const half = count(await drawn({ references, mask: halfOpen() }), RED);
    expect(whole).toBeGreaterThan(8_000);
    expect(Math.abs(half / whole - 0.5)).toBeLessThan(0.02);
  });

  test("the address of what it would have to fetch, without what may be secret in it", async () => {
    const at = (input: string): Promise<Pixels> => drawn({ references: [{ label: "image 1", input }] });
    const first = await at("https://images.example/a.png");
    expect(difference(await drawn(), first)).toBeDefined();
    expect(difference(first, await at("https://images.example/b.png"))).toBeDefined();
    expect(difference(first, await at("https://images.example/a.png?signature=abc#d"))).toBeUndefined();
  });

  test("something for what cannot be read: the image comes all the same", async () => {
    for (const input of [
      "data:image/png;base64,AAAA",
      "data:image/gif;base64,R0lGODlhAQABAAAAACw=",
      "data:,x",
      "data:",
    ])
      expect((await drawn({ references: [{ label: "image 1", input }] })).width).toBe(480);
    const cut = (await plain(RED)).slice(0, -400);
    const large = `data:image/png;base64,${btoa(
      atob((await plain(RED)).slice(22))
        .replace("\x00\x00\x01\x2c", "\x00\x00\xff\xff")
        .replace("\x00\x00\x00\xc8", "\x00\x00\xff\xff"),
    )}`;
    const seen = [cut, large].map((input) => drawn({ references: [{ label: "image 1", input }] }));
    expect(difference(...((await Promise.all(seen)) as [Pixels, Pixels]))).toBeDefined();
    const mask = "data:image/png;base64,AAAA";
    expect(difference(await drawn(), await drawn({ mask }))).toBeDefined();
  });

  test("what it can at any size", async () => {
    for (const [width, height] of [
      [1, 1],
      [3, 256],
      [256, 3],
      [16, 16],
      [96, 54],
      [144, 256],
    ] as const)
      expect(await drawn({ size: { width, height }, ofMany: [1, 4] })).toMatchObject({ width, height });
  });
});

describe("text", () => {
  const shown = async (text: string): Promise<unknown> => {
    const node = words("", text, { fontFamily: "Roboto", fontSize: 30, color: "#fff" });
    return Bun.hash(await render(node, { width: 60, height: 60 }, { format: "raw" }));
  };

  test("has a shape of its own for every letter of the alphabets that it knows", async () => {
    const letters =
      "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~" +
      "ÄÖÜäöüßéèêñçåøÅØæœŁłžőįđþð€£¥§©®«»–…БГДЖЗИЙЛПУФЦЧШЩЪЫЬЭЮЯбгджзийклпфцчшщъыьэюяΔΘΛΞΣΨΩαβγδεζηθλμξπρσςτφχψω";
    const drawn = new Set(await Promise.all(Array.from(letters, shown)));
    expect(drawn.size).toBe(Array.from(letters).length);
  });

  test("has a box with its number for any other character", async () => {
    const boxes = Array.from("漢字한ا🦊→\u0007\ud800");
    expect(new Set(await Promise.all(boxes.map(shown))).size).toBe(boxes.length);
  });

  test("of any kind is drawn", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary", maxLength: 60 }), async (prompt) => {
        expect((await drawn({ prompt, size: { width: 200, height: 120 } })).width).toBe(200);
      }),
      runsOf(50),
    );
  });
});

/** A PNG of 300 by 200 pixels whose left half is transparent. */
function halfOpen(): string {
  const row = Buffer.alloc(1 + 300 * 4);
  for (let x = 150; x < 300; x += 1) row[1 + x * 4 + 3] = 255;
  const chunk = (name: string, data: Uint8Array): Buffer => {
    const named = Buffer.concat([Buffer.from(name), data]);
    const around = Buffer.alloc(8);
    around.writeUInt32BE(data.length, 0);
    around.writeUInt32BE(crc32(named), 4);
    return Buffer.concat([around.subarray(0, 4), named, around.subarray(4)]);
  };
  const head = Buffer.from([0, 0, 1, 44, 0, 0, 0, 200, 8, 6, 0, 0, 0]);
  const rows = Buffer.concat(Array.from({ length: 200 }, () => row));
  const parts = [chunk("IHDR", head), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))];
  return `data:image/png;base64,${Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), ...parts]).toString("base64")}`;
}
