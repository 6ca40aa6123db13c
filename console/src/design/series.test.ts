import { expect, test } from "bun:test";
import { withoutNeighbour, coloursOf, MOST_SERIES, REST } from "./series.ts";

test("a thing keeps its colour from chart to chart", () => {
  const [first] = coloursOf(["a", "b"]);
  expect(coloursOf(["c", "a"])[1]).toBe(first);
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
