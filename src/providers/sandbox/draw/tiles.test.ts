import { describe, expect, test } from "bun:test";
import { createCanvas, wordOf } from "./canvas.ts";
import type { Palette } from "./landscape.ts";
import { drawTiles, type Tile } from "./tiles.ts";

const NEAR = [200, 10, 10] as const;

/** Where something was painted in the colour of icons: the first and the last column and row. */
function iconIn(width: number, height: number, kind: Tile["kind"]) {
  const canvas = createCanvas({ width, height });
  const palette = { skyBottom: [20, 60, 200], near: NEAR } as unknown as Palette;
  drawTiles(canvas, [{ label: "", kind, shown: "" }], {
    area: { x: 0, y: 0, width, height },
    unit: 10,
    palette,
  });
  const at = [...canvas.words.keys()].filter((i) => canvas.words[i] === wordOf(NEAR));
  const columns = at.map((i) => i % width);
  const rows = at.map((i) => Math.floor(i / width));
  const span = (values: readonly number[]) => [Math.min(...values), Math.max(...values)] as const;
  return { columns: span(columns), rows: span(rows) };
}

describe("what cannot be seen is an icon in the middle of its box", () => {
  for (const [width, height] of [
    [200, 200],
    [300, 160],
    [160, 300],
  ] as const)
    for (const kind of ["image", "video"] as const)
      test(`of a given ${kind}, ${width} by ${height}`, () => {
        const { columns, rows } = iconIn(width, height, kind);
        expect(Math.abs(columns[0] + columns[1] - (width - 1))).toBeLessThanOrEqual(2);
        // Its frame is five to four; the line about it has its corners cut by a shade.
        const [across, down] = [columns[1] - columns[0] + 1, rows[1] - rows[0] + 1];
        expect(Math.abs(across / down - 1.25)).toBeLessThan(0.1);
        expect(rows[0]).toBeGreaterThan(0);
        expect(rows[1]).toBeLessThan(height - 1);
      });
});
