import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { runsOf } from "../../../test/runs.ts";
import { type Member, openScan, readMembers } from "./json-scan.ts";
import { applyEdits, editedPieces, type MemberChange, objectEdits, setMembers } from "./json-splice.ts";

const RUNS = runsOf(1_500, 20_000);
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const space = fc.constantFrom("", "", " ", "\n", "\t ", "\r\n");
const valueText = fc.oneof(
  fc.jsonValue({ maxDepth: 1 }).map((value) => JSON.stringify(value)),
  fc.constantFrom("1.50", "1e3", "-0", "9007199254740993", '"\\u0041"', "[ 1 , 2 ]", '{ "a" : 1 }'),
);

type Fate = "keep" | "remove" | "replace" | "rename" | "both";

interface Piece {
  readonly value: string;
  readonly fate: Fate;
  /** White space before the key, before and after the colon, and before the comma. */
  readonly spaces: readonly string[];
}

const piece: fc.Arbitrary<Piece> = fc.record({
  value: valueText,
  fate: fc.constantFrom<Fate>("keep", "keep", "remove", "remove", "replace", "rename", "both"),
  spaces: fc.array(space, { minLength: 4, maxLength: 4 }),
});

function splice(pieces: readonly Piece[], tail: string, added: number): { before: string; after: string } {
  const members = pieces.map(
    ({ value, spaces: [a = "", b = "", c = "", d = ""] }, i) => `${a}"k${i}"${b}:${c}${value}${d}`,
  );
  const before = ` {${members.join(",")}${tail}} `;
  const bytes = encoder.encode(before);
  const found = readMembers(openScan(bytes)) as Member[];
  const of = (...fates: Fate[]): Member[] =>
    found.filter((_, i) => fates.includes((pieces[i] as Piece).fate));
  const change = (_name: string, member: Member): MemberChange => ({
    isRemoved: of("remove").includes(member),
    ...(of("replace", "both").includes(member) ? { text: '"new"' } : {}),
    ...(of("rename", "both").includes(member) ? { key: `"renamed${found.indexOf(member)}"` } : {}),
  });
  const append = Array.from({ length: added }, (_, i) => `"added${i}":${i}`);
  const after = applyEdits(
    bytes,
    objectEdits({ bytes }, found, change, () => append),
  );
  return { before, after: decoder.decode(after) };
}

test("a splice is the same change made on the parsed value, in the same order", () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 7 }), space, fc.nat(2), (pieces, tail, added) => {
      const want: [string, unknown][] = pieces.flatMap(({ value, fate }, i) => {
        if (fate === "remove") return [];
        const key = fate === "rename" || fate === "both" ? `renamed${i}` : `k${i}`;
        return [[key, fate === "replace" || fate === "both" ? "new" : JSON.parse(value)]];
      });
      for (let i = 0; i < added; i += 1) want.push([`added${i}`, i]);
      const { after } = splice(pieces, tail, added);
      expect(Object.entries(JSON.parse(after))).toEqual(want);
    }),
    RUNS,
  );
});

test("a member that is not named keeps its bytes, and so does what stands around the object", () => {
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 7 }), space, fc.nat(2), (pieces, tail, added) => {
      const { before, after } = splice(pieces, tail, added);
      pieces.forEach(({ value, fate, spaces: [, b = "", c = ""] }, i) => {
        if (fate === "keep") expect(after).toContain(`"k${i}"${b}:${c}${value}`);
      });
      expect(after.startsWith(" {")).toBe(true);
      expect(after.endsWith("} ")).toBe(true);
      const untouched = added === 0 && pieces.every(({ fate }) => fate === "keep");
      if (untouched) expect(after).toBe(before);
    }),
    RUNS,
  );
});

test("every set of members can be taken out of every object of five, with and without one added", () => {
  for (let set = 0; set < 32; set += 1) {
    for (const added of [0, 1]) {
      const pieces = Array.from({ length: 5 }, (_, i): Piece => ({
        value: String(i),
        fate: (set >> i) & 1 ? "remove" : "keep",
        spaces: [" ", "", " ", ""],
      }));
      const kept = pieces.filter(({ fate }) => fate === "keep").map(({ value }) => `k${value}`);
      const want = added === 1 ? [...kept, "added0"] : kept;
      expect(Object.keys(JSON.parse(splice(pieces, " ", added).after))).toEqual(want);
    }
  }
});

describe("at the edges", () => {
  const cases = [
    { name: "an empty object takes a member", text: "{}", append: ['"a":1'], want: '{"a":1}' },
    { name: "white space in an empty object stays", text: "{ \n}", append: ['"a":1'], want: '{"a":1 \n}' },
    { name: "the first goes with its comma", text: '{"a":1, "b":2}', remove: ["a"], want: '{"b":2}' },
    { name: "the middle goes", text: '{"a":1, "b":2, "c":3}', remove: ["b"], want: '{"a":1, "c":3}' },
    { name: "the last goes with the comma before", text: '{"a":1, "b":2 }', remove: ["b"], want: '{"a":1 }' },
    { name: "the only one goes", text: '{ "a":1 }', remove: ["a"], want: "{  }" },
    {
      name: "all go and one comes",
      text: '{"a":1,"b":2}',
      remove: ["a", "b"],
      append: ['"c":3', '"d":4'],
      want: '{"c":3,"d":4}',
    },
    {
      name: "one goes at the end and one comes",
      text: '{"a":1,"b":2}',
      remove: ["b"],
      append: ['"c":3'],
      want: '{"a":1,"c":3}',
    },
  ];
  for (const { name, text, remove = [], append = [], want } of cases) {
    test(name, () => {
      const bytes = encoder.encode(text);
      const members = readMembers(openScan(bytes)) as Member[];
      const change = (name: string): MemberChange => ({ isRemoved: remove.includes(name) });
      const edits = objectEdits({ bytes }, members, change, () => append);
      expect(decoder.decode(applyEdits(bytes, edits))).toBe(want);
    });
  }

  test("no change gives the very bytes back", () => {
    const bytes = encoder.encode('{"a":1}');
    expect(applyEdits(bytes, [])).toBe(bytes);
    expect(setMembers(bytes, {})).toBe(bytes);
    const list = encoder.encode("[]");
    expect(setMembers(list, {})).toBe(list);
  });
});

describe("members are set wherever they stand, else at the end", () => {
  const values = { usage: '{"n":1}', credit: "0.5" };
  const cases: readonly (readonly [object: string, want: string])[] = [
    ["{}", '{"usage":{"n":1},"credit":0.5}'],
    ['{ "a" : 1.50 }', '{ "a" : 1.50,"usage":{"n":1},"credit":0.5 }'],
    ['{"credit":9,"a":1}', '{"credit":0.5,"a":1,"usage":{"n":1}}'],
    // A reader that takes the last of two must not see the one that was not ours.
    ['{"credit":8,"usage":{},"\\u0063redit":9}', '{"credit":0.5,"usage":{"n":1},"\\u0063redit":0.5}'],
  ];
  for (const [object, want] of cases) {
    test(object, () => expect(decoder.decode(setMembers(encoder.encode(object), values))).toBe(want));
  }
});

test("edits of a text in pieces are those of the whole text, wherever it was cut", () => {
  const bytes = new TextEncoder().encode("0123456789");
  const edits = [
    { start: 0, end: 0, text: "<" },
    { start: 2, end: 4, text: "é" },
    { start: 4, end: 7, text: "" },
    { start: 10, end: 10, text: ">" },
  ];
  const whole = new TextDecoder().decode(applyEdits(bytes, edits));
  expect(whole).toBe("<01é789>");
  for (let first = 0; first <= 10; first += 1)
    for (let second = first; second <= 10; second += 1) {
      const pieces = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
      expect(Buffer.concat(editedPieces(pieces, edits)).toString()).toBe(whole);
    }
});
