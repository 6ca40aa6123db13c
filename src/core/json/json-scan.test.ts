import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { jsonText } from "../../../test/core/json-text.ts";
import { runsOf } from "../../../test/runs.ts";
import {
  BROKEN,
  eachItem,
  eachMember,
  keyIs,
  type JsonScan,
  memberName,
  openScan,
  readMembers,
  skipSpace,
  skipValue,
  findDuplicateKey,
  smallInteger,
} from "./json-scan.ts";

const RUNS = runsOf(1_500, 20_000);
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

const ODD_CHARACTERS = Array.from(
  "{}[],:\"\\/u0123456789+-.eEtrfalsn \t\n\r\u0000\u001f\u007f\u00a0\u2028\ufeffdA'",
);

/** What a careless or hostile writer makes of JSON: characters lost, put in, changed, and the end cut off. */
const damaged = fc
  .tuple(
    jsonText,
    fc.array(
      fc.tuple(
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.constantFrom("delete", "insert", "replace", "cut"),
        fc.constantFrom(...ODD_CHARACTERS),
      ),
      { minLength: 1, maxLength: 3 },
    ),
  )
  .map(([text, edits]) =>
    edits.reduce(
      (at, [where, what, character]) => damage(at, Math.floor(where * at.length), what, character),
      text,
    ),
  );

function damage(text: string, at: number, what: string, character: string): string {
  if (what === "cut") return text.slice(0, at);
  const rest = text.slice(what === "insert" ? at : at + 1);
  return text.slice(0, at) + (what === "delete" ? "" : character) + rest;
}

function scanAccepts(text: string): boolean {
  const scan = openScan(encoder.encode(text));
  const after = skipValue(scan, skipSpace(scan, 0));
  return after !== BROKEN && skipSpace(scan, after) === scan.end;
}

function parseAccepts(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe("a scan accepts exactly what JSON.parse accepts", () => {
  test("in every spelling of a value", () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        expect(parseAccepts(text)).toBe(true);
        expect(scanAccepts(text)).toBe(true);
      }),
      RUNS,
    );
  });

  test("in damaged text", () => {
    fc.assert(
      fc.property(damaged, (text) => {
        expect(scanAccepts(text)).toBe(parseAccepts(text));
      }),
      RUNS,
    );
  });

  test("at every place where a text can be cut", () => {
    const text = '{"a\\u0041":[-1.5e+3,true,{"b":null}],"c":"\\n\\"é😀","d":false,"e":0}';
    for (let end = 0; end <= text.length; end += 1) {
      const cut = text.slice(0, end);
      expect([cut, scanAccepts(cut)]).toEqual([cut, parseAccepts(cut)]);
    }
  });

  const odd = [
    "",
    " ",
    "01",
    "-",
    "-0",
    "1.",
    ".5",
    "1e",
    "1e+",
    "1E5",
    "+1",
    "NaN",
    "Infinity",
    '"\\b\\f\\n\\r\\t\\/\\\\\\""',
    ...["g", "v", "0", "a", "U0041"].map((letter) => `"\\${letter}"`),
    "1:2",
    "1/2",
    "1d5",
    "1f5",
    "txue",
    "trxe",
    "nxll",
    "fxlse",
    "falsx",
    "nul",
    "nulll",
    "tru",
    "[1,]",
    '{"a":1,}',
    "{a:1}",
    "{'a':1}",
    "[1]//",
    "/**/1",
    '"\\x41"',
    '"\\u00g0"',
    ...Array.from("/09:@AFG`afg", (digit) => `"\\u${digit}123"`),
    '"\\u12G4"',
    '"\\u123G"',
    '"\\uD800"',
    '"\t"',
    '"\u007f"',
    '"\u2028"',
    "\ufeff1",
    "1 2",
    "[]]",
    "\u00a01",
    "\u000b1",
    '{"a"}',
    '{"a":}',
    '{"a" 1}',
    '{"a"x1}',
    '{"a",1}',
    '{x":1}',
    '{"a":1 "b":2}',
    "[1 2]",
    '{"":0}',
  ];
  for (const text of odd) {
    test(`in ${JSON.stringify(text)}`, () => expect(scanAccepts(text)).toBe(parseAccepts(text)));
  }
});

test("text that is no JSON is told as that, not as text that is too deep or too much", () => {
  for (const text of [
    "",
    '{"a"}',
    '"\\x41"',
    '"a',
    '"\t"',
    "[1",
    "[1 2]",
    "-",
    "1.",
    "1e",
    "tru",
    "trux",
    "[,1]",
  ]) {
    const scan = openScan(encoder.encode(text));
    expect<unknown[]>([text, skipValue(scan, 0), scan.failure]).toEqual([text, BROKEN, "syntax"]);
  }
  const scan = openScan(encoder.encode('{"a":1}x'));
  expect<unknown[]>([readMembers(scan), scan.failure]).toEqual([undefined, "syntax"]);
});

test("bytes after the end of the scan are not part of the text", () => {
  const bytes = encoder.encode('[1,"a"]');
  for (let end = 0; end < bytes.length; end += 1) {
    const scan = openScan(bytes, end);
    expect([end, skipValue(scan, skipSpace(scan, 0))]).toEqual([end, BROKEN]);
  }
  const texts = [
    "true",
    "null",
    "-1",
    "1.5",
    "1e5",
    '"\\n"',
    '"\\u00e9"',
    '{"a":1}',
    "[]",
    "{}",
    "[[]]",
    '{"a":{}}',
  ];
  for (const text of texts)
    for (let end = 0; end < text.length; end += 1) {
      const whole = openScan(encoder.encode(text), end);
      const isNumber = /^-?\d+(\.\d+)?$/.test(text.slice(0, end));
      expect([text, end, skipValue(whole, 0)]).toEqual([text, end, isNumber ? end : BROKEN]);
    }
});

/** Rebuilds a value from the spans that the visitors are given. */
function rebuild(scan: JsonScan, at: number, end: number): unknown {
  const text = decoder.decode(scan.bytes.subarray(at, end));
  if (text.startsWith("[")) {
    const items: unknown[] = [];
    const after = eachItem(scan, at, (from, to) => items.push(rebuild(scan, from, to)));
    expect(after).toBe(end);
    return items;
  }
  if (text.startsWith("{")) {
    const members: [string, unknown][] = [];
    const after = eachMember(scan, at, (keyStart, keyEnd, from, to) => {
      members.push([memberName(scan.bytes, keyStart, keyEnd), rebuild(scan, from, to)]);
    });
    expect(after).toBe(end);
    return Object.fromEntries(members);
  }
  return JSON.parse(text);
}

test("the spans of members and items are exactly their values, names with escapes resolved", () => {
  fc.assert(
    fc.property(jsonText, (text) => {
      const scan = openScan(encoder.encode(text));
      const at = skipSpace(scan, 0);
      expect(rebuild(scan, at, skipValue(scan, at))).toEqual(JSON.parse(text));
    }),
    { ...RUNS, numRuns: Math.floor(RUNS.numRuns / 3) },
  );
});

const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

describe("limits", () => {
  const cases = [
    { name: "as deep as allowed", text: nested(8), failure: "" },
    { name: "one level too deep", text: nested(9), failure: "depth" },
    { name: "objects as deep as allowed", text: `${'{"a":'.repeat(8)}1${"}".repeat(8)}`, failure: "" },
    { name: "objects count like arrays", text: `${'{"a":'.repeat(9)}1${"}".repeat(9)}`, failure: "depth" },
    { name: "a million levels, without a stack overflow", text: "[".repeat(1_000_000), failure: "depth" },
    { name: "as many values as allowed", text: `[${"0,".repeat(18)}0]`, failure: "" },
    { name: "one value too many", text: `[${"0,".repeat(19)}0]`, failure: "values" },
    { name: "a million members", text: `{${'"a":1,'.repeat(1_000_000)}"b":1}`, failure: "values" },
    { name: "bad syntax is told from a limit", text: "[1,}", failure: "syntax" },
  ] as const;
  for (const { name, text, failure } of cases) {
    test(`${name}: ${failure === "" ? "accepted" : failure}`, () => {
      const scan = openScan(encoder.encode(text), undefined, 8, 20);
      expect(skipValue(scan, 0) === BROKEN).toBe(failure !== "");
      expect(scan.failure).toBe(failure);
    });
  }

  test("128 levels are taken where no limit is told, and as many values as there are", () => {
    for (const [depth, failure] of [
      [128, ""],
      [129, "depth"],
    ] as const) {
      const scan = openScan(encoder.encode(nested(depth)));
      skipValue(scan, 0);
      expect<unknown[]>([depth, scan.failure]).toEqual([depth, failure]);
    }
  });

  test("what is gone over item by item or member by member is one level of its own", () => {
    for (const [depth, failure] of [
      [8, ""],
      [9, "depth"],
    ] as const) {
      const items = openScan(encoder.encode(nested(depth)), undefined, 8, 20);
      eachItem(items, 0, () => {});
      const members = openScan(encoder.encode(`{"a":${nested(depth - 1)}}`), undefined, 8, 20);
      eachMember(members, 0, () => {});
      expect([depth, items.failure, members.failure]).toEqual([depth, failure, failure]);
    }
  });

  test("the object that is the whole text is one level of its depth", () => {
    const deep = (depth: number): Uint8Array => encoder.encode(`{"a":${nested(depth - 1)}}`);
    expect(readMembers(openScan(deep(8), undefined, 8))).toHaveLength(1);
    expect(readMembers(openScan(deep(9), undefined, 8))).toBeUndefined();
  });
});

describe("readMembers", () => {
  for (const text of ["", " ", "[]", "1", "null", '"{}"', "{} {}", "{}x", "[}", "x}", "\ufeff{}", "{"]) {
    test(`${JSON.stringify(text)} is no object`, () =>
      expect(readMembers(openScan(encoder.encode(text)))).toBeUndefined());
  }
  test("gives members in order, those that stand twice too", () => {
    const bytes = encoder.encode(' {"a":1, "b" : [ 2 ] ,"a":3} ');
    const members = readMembers(openScan(bytes)) ?? [];
    const text = (from: number, to: number): string => decoder.decode(bytes.subarray(from, to));
    expect(members.map((m) => [text(m.keyStart, m.keyEnd), text(m.valueStart, m.valueEnd)])).toEqual([
      ['"a"', "1"],
      ['"b"', "[ 2 ]"],
      ['"a"', "3"],
    ]);
  });
});

test("readMembers takes no space behind the end of the scan for a part of the text", () => {
  expect(readMembers(openScan(encoder.encode('{"a":1} '), 7))).toHaveLength(1);
});

test("the object that is the whole text is one value of its text", () => {
  const bytes = encoder.encode('{"a":1,"b":2}');
  expect(readMembers(openScan(bytes, undefined, 8, 3))).toHaveLength(2);
  expect(readMembers(openScan(bytes, undefined, 8, 2))).toBeUndefined();
});

describe("findDuplicateKey", () => {
  const cases: readonly [text: string, levels: number, want: string | undefined][] = [
    ['{"a":1,"b":2,"a":3}', 0, "a"],
    ['{"a":1,"\\u0061":2}', 0, "a"],
    ['{"a":{"b":1},"c":{"b":1}}', 9, undefined],
    ['{"x":{"a":1,"a":2}}', 0, undefined],
    ['{"x":{"a":1,"a":2}}', 1, "a"],
    ['[[{"a":1}],[{"a":1,"b":[],"a":2}]]', 1, undefined],
    ['[[{"a":1}],[{"a":1,"b":[],"a":2}]]', 2, "a"],
    ['{"x":[{"a":{"b":0,"b":1}}],"x":1}', 3, "b"],
    ['{"x":[{"a":{"b":0,"b":1}}],"x":1}', 2, "x"],
    ['"a"', 3, undefined],
    ["[]", 3, undefined],
  ];
  for (const [text, levels, want] of cases) {
    test(`${levels} levels of ${text}`, () =>
      expect(findDuplicateKey(openScan(encoder.encode(text)), 0, levels)).toBe(want as string));
  }
});

test("keyIs and memberName go by what a key stands for, however it is spelled", () => {
  const model = encoder.encode('"model"');
  for (const spelled of [
    '"model"',
    '"mod\\u0065l"',
    '"\\u006dodel"',
    '"mode\\u006C"',
    '"\\u006d\\u006f\\u0064\\u0065\\u006c"',
  ]) {
    const bytes = encoder.encode(spelled);
    expect(memberName(bytes, 0, bytes.length)).toBe("model");
    expect([spelled, keyIs(bytes, 0, bytes.length, model)]).toEqual([spelled, true]);
    const within = encoder.encode(`{${spelled}:1}`);
    expect([spelled, keyIs(within, 1, 1 + bytes.length, model)]).toEqual([spelled, true]);
  }
  for (const name of ["é", "modelé", "m".repeat(60), "é".repeat(60)]) {
    const bytes = encoder.encode(`"${name}"`);
    expect(memberName(bytes, 0, bytes.length)).toBe(name);
  }
  for (const other of [
    '"modal"',
    '"modem"',
    '"mode"',
    '"models"',
    '"mod\\u0061l"',
    '"model\\n"',
    '"m\\nodel"',
    '""',
    '"\\u006d"',
    '"mo\\u0064elx"',
  ]) {
    const bytes = encoder.encode(other);
    expect([other, keyIs(bytes, 0, bytes.length, model)]).toEqual([other, false]);
  }
});

describe("smallInteger", () => {
  for (const [written, value] of [
    ["0", 0],
    ["9", 9],
    ["907", 907],
    ["999999", 999_999],
    ["1234567", 123_456],
    ["", 0],
    ["-1", 0],
    ["1.5", 0],
    ["1e3", 0],
    ["/", 0],
    [":", 0],
  ] as const)
    test(`${JSON.stringify(written)} is ${value}, whatever stands around it`, () => {
      const bytes = encoder.encode(`7${written}7`);
      expect(smallInteger(bytes, 1, 1 + written.length)).toBe(value);
    });
});
