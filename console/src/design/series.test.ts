import { expect, test } from "bun:test";
import { join } from "node:path";
import { colourIn, withoutNeighbour, coloursOf, MOST_SERIES, REST } from "./series.ts";

test("a thing of a list keeps its colour, whatever stands beside it and in whichever order charts are drawn", () => {
  const list = Array.from({ length: 3 * MOST_SERIES }, (_, at) => `vendor/model-${at}`);
  const colours = list.map((name) => colourIn(list, name));
  expect(new Set(colours).size).toBe(list.length);
  expect(list.toReversed().map((name) => colourIn(list, name))).toEqual(colours.toReversed());
});

test("a thing that the list has no more has a colour by its name", () => {
  expect(colourIn(["a"], "gone")).toBe(colourIn(["a", "b"], "gone"));
  expect(colourIn(["a"], REST)).toBe("var(--series-rest)");
});

test("a chart without a list gives the same names the same colours", () => {
  coloursOf(["z", "y", "x"]);
  expect(coloursOf(["a", "b"])).toEqual(coloursOf(["a", "b"]));
});

test("each colour of a list is a token", async () => {
  const tokens = await Bun.file(join(import.meta.dirname, "tokens.css")).text();
  const list = Array.from({ length: 3 * MOST_SERIES }, (_, at) => `${at}`);
  for (const name of list) expect(tokens).toContain(`--${colourIn(list, name).slice(6, -1)}:`);
});

test("no two things of a chart have one colour", () => {
  const names = Array.from({ length: 3 * MOST_SERIES }, (_, at) => `thing ${at}`);
  coloursOf(names);
  const some = names.filter((_, at) => at % 3 === 0);
  expect(new Set(coloursOf(some)).size).toBe(MOST_SERIES);
});

test("what is left over has a colour of its own", () => {
  expect(coloursOf(["a", REST]).at(-1)).toBe("var(--series-rest)");
});

test("values without a neighbour are points, and no others", () => {
  expect(withoutNeighbour([1, null, 2, 3, null, undefined, 0])).toEqual([0, 6]);
  expect(withoutNeighbour([5])).toEqual([0]);
  expect(withoutNeighbour([null, 1, 2])).toEqual([]);
});
