import { expect, test } from "bun:test";
import { join } from "node:path";
import { coloursOf, MOST_COLOURS, MOST_SERIES, REST, withoutNeighbour } from "./series.ts";

const NAMES = Array.from({ length: MOST_COLOURS }, (_, at) => `vendor/model-${at}`);

test("the same names have the same colours, in whichever order they come and whatever was drawn before", () => {
  const colours = coloursOf(NAMES, MOST_COLOURS);
  coloursOf(["z", "y", "x"], MOST_COLOURS);
  expect(coloursOf(NAMES.toReversed(), MOST_COLOURS)).toEqual(colours);
});

test("a thing keeps its colour when others come, but for one that has it already", () => {
  const few = NAMES.slice(0, 8);
  const before = coloursOf(few, MOST_COLOURS);
  for (const more of NAMES.slice(8)) {
    const after = coloursOf([...few, more], MOST_COLOURS);
    const others = few.filter((name) => after.get(name) !== before.get(name));
    // The new one has the colour that the first of them had.
    if (others.length > 0) expect([...before.values()]).toContain(after.get(more) ?? "");
  }
});

test("each colour is a token", async () => {
  const tokens = await Bun.file(join(import.meta.dirname, "tokens.css")).text();
  for (const colour of coloursOf(NAMES, MOST_COLOURS).values())
    expect(tokens).toContain(`--${colour.slice(6, -1)}:`);
});

test("no two things of a chart have one colour", () => {
  const of = (names: readonly string[], most: number) =>
    names.map((name) => coloursOf(names, most).get(name));
  expect(new Set(of(NAMES, MOST_COLOURS)).size).toBe(MOST_COLOURS);
  const some = NAMES.filter((_, at) => at % 3 === 0);
  expect(new Set(of(some, MOST_SERIES)).size).toBe(MOST_SERIES);
});

test("what is left over has a colour of its own", () => {
  expect(coloursOf(["a", REST]).get(REST)).toBe("var(--series-rest)");
});

test("values without a neighbour are points, and no others", () => {
  expect(withoutNeighbour([1, null, 2, 3, null, undefined, 0])).toEqual([0, 6]);
  expect(withoutNeighbour([5])).toEqual([0]);
  expect(withoutNeighbour([null, 1, 2])).toEqual([]);
});

test("with a memory a thing keeps its colour on every page, and without its name being kept", () => {
  const kept = new Map<string, string>();
  const memory = {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => void kept.set(name, value),
  };
  const seen = new Map<string, string>();
  for (const page of [NAMES.slice(9), NAMES.slice(0, 3), NAMES, NAMES.slice(5, 8).toReversed()])
    for (const [name, colour] of coloursOf(page, MOST_COLOURS, memory)) {
      expect([name, colour]).toEqual([name, seen.get(name) ?? colour]);
      seen.set(name, colour);
    }
  expect(new Set(seen.values()).size).toBe(MOST_COLOURS + 1);
  const [first = "", second = ""] = NAMES;
  const more = coloursOf([first, "one too many", second], MOST_COLOURS, memory);
  expect([more.get(first), more.get(second)]).toEqual([seen.get(first), seen.get(second)]);
  expect(new Set(more.values()).size).toBe(4);
  expect([...kept.values()].join()).not.toContain("model");
});
