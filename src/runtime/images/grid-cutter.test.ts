import { expect, test } from "bun:test";
import { decodePng } from "./decode-png.ts";
import { encodePng } from "./encode-png.ts";
import { cutGrid } from "./cut-grid.ts";
import { createGridCutter } from "./grid-cutter.ts";
import type { Pixels } from "./pixels.ts";

const { cut } = createGridCutter();

/** An image whose every pixel says where it stood. */
function chart(width: number, height: number): Pixels {
  const pixels = new Uint8Array(width * height * 4);
  for (let at = 0; at < width * height; at += 1)
    pixels.set([at % width, Math.floor(at / width), 7, 255], at * 4);
  return { width, height, pixels };
}

const cornersOf = (file: Uint8Array): number[][] => {
  const { width, height, pixels } = decodePng(file);
  const at = (x: number, y: number): number[] =>
    Array.from(pixels.subarray((y * width + x) * 4, (y * width + x) * 4 + 2));
  return [[width, height], at(0, 0), at(width - 1, height - 1)];
};

test("a grid is cut into its images, row by row, and each pixel is where it was", async () => {
  const files = await cut(encodePng(chart(6, 4)), { columns: 2, rows: 2 });
  expect(files.map(cornersOf)).toEqual([
    [
      [3, 2],
      [0, 0],
      [2, 1],
    ],
    [
      [3, 2],
      [3, 0],
      [5, 1],
    ],
    [
      [3, 2],
      [0, 2],
      [2, 3],
    ],
    [
      [3, 2],
      [3, 2],
      [5, 3],
    ],
  ]);
});

test("what is left over at the edges belongs to none, and all images have one size", async () => {
  const files = await cut(encodePng(chart(7, 5)), { columns: 2, rows: 2 });
  expect(files.map((file) => cornersOf(file)[0])).toEqual(Array.from({ length: 4 }, () => [3, 2]));
});

test("grids that are cut at once come out whole, each its own", async () => {
  const sizes = [4, 8, 12];
  const all = await Promise.all(
    sizes.map((size) => cut(encodePng(chart(size, size)), { columns: 2, rows: 1 })),
  );
  expect(all.map((files) => files.map((file) => cornersOf(file)[0]))).toEqual(
    sizes.map((size) => Array.from({ length: 2 }, () => [size / 2, size])),
  );
});

test("what is no whole image, or too small, is refused, and the next is cut all the same", async () => {
  const whole = encodePng(chart(8, 8));
  const grid = { columns: 2, rows: 2 };
  for (const bad of [
    whole.slice(0, 60),
    new TextEncoder().encode("<html>"),
    encodePng(chart(1, 1)),
    new Uint8Array(),
  ])
    expect(await cut(bad, grid).catch(String)).toContain("could not be cut");
  expect(await cut(whole, grid)).toHaveLength(4);
});

test("an image of more than forty million pixels is not decoded", async () => {
  const sized = (width: number, height: number): Uint8Array<ArrayBuffer> => {
    const file = Uint8Array.from(encodePng(chart(8, 8)));
    new DataView(file.buffer).setUint32(16, width);
    new DataView(file.buffer).setUint32(20, height);
    return file;
  };
  const reasonOf = (file: Uint8Array<ArrayBuffer>): Promise<string> =>
    cutGrid(file, { columns: 1, rows: 1 }).then(
      () => "",
      (error: Error) => error.message,
    );
  const unfit = "it is no image of a fitting size";
  expect(await reasonOf(sized(1, 40_000_001))).toBe(unfit);
  expect(await reasonOf(sized(40_000_001, 1))).toBe(unfit);
  expect(await reasonOf(sized(8_000, 5_001))).toBe(unfit);
  // Its head alone is right.
  expect(await reasonOf(sized(8_000, 5_000))).not.toBe(unfit);
});
