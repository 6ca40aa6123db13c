import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { runsOf } from "../../../test/runs.ts";
import { inputTokens, NO_USAGE, outputTokens, type Usage, type UsageFlag } from "../../core/money/usage.ts";
import { encodeUsage, readUsage } from "./usage.ts";

const RUNS = runsOf(2_000, 20_000);
const base = { input_tokens: 7, output_tokens: 50 };

const CASES: readonly { name: string; wire: object; want: Partial<Usage>; flags?: UsageFlag[] }[] = [
  { name: "input beside output", wire: base, want: { input: 7, output: 50 } },
  {
    name: "cache reads beside the input, not in it",
    wire: { ...base, cache_read_input_tokens: 10_000, cache_creation_input_tokens: null },
    want: { input: 7, cacheRead: 10_000, output: 50 },
  },
  {
    name: "writes by how long they last",
    wire: {
      ...base,
      cache_creation_input_tokens: 30,
      cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
    },
    want: { input: 7, cacheWrite5m: 10, cacheWrite1h: 20, output: 50 },
  },
  {
    name: "writes without their split as the usual ones",
    wire: { ...base, cache_creation_input_tokens: 30 },
    want: { input: 7, cacheWrite5m: 30, output: 50 },
  },
  {
    name: "a split without its total",
    wire: { ...base, cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 2 } },
    want: { input: 7, cacheWrite5m: 1, cacheWrite1h: 2, output: 50 },
  },
  {
    name: "thinking as a part of the output, searches by the piece",
    wire: {
      ...base,
      output_tokens_details: { thinking_tokens: 20 },
      server_tool_use: { web_search_requests: 2, web_fetch_requests: 3 },
    },
    want: { input: 7, output: 30, reasoning: 20, webSearches: 2 },
  },
  {
    name: "rounds that the totals count already (recorded)",
    wire: {
      input_tokens: 2411,
      output_tokens: 145,
      iterations: [
        { type: "message", input_tokens: 1128, output_tokens: 135 },
        { type: "advisor_message", input_tokens: 2543, output_tokens: 18 },
        { type: "message", input_tokens: 1283, output_tokens: 10 },
      ],
    },
    want: { input: 2411, output: 145 },
  },
  {
    name: "rounds that the totals leave out",
    wire: {
      ...base,
      iterations: [
        { type: "compaction", input_tokens: 900, output_tokens: 80, cache_read_input_tokens: 5 },
        { type: "message", input_tokens: 7, output_tokens: 50 },
      ],
    },
    want: { input: 907, cacheRead: 5, output: 130 },
  },
  { name: "one total alone, flagged", wire: { output_tokens: 3 }, want: { output: 3 }, flags: ["clamped"] },
  {
    name: "what cannot be, bent and flagged",
    wire: { input_tokens: -4, output_tokens: 1e15 },
    want: { output: 100_000_000 },
    flags: ["clamped"],
  },
  {
    name: "more thinking than output, bent and flagged",
    wire: { ...base, output_tokens_details: { thinking_tokens: 60 } },
    want: { input: 7, output: 0, reasoning: 50 },
    flags: ["clamped"],
  },
];

describe("usage is read into disjoint buckets", () => {
  for (const { name, wire, want, flags = [] } of CASES) {
    test(name, () => {
      expect(readUsage(wire)).toEqual({ usage: { ...NO_USAGE, ...want }, flags });
    });
  }

  for (const none of [undefined, null, 1, "x", [], {}, { input_tokens: "1" }]) {
    test(`${JSON.stringify(none)} is no usage`, () => expect(readUsage(none)).toBeUndefined());
  }
});

test("whatever is sent: whole non-negative buckets", () => {
  const wild = fc.oneof(fc.integer(), fc.double(), fc.string(), fc.constant(null), fc.boolean());
  const value = fc.record({
    input_tokens: wild,
    output_tokens: fc.integer(),
    cache_read_input_tokens: wild,
    cache_creation_input_tokens: wild,
    cache_creation: fc.record({ ephemeral_5m_input_tokens: wild, ephemeral_1h_input_tokens: wild }),
    output_tokens_details: fc.record({ thinking_tokens: wild }),
    server_tool_use: fc.record({ web_search_requests: wild }),
    iterations: fc.array(fc.record({ type: fc.constantFrom("message", "other"), input_tokens: wild })),
  });
  fc.assert(
    fc.property(value, (wire) => {
      const counts = Object.values(readUsage(wire)?.usage ?? {});
      return counts.every((count) => Number.isInteger(count) && count >= 0);
    }),
    RUNS,
  );
});

test("usage of ours reads back as it was", () => {
  const count = fc.nat(1_000_000);
  const usage = fc.record({
    input: count,
    cacheRead: count,
    cacheWrite5m: count,
    cacheWrite1h: count,
    output: count,
    reasoning: count,
  });
  fc.assert(
    fc.property(usage, (parts) => {
      const whole = { ...NO_USAGE, ...parts };
      const again = readUsage(encodeUsage(whole));
      expect(again).toEqual({ usage: whole, flags: [] });
      expect([inputTokens(whole), outputTokens(whole)]).toEqual([
        parts.input + parts.cacheRead + parts.cacheWrite5m + parts.cacheWrite1h,
        parts.output + parts.reasoning,
      ]);
    }),
    RUNS,
  );
});
