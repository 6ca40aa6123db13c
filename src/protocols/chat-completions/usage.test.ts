import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { runsOf } from "../../../test/runs.ts";
import {
  inputTokens,
  NO_USAGE,
  outputTokens,
  type TokenUsage,
  type UsageFlag,
} from "../../core/money/usage.ts";
import { encodeUsage, isPlainUsage, readUsage } from "./usage.ts";

const RUNS = runsOf(2_000, 20_000);
const base = { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 };

interface Case {
  readonly vendor: string;
  readonly wire: object;
  readonly want: Partial<TokenUsage>;
}

const CASES: readonly Case[] = [
  { vendor: "plain", wire: base, want: { input: 100, output: 50 } },
  {
    vendor: "OpenAI",
    wire: {
      ...base,
      prompt_tokens_details: { cached_tokens: 40, audio_tokens: 10 },
      completion_tokens_details: { reasoning_tokens: 20, audio_tokens: 5, accepted_prediction_tokens: 3 },
    },
    want: { input: 50, cacheRead: 40, audioInput: 10, output: 25, reasoning: 20, audioOutput: 5 },
  },
  {
    vendor: "OpenRouter",
    wire: {
      ...base,
      prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 20 },
      completion_tokens_details: { image_tokens: 30 },
      cost: 1,
    },
    want: { input: 40, cacheRead: 40, cacheWrite5m: 20, output: 20, imageOutput: 30 },
  },
  {
    vendor: "DeepSeek",
    wire: { ...base, prompt_cache_hit_tokens: 64, prompt_cache_miss_tokens: 36 },
    want: { input: 36, cacheRead: 64, output: 50 },
  },
  {
    vendor: "Moonshot, Together",
    wire: { ...base, cached_tokens: 30 },
    want: { input: 70, cacheRead: 30, output: 50 },
  },
  {
    vendor: "Mistral",
    wire: { ...base, num_cached_tokens: 30 },
    want: { input: 70, cacheRead: 30, output: 50 },
  },
  {
    vendor: "DashScope, no cache made",
    wire: { ...base, prompt_tokens_details: { cached_tokens: 30 } },
    want: { input: 70, cacheRead: 30, output: 50 },
  },
  {
    vendor: "xAI, reasoning beside the completion",
    wire: {
      prompt_tokens: 100,
      completion_tokens: 50,
      total_tokens: 170,
      completion_tokens_details: { reasoning_tokens: 20 },
    },
    want: { input: 100, output: 50, reasoning: 20 },
  },
  {
    vendor: "Gemini, thinking that only the total counts",
    wire: { prompt_tokens: 100, completion_tokens: 50, total_tokens: 170 },
    want: { input: 100, output: 50, reasoning: 20 },
  },
  {
    vendor: "Mistral, audio beside the prompt",
    wire: { ...base, total_tokens: 160, prompt_tokens_details: { audio_tokens: 10 } },
    want: { input: 100, audioInput: 10, output: 50 },
  },
  {
    vendor: "reasoning within the completion",
    wire: { ...base, completion_tokens_details: { reasoning_tokens: 20 } },
    want: { input: 100, output: 30, reasoning: 20 },
  },
  {
    vendor: "details that are null",
    wire: { ...base, prompt_tokens_details: null, completion_tokens_details: null },
    want: { input: 100, output: 50 },
  },
  {
    vendor: "details with null counts",
    wire: { ...base, prompt_tokens_details: { cached_tokens: null } },
    want: { input: 100, output: 50 },
  },
];

describe("each vendor's usage comes to disjoint buckets", () => {
  for (const { vendor, wire, want } of CASES) {
    // Thinking that no count names is told by the total alone, and flagged as that.
    const flags: UsageFlag[] = vendor.includes("only the total counts") ? ["inferred"] : [];
    test(vendor, () => expect(readUsage(wire)).toEqual({ usage: { ...NO_USAGE, ...want }, flags }));
  }

  const missed: readonly Case[] = [
    {
      vendor: "Mistral, prompt_token_details",
      wire: { ...base, prompt_token_details: { cached_tokens: 30 } },
      want: { input: 70, cacheRead: 30, output: 50 },
    },
    // As DashScope's SDK has it: the count stands within the details.
    {
      vendor: "DashScope, cache made",
      wire: { ...base, prompt_tokens_details: { cached_tokens: 0, cache_creation_input_tokens: 60 } },
      want: { input: 40, cacheWrite5m: 60, output: 50 },
    },
  ];
  for (const { vendor, wire, want } of missed) {
    // Thinking that no count names is told by the total alone, and flagged as that.
    const flags: UsageFlag[] = vendor.includes("only the total counts") ? ["inferred"] : [];
    test(vendor, () => expect(readUsage(wire)).toEqual({ usage: { ...NO_USAGE, ...want }, flags }));
  }
});

describe("what cannot be is clamped and flagged", () => {
  const cases = [
    { name: "negative", wire: { ...base, prompt_tokens: -5 }, input: 0, output: 50 },
    { name: "a fraction", wire: { ...base, completion_tokens: 50.7 }, input: 100, output: 50 },
    { name: "text", wire: { ...base, prompt_tokens: "100" }, input: 0, output: 50 },
    { name: "1e15", wire: { ...base, completion_tokens: 1e15 }, input: 100, output: 100_000_000 },
    { name: "1e400", wire: { ...base, completion_tokens: Infinity }, input: 100, output: 0 },
    {
      name: "more cached than there are",
      wire: { ...base, prompt_tokens_details: { cached_tokens: 101 } },
      input: 100,
      output: 50,
    },
    {
      name: "more reasoning than output",
      wire: { ...base, completion_tokens_details: { reasoning_tokens: 51 } },
      input: 100,
      output: 50,
    },
    {
      name: "cached and written beyond all",
      wire: { ...base, prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 60 } },
      input: 100,
      output: 50,
    },
  ];
  /** A bad part leaves its tokens to the total, and countedBeside bills them as thinking: input at the price of output. */
  const unmended = new Set(["negative", "text", "1e400"]);
  for (const { name, wire, input, output } of cases) {
    const check = (): void => {
      const metered = readUsage(wire);
      expect(metered?.flags).toEqual(["clamped"]);
      expect([inputTokens(metered?.usage as TokenUsage), outputTokens(metered?.usage as TokenUsage)]).toEqual(
        [input, output],
      );
    };
    if (unmended.has(name)) test(name, check);
    else test(name, check);
  }

  // What only the total counts is charged as thinking, however much it is, and nothing shows it (U35: total ≠ sum is flagged).
  test("a total far beyond its parts is flagged", () => {
    expect(readUsage({ ...base, total_tokens: 10_000_000 })?.flags).not.toEqual([]);
  });

  for (const wire of [{ completion_tokens: 5 }, { prompt_tokens: 5 }]) {
    test(`a missing total is flagged: ${JSON.stringify(wire)}`, () => {
      expect(readUsage(wire)?.flags ?? ["estimated"]).not.toEqual([]);
    });
  }
});

for (const none of [
  undefined,
  null,
  5,
  "x",
  [],
  {},
  { total_tokens: 5 },
  { prompt_tokens: "1", completion_tokens: "2" },
]) {
  test(`${JSON.stringify(none)} is no usage`, () => expect(readUsage(none)).toBeUndefined());
}

const count = fc.oneof(
  fc.nat(200),
  fc.constantFrom<unknown>(-1, 1.5, 1e15, Infinity, -Infinity, NaN, null, undefined, "7", {}, [], true),
);
const wireUsage = fc.record(
  {
    prompt_tokens: count,
    completion_tokens: count,
    total_tokens: count,
    cached_tokens: count,
    prompt_tokens_details: fc.record(
      { cached_tokens: count, cache_write_tokens: count, audio_tokens: count, image_tokens: count },
      { requiredKeys: [] },
    ),
    completion_tokens_details: fc.record(
      { reasoning_tokens: count, audio_tokens: count, image_tokens: count },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
);

test("whatever is sent: whole non-negative buckets that add up to the totals, flagged where a total was bent", () => {
  fc.assert(
    fc.property(wireUsage, (wire) => {
      const metered = readUsage(wire);
      if (metered === undefined) return;
      const { usage, flags } = metered;
      for (const tokens of Object.values(usage))
        expect(Number.isSafeInteger(tokens) && tokens >= 0).toBe(true);
      if (flags.length > 0) return;
      expect(inputTokens(usage)).toBe((wire.prompt_tokens as number | null) ?? 0);
      const told = (wire.completion_tokens as number | null) ?? 0;
      expect([told, told + usage.reasoning]).toContain(outputTokens(usage));
    }),
    RUNS,
  );
});

test("usage of ours reads back as the totals it was written from, and is plain", () => {
  const bucket = fc.nat(1_000);
  const usage = fc.record(Object.fromEntries(Object.keys(NO_USAGE).map((name) => [name, bucket])));
  fc.assert(
    fc.property(usage, (made) => {
      const wire = encodeUsage(made as unknown as TokenUsage);
      const read = readUsage(wire)?.usage as TokenUsage;
      expect(isPlainUsage(wire)).toBe(true);
      expect(inputTokens(read)).toBe(inputTokens(made as unknown as TokenUsage));
      expect(outputTokens(read)).toBe(outputTokens(made as unknown as TokenUsage));
      expect([read.imageInput, read.imageOutput]).toEqual([made.imageInput, made.imageOutput] as number[]);
    }),
    RUNS,
  );
});
