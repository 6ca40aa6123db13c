import { expect, test } from "bun:test";
import { createChance } from "../chance.ts";
import { chooseColours, landscapeSvg } from "./landscape.ts";

const SIZE = { width: 480, height: 320 };
const svgOf = (seed: string): string => {
  const chance = createChance(seed);
  return landscapeSvg(SIZE, chooseColours(chance), chance);
};
const numbers = (text: string, name: string): readonly number[] =>
  [...text.matchAll(new RegExp(` ${name}="(-?[\\d.]+)"`, "g"))].map(([, value]) => Number(value));

test("a landscape is the same for the same seed, another for another", () => {
  expect(svgOf("a")).toBe(svgOf("a"));
  expect(svgOf("a")).not.toBe(svgOf("b"));
});

test("five rows of hills reach from edge to edge, the nearer the darker and the lower", () => {
  for (let seed = 0; seed < 20; seed += 1) {
    const svg = svgOf(String(seed));
    const rows = svg.match(/<g .*?<\/g>/g) ?? [];
    expect(rows).toHaveLength(5);
    const opacities = rows.map((row) => numbers(row, "opacity")[0]!);
    expect(opacities).toEqual(opacities.toSorted((a, b) => a - b));
    expect([opacities[0]! < 0.2, opacities[4]]).toEqual([true, 0.92]);
    const tops = rows.map((row) => {
      const [at, widths, heights] = [numbers(row, "cx"), numbers(row, "rx"), numbers(row, "ry")];
      expect(at).toEqual(at.toSorted((a, b) => a - b));
      expect([at[0]! - widths[0]! < 0, at.at(-1)! + widths.at(-1)! > SIZE.width]).toEqual([true, true]);
      expect(numbers(row, "cy").every((y) => y === SIZE.height)).toBe(true);
      return heights.reduce((sum, height) => sum + height) / heights.length;
    });
    expect(tops).toEqual(tops.toSorted((a, b) => b - a));
  }
});

test("the sun stands in the sky, within two rings of its light", () => {
  for (let seed = 0; seed < 20; seed += 1) {
    const circles = svgOf(String(seed)).match(/<circle.*?\/>/g) ?? [];
    expect(circles).toHaveLength(3);
    const [x, y] = [numbers(circles[2]!, "cx")[0]!, numbers(circles[2]!, "cy")[0]!];
    expect([x >= 0.18 * 480, x <= 0.82 * 480, y >= 0.16 * 320, y <= 0.44 * 320].includes(false)).toBe(false);
    const radii = circles.map((circle) => numbers(circle, "r")[0]!);
    expect(radii).toEqual(radii.toSorted((a, b) => b - a));
    expect(circles.map((circle) => numbers(circle, "opacity")[0])).toEqual([0.1, 0.14, 1]);
  }
});

test("colours are ones that CSS has, dark near and light in the sun", () => {
  for (let seed = 0; seed < 50; seed += 1) {
    const { near, sun, ...others } = chooseColours(createChance(String(seed)));
    for (const colour of [near, sun, ...Object.values(others)]) {
      const [, hue, saturation, lightness] = /^hsl\((\d+), (\d+)%, (\d+)%\)$/.exec(colour) ?? [];
      expect([colour, Number(hue) < 360, Number(saturation) <= 100, Number(lightness) <= 100]).toEqual([
        colour,
        true,
        true,
        true,
      ]);
    }
    expect([near.endsWith("46%, 13%)"), sun.endsWith("96%, 88%)")]).toEqual([true, true]);
  }
});
