import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { runsOf } from "../../../test/runs.ts";
import { EMPTY_LIST, LIST, type Place, scanEvent, textAt, withCuts } from "../scan.ts";
import { CHUNK } from "./shape.ts";

const RUNS = runsOf(1_500, 20_000);
// oxlint-disable-next-line typescript/no-explicit-any -- wire data of a test
type Json = any;

const encoder = new TextEncoder();

function scan(text: string, padding: readonly string[] = ["pad"]) {
  const root = withCuts(CHUNK.root, padding, CHUNK.cuts);
  // The chunk stands in the middle of other bytes.
  const bytes = encoder.encode(`}"x"${text}"]}`);
  const end = bytes.length - 3;
  const valid = scanEvent(CHUNK, root, bytes, 4, end);
  const told = (at: Place): Json => (at.start === -1 ? undefined : JSON.parse(textAt(bytes, at)));
  return { facts: CHUNK, told, bytes, end, valid };
}

/** The chunk's text without what the cuts take out. */
function afterCuts({ facts, bytes, end }: ReturnType<typeof scan>): string {
  let text = "";
  let from = 4;
  for (let i = 0; i < facts.cuts.length; i += 2) {
    text += new TextDecoder().decode(bytes.subarray(from, facts.cuts[i]));
    from = facts.cuts[i + 1] as number;
  }
  return text + new TextDecoder().decode(bytes.subarray(from, end));
}

const text = fc.string({ unit: "grapheme", maxLength: 6 });
const odd = fc.constantFrom<Json>(null, 5, true, [], {}, "x", [1], { a: 1 });
const delta = fc.record(
  {
    role: fc.constantFrom("assistant", ""),
    content: fc.oneof(text, fc.constant(null)),
    reasoning_content: text,
    refusal: fc.oneof(text, fc.constant(null)),
    tool_calls: fc.array(
      fc.record({ index: fc.nat(3), id: text, function: fc.record({ name: text, arguments: text }) }),
      { maxLength: 2 },
    ),
  },
  { requiredKeys: [] },
);
const choice = fc.record(
  {
    index: fc.nat(20),
    delta: fc.oneof({ weight: 5, arbitrary: delta }, odd),
    finish_reason: fc.constantFrom("stop", "", null, 5),
    logprobs: odd,
  },
  { requiredKeys: [] },
);
const member = fc.oneof(
  fc.tuple(
    fc.constant("choices"),
    fc.oneof(
      { weight: 4, arbitrary: fc.array(fc.oneof({ weight: 4, arbitrary: choice }, odd), { maxLength: 3 }) },
      odd,
    ),
  ),
  fc.tuple(fc.constantFrom("model", "id", "created", "error", "usage"), fc.oneof(odd, text)),
  fc.tuple(fc.constantFrom("pad", "object", "x", "models", "é"), odd),
);
const SPACES = ["", "", " ", "\n", "\t"];
const chunkText = fc
  .tuple(
    fc.uniqueArray(member, { selector: ([name]) => name, maxLength: 9 }),
    fc.array(fc.nat(99), { minLength: 1, maxLength: 9 }),
  )
  .map(([members, picks]) =>
    (JSON.stringify(Object.fromEntries(members)).match(/"(?:\\.|[^"\\])*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? [])
      .map((token, i) => token + SPACES[(picks[i % picks.length] as number) % SPACES.length])
      .join(""),
  );

const isObject = (value: Json): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value);

test("the facts of a chunk are those of its parsed value", () => {
  fc.assert(
    fc.property(chunkText, (sent) => {
      const found = scan(sent);
      const { facts, told, valid } = found;
      const value: Json = JSON.parse(sent);
      expect(valid).toBe(true);
      expect(told(facts.model)).toEqual(value.model);
      expect(told(facts.id)).toEqual(value.id);
      expect(told(facts.created)).toEqual(value.created);
      expect(told(facts.usage)).toEqual(value.usage ?? undefined);
      expect(told(facts.error)).toEqual(value.error ?? undefined);
      const list: Json[] = Array.isArray(value.choices) ? value.choices : [];
      const { kind } = facts.choices;
      expect([kind === EMPTY_LIST || kind === LIST, kind === LIST]).toEqual([
        Array.isArray(value.choices),
        list.length > 0,
      ]);
      expect(facts.told.filter((_, i) => i % 3 < 2)).toEqual(
        list
          .filter(isObject)
          .flatMap((one) => [
            one.index ?? 0,
            typeof one.finish_reason === "string" && one.finish_reason !== "" ? 1 : 0,
          ]),
      );
    }),
    RUNS,
  );
});

test("the cuts take out padding and usage, and leave JSON with everything else in its order", () => {
  fc.assert(
    fc.property(chunkText, (sent) => {
      const value: Json = JSON.parse(sent);
      const want = Object.entries(value).filter(
        ([name, one]) => name !== "pad" && !(name === "usage" && one !== null),
      );
      expect(Object.entries(JSON.parse(afterCuts(scan(sent))))).toEqual(want);
    }),
    RUNS,
  );
});

describe("content", () => {
  const of = (json: Json): string => JSON.stringify({ choices: [{ index: 0, delta: json }] });
  const call = (name: string, args: string): Json => ({
    tool_calls: [{ index: 0, function: { name, arguments: args } }],
  });
  const cases = [
    { name: "nothing", delta: {}, has: false, ascii: 0, wide: 0 },
    { name: "a role", delta: { role: "assistant", content: "" }, has: false, ascii: 0, wide: 0 },
    {
      name: "null and empty members",
      delta: { content: null, tool_calls: [], refusal: null },
      has: false,
      ascii: 0,
      wide: 0,
    },
    { name: "text", delta: { content: "abc" }, has: true, ascii: 3, wide: 0 },
    { name: "text beyond ASCII, by its bytes", delta: { content: "aé日" }, has: true, ascii: 1, wide: 5 },
    {
      name: "a call of a tool of free text",
      delta: { tool_calls: [{ index: 0, type: "custom", custom: { name: "ab", input: "abc" } }] },
      has: true,
      ascii: 5,
      wide: 0,
    },
    { name: "thinking", delta: { reasoning_content: "abc" }, has: true, ascii: 3, wide: 0 },
    {
      name: "reasoning told twice is counted once",
      delta: { reasoning: "abc", reasoning_details: [{ type: "reasoning.text", text: "abc" }] },
      has: true,
      ascii: 3,
      wide: 0,
    },
    { name: "a refusal", delta: { refusal: "no" }, has: true, ascii: 2, wide: 0 },
    { name: "a tool call", delta: call("f", "{}"), has: true, ascii: 3, wide: 0 },
    {
      name: "a legacy call",
      delta: { function_call: { name: "f", arguments: "{}" } },
      has: true,
      ascii: 3,
      wide: 0,
    },
    { name: "what nobody knows", delta: { audio: { data: "AAAA" } }, has: true, ascii: 0, wide: 0 },
  ];
  test("only a call that has something in it is one of a tool", () => {
    const calls: readonly (readonly [Json, boolean])[] = [
      [{ tool_calls: [] }, false],
      [{ tool_calls: null }, false],
      [{ function_call: {} }, false],
      [{ content: "a" }, false],
      [call("f", "{}"), true],
      [{ tool_calls: [{}] }, true],
      [{ function_call: { name: "f" } }, true],
    ];
    for (const [delta, isCall] of calls)
      expect<[Json, boolean]>([delta, scan(of(delta)).facts.told[2] === 1]).toEqual([delta, isCall]);
  });

  for (const { name, delta: sent, has, ascii, wide } of cases) {
    test(`${name}: ${has ? "something" : "nothing"} came`, () => {
      const { facts } = scan(of(sent));
      expect([facts.content.on, facts.text.ascii, facts.text.wide]).toEqual([has, ascii, wide]);
    });
  }
});

describe("no chunk", () => {
  for (const sent of ["", " ", "[]", "1", '"x"', "{", '{"a":1', '{"a":1}x', '{"a":01}', "{a:1}", "nul"]) {
    test(JSON.stringify(sent), () => expect(scan(sent).valid).toBe(false));
  }

  test("a scan remembers nothing of the one before", () => {
    const full = encoder.encode(
      '{"model":"m","id":"i","created":1,"usage":{},"error":{},"choices":[{"delta":{"content":"a"}}]}',
    );
    expect(scanEvent(CHUNK, CHUNK.root, full, 0, full.length)).toBe(true);
    expect(scanEvent(CHUNK, CHUNK.root, encoder.encode("{}"), 0, 2)).toBe(true);
    const { model, id, created, usage, error, choices } = CHUNK;
    expect([model, id, created, usage, error, choices].map(({ start }) => start)).toEqual(Array(6).fill(-1));
    expect([CHUNK.content.on, CHUNK.text, CHUNK.cuts, CHUNK.told]).toEqual([
      false,
      { ascii: 0, wide: 0 },
      [],
      [],
    ]);
  });
});
