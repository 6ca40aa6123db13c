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

/** A memory as a browser's, and what it keeps. */
function memoryOf(text?: string) {
  const kept = new Map(text === undefined ? [] : [["switchyard-colours", text]]);
  return {
    kept,
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => void kept.set(name, value),
  };
}

test("with a memory a thing keeps its colour on every page, and without its name being kept", () => {
  const memory = memoryOf();
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
  expect([...memory.kept.values()].join()).not.toContain("model");
});

test("where there are more things than colours, the one that was not drawn for longest gives its colour away", () => {
  const memory = memoryOf();
  const before = coloursOf(NAMES, MOST_COLOURS, memory);
  const drawn = NAMES.slice(0, MOST_SERIES);
  coloursOf(drawn, MOST_COLOURS, memory);
  for (const late of ["late/a", "late/b", "late/c"]) {
    const chart = coloursOf([late, ...drawn], MOST_COLOURS, memory);
    expect(new Set(chart.values()).size).toBe(MOST_SERIES + 2);
    for (const name of drawn) expect(chart.get(name)).toBe(before.get(name) ?? "");
    // The other pages have the new one in the same colour.
    expect(coloursOf([late], MOST_COLOURS, memory).get(late)).toBe(chart.get(late) ?? "");
  }
});

test("no two things of a chart are tones of one colour while there are others, and the plain tones come first", () => {
  const memory = memoryOf();
  const hues = (names: readonly string[]): readonly number[] =>
    [...coloursOf(names, MOST_COLOURS, memory).values()].flatMap((colour) => {
      const [, place] = /series-(\d+)/.exec(colour) ?? [];
      return place === undefined ? [] : [(Number(place) - 1) % MOST_SERIES];
    });
  const first = [...coloursOf(NAMES.slice(0, MOST_SERIES), MOST_COLOURS, memory).values()];
  for (let at = 1; at <= MOST_SERIES; at += 1) expect(first).toContain(`var(--series-${at})`);
  const next = hues(NAMES.slice(MOST_SERIES, 2 * MOST_SERIES));
  expect(new Set(next).size).toBe(MOST_SERIES);
});

test("a memory that is broken, or that refuses, is as one that is empty", () => {
  const fresh = coloursOf(NAMES, MOST_COLOURS, memoryOf());
  const broken = [
    "",
    "{",
    "null",
    "7",
    '"text"',
    "{}",
    "[1]",
    "[null]",
    "[[1]]",
    '[["1","2"]]',
    "[[1,-1]]",
    "[[1,0.5]]",
    "[[1,1e9]]",
    "[[1,2,3]]",
    "[[1,2],[3,2]]",
    "[[1,2],[1,3]]",
    '[[1,"</style><script>alert(1)</script>"]]',
    '{"__proto__":[]}',
    "[".repeat(50_000),
  ];
  for (const text of broken) {
    const memory = memoryOf(text);
    expect([text.slice(0, 50), coloursOf(NAMES, MOST_COLOURS, memory)]).toEqual([text.slice(0, 50), fresh]);
    expect(JSON.parse(memory.kept.get("switchyard-colours") ?? "").length).toBe(MOST_COLOURS);
  }
  const refusing = {
    getItem: (): never => {
      throw new DOMException("no access", "SecurityError");
    },
    setItem: (): never => {
      throw new DOMException("no room", "QuotaExceededError");
    },
  };
  expect(coloursOf(NAMES, MOST_COLOURS, refusing)).toEqual(fresh);
});
