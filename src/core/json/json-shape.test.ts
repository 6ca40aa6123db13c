import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { jsonText } from "../../../test/core/json-text.ts";
import { runsOf } from "../../../test/runs.ts";
import { openScan, readMembers, skipSpace, skipValue } from "./json-scan.ts";
import { countMembers, countValues, eachPart, namesInOrder, readShape } from "./json-shape.ts";

const RUNS = runsOf(1_500, 20_000);
const ROOMY = { depth: 64, values: 10_000 };
const encoder = new TextEncoder();
const shapeOf = (text: string, bounds = ROOMY) => readShape(encoder.encode(text), bounds);

/** Strings in which quotes and backslashes stand near the end and far from it, or in a row. */
const hardString = fc
  .array(fc.constantFrom("\\", '"', "\\\\", "{", "}", "[", ":", ",", "é", "a".repeat(11), "b".repeat(40)))
  .map((pieces) => pieces.join(""));

describe("the shape of a text is that which the validating scanner finds", () => {
  test("members of the whole object, in any spelling", () => {
    fc.assert(
      fc.property(fc.array(jsonText, { maxLength: 4 }), (texts) => {
        const text = ` {${texts.map((value, i) => ` "k${i}" : ${value}`).join(",")}\n} `;
        expect(shapeOf(text)?.members as unknown).toEqual(readMembers(openScan(encoder.encode(text))));
      }),
      RUNS,
    );
  });

  test("members of all objects, as many as the parsed value has where no key stands twice", () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const whole = `{"a":${text}}`;
        expect(shapeOf(whole)?.memberCount).toBe(countMembers(JSON.parse(whole)));
      }),
      RUNS,
    );
  });

  test("strings with escapes at any place", () => {
    fc.assert(
      fc.property(fc.array(hardString, { maxLength: 5 }), (strings) => {
        const text = JSON.stringify(Object.fromEntries(strings.map((value, i) => [`${value}${i}`, value])));
        expect(shapeOf(text)?.members as unknown).toEqual(readMembers(openScan(encoder.encode(text))));
      }),
      RUNS,
    );
  });
});

describe("a key that stands twice makes fewer members than the text has", () => {
  for (const text of [
    '{"a":1,"a":2}',
    '{"a":1,"\\u0061":2}',
    '{"x":[{"a":{"b":0,"b":1}}]}',
    '{"__proto__":1,"__proto__":2}',
    '{"1":0,"1":0}',
  ])
    test(text, () => expect(countMembers(JSON.parse(text))).toBe((shapeOf(text)?.memberCount ?? 0) - 1));

  for (const text of ['{"__proto__":{"a":1}}', '{"toString":1,"constructor":{}}', '{"":1," ":2}', "{}"])
    test(`and not in ${text}`, () =>
      expect(countMembers(JSON.parse(text))).toBe(shapeOf(text)?.memberCount as number));
});

describe("bounds", () => {
  test("are kept and broken where the validating scanner says so", () => {
    fc.assert(
      fc.property(jsonText, fc.integer({ min: 1, max: 5 }), fc.nat(12), (text, depth, values) => {
        const whole = encoder.encode(`{"a":${text}}`);
        const isWithin = readMembers(openScan(whole, whole.length, depth, values)) !== undefined;
        expect(readShape(whole, { depth, values }) !== undefined).toBe(isWithin);
      }),
      RUNS,
    );
  });

  test("of a value of any kind too, whose values are counted alike", () => {
    fc.assert(
      fc.property(jsonText, fc.integer({ min: 1, max: 5 }), fc.nat(12), (text, depth, values) => {
        const whole = encoder.encode(` ${text} `);
        const scan = openScan(whole, whole.length, depth, values);
        skipValue(scan, skipSpace(scan, 0));
        const counted = countValues(whole, { depth, values });
        expect(counted).toBe(scan.failure === "" ? scan.values : undefined);
      }),
      RUNS,
    );
  });

  test("end the reading of a million levels and of a million values", () => {
    expect(shapeOf("[".repeat(1_000_000))).toBeUndefined();
    expect(shapeOf(`{"a":[${"1,".repeat(1_000_000)}1]}`)).toBeUndefined();
  });
});

test("a bound is the most that is taken, of values and of levels", () => {
  const kept = (text: string, depth: number, values: number) => [
    shapeOf(text, { depth, values })?.memberCount,
    countValues(encoder.encode(text), { depth, values }),
  ];
  expect(kept('{"a":[]}', 2, 2)).toEqual([1, 2]);
  expect(kept('{"a":[]}', 2, 1)).toEqual([undefined, undefined]);
  expect(kept('{"a":[]}', 1, 2)).toEqual([undefined, undefined]);
  expect(kept('{"a":1,"b":2}', 1, 3)).toEqual([2, 3]);
  expect(kept('{"a":1,"b":2}', 1, 2)).toEqual([undefined, undefined]);
});

test("what is no object has no shape, and its values are counted all the same", () => {
  for (const [text, values] of [
    ["[1,2]", 3],
    ['"a"', 1],
    ["7", 1],
    ["null", 1],
  ] as const)
    expect([shapeOf(text), countValues(encoder.encode(text), ROOMY)]).toEqual([undefined, values]);
});

test("the parts of an object or a list within a text are visited in order, with their keys", () => {
  const bytes = encoder.encode('[0,{"a" : [1, 2],"b":"x"} ]');
  const partsAt = (at: number): string[] => {
    const parts: string[] = [];
    eachPart(bytes, at, (...offsets) => {
      const [keyStart, keyEnd, valueStart, valueEnd] = offsets;
      const text = (from: number, to: number): string => Buffer.from(bytes.subarray(from, to)).toString();
      parts.push(`${text(keyStart, keyEnd)}=${text(valueStart, valueEnd)}`);
    });
    return parts;
  };
  expect(partsAt(0)).toEqual(["=0", '={"a" : [1, 2],"b":"x"}']);
  expect(partsAt(3)).toEqual(['"a"=[1, 2]', '"b"="x"']);
});

describe("white space", () => {
  for (const [text, isCompact] of [
    ['{"a":[1,{"b":"x y"}]}', true],
    [' { "a" : [1] , "b" : {} } ', true],
    ['{"a":[1, 2]}', false],
    ['{"a":{"b" :2}}', false],
    ['{"a":[\t]}', false],
    ['{"a":[\n]}', false],
    ['{"a":[\r]}', false],
  ] as const)
    test(`${JSON.stringify(text)} has ${isCompact ? "none" : "some"} within the values of its members`, () =>
      expect(shapeOf(text)?.isCompact).toBe(isCompact));
});

test("the names of a value are those of its text, where none stands twice or is a number", () => {
  const names = (value: Record<string, unknown>, count: number) => namesInOrder(value, count);
  expect(names({ b: 1, a: 2 }, 2)).toEqual(["b", "a"]);
  expect(names({}, 0)).toEqual([]);
  expect(names({ b: 1, a: 2 }, 3)).toBeUndefined();
  expect(names({ b: 1, 7: 2 }, 2)).toBeUndefined();
});

test("a string that does not end goes to the end of the text", () => {
  for (const text of ['{"', '{"a', '{"a\\', '{"a":"', '{"a":"b', '{"a":"b\\"', `{"a":"${"b".repeat(99)}`])
    expect([text, shapeOf(text)?.memberCount]).toEqual([text, 1]);
});

test("text that is no JSON is read to its end, whatever comes of it", () => {
  for (const text of ["", "}", "]]", ":", ",", '{"a', '{"a\\', '"', "{:,}", '{"a":}', "\\", "{,:"])
    expect(() => shapeOf(text)).not.toThrow();
});

test("the time for a string grows with its length, however many quotes and backslashes are in it", () => {
  const text = JSON.stringify({ a: `${"\\".repeat(200_000)}"`.repeat(3) + '"'.repeat(300_000) });
  expect(shapeOf(text)?.memberCount).toBe(1);
});
