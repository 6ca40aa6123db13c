import * as fc from "fast-check";
import type { CacheMark, ChatRequest, Part, ToolResultPart, Turn } from "../../src/core/chat.ts";

// Requests in no format of every shape, for the laws of the ends that write them.

const mark = fc.constantFrom<CacheMark>({ type: "ephemeral" }, { type: "ephemeral", ttl: "1h" });
const words = fc.oneof(fc.string(), fc.constantFrom("", " ", "\n"));
const text: fc.Arbitrary<Part> = fc.oneof(
  fc.record({ type: fc.constant("text" as const), text: words }),
  fc.record({ type: fc.constant("text" as const), text: words, cache: mark }),
);
const image: fc.Arbitrary<Part> = fc.constantFrom(
  { type: "image", source: { kind: "data", mediaType: "image/jpg;a=b", data: "/9j/4AAQ" } },
  { type: "image", source: { kind: "url", url: "https://x.test/a.png" }, detail: "high" },
);
const document: fc.Arbitrary<Part> = fc.constantFrom(
  { type: "document", source: { kind: "data", mediaType: "", data: "JVBERi0x" }, name: "a.pdf" },
  { type: "document", source: { kind: "data", mediaType: "text/plain", data: "aGk=" } },
);
const thinking: fc.Arbitrary<Part> = fc.oneof(
  fc.record({
    type: fc.constant("thinking" as const),
    text: fc.string(),
    signature: fc.string(),
    issuer: fc.constantFrom("anthropic" as const, "google" as const),
  }),
  fc.record({ type: fc.constant("redacted_thinking" as const), data: fc.string({ minLength: 1 }) }),
);
const id = fc.oneof(
  fc.constantFrom("a", "b", "functions.f:0", "functions_2e_f_3a_0", "a_2", ""),
  fc.string({ maxLength: 6 }),
);
const input = fc.oneof(
  fc.constantFrom("", "{}", ' {"n": 12345678901234567890} '),
  fc
    .dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 3 }))
    .map((value) => JSON.stringify(value)),
);

/** An answer with calls, and the turn that answers every one of them in any order. */
const round: fc.Arbitrary<Turn[]> = fc
  .record({
    before: fc.array(fc.oneof(thinking, text), { maxLength: 3 }),
    calls: fc.array(fc.record({ id, input }), { minLength: 1, maxLength: 4 }),
    after: fc.array(image, { maxLength: 1 }),
    results: fc.array(fc.array(fc.oneof(text, image), { maxLength: 2 }), { minLength: 4, maxLength: 4 }),
    isError: fc.boolean(),
    backwards: fc.boolean(),
  })
  .map(({ before, calls, after, results, isError, backwards }) => {
    const answers = calls.map((call, i): ToolResultPart => ({
      type: "tool_result",
      callId: call.id,
      parts: results[i] ?? [],
      isError,
    }));
    // Results of one id stand in the order of their calls: nothing else tells which is which.
    const isTwice = new Set(calls.map((call) => call.id)).size < calls.length;
    const parts = backwards && !isTwice ? answers.toReversed() : answers;
    const made = calls.map((call): Part => ({ type: "tool_call", name: "f", ...call }));
    return [
      { role: "assistant", parts: [...before, ...made, ...after] },
      { role: "tool", parts },
    ];
  });
const FIRST: Turn = { role: "user", parts: [{ type: "text", text: "first" }] };
/** Conversations whose calls all have their results. */
export const anyTurns: fc.Arbitrary<Turn[]> = fc
  .record({
    leading: fc.array(
      fc.record({ role: fc.constant("system" as const), parts: fc.array(text, { maxLength: 2 }) }),
      {
        maxLength: 2,
      },
    ),
    rest: fc.array(
      fc.oneof(
        round,
        fc
          .record({
            role: fc.constant("user" as const),
            parts: fc.array(fc.oneof(text, image, document), { maxLength: 3 }),
          })
          .map((turn) => [turn]),
        fc
          .record({
            role: fc.constant("assistant" as const),
            parts: fc.array(fc.oneof(text, thinking, image), { maxLength: 3 }),
          })
          .map((turn) => [turn]),
        fc
          .record({ role: fc.constant("system" as const), parts: fc.array(text, { maxLength: 2 }) })
          .map((turn) => [turn]),
      ),
      { maxLength: 8 },
    ),
  })
  .map(({ leading, rest }) => [leading, FIRST, rest.flat()].flat());

const some = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
/** Requests whose conversations are such. */
export const anyRequest = fc
  .record({
    choices: fc.constant(1),
    turns: anyTurns,
    tools: fc.array(
      fc.record({
        name: fc.constantFrom("f", "g"),
        parameters: some(
          fc.constantFrom<Record<string, unknown>>(
            {},
            { type: "object", properties: { a: { type: "integer", minimum: 1 } } },
          ),
        ),
        strict: some(fc.boolean()),
        cache: some(mark),
      }),
      { maxLength: 2 },
    ),
    toolChoice: some(
      fc.constantFrom(
        { type: "none" as const },
        { type: "auto" as const },
        { type: "required" as const },
        { type: "tool" as const, name: "f" },
      ),
    ),
    parallelToolCalls: some(fc.boolean()),
    maxOutputTokens: some(fc.constantFrom(1, 900, 1_024, 1_025, 5_000, 1_000_000)),
    temperature: some(fc.constantFrom(0, 0.5, 1, 2)),
    topP: some(fc.constantFrom(0, 0.5, 1)),
    seed: some(fc.nat()),
    stop: fc.array(fc.constantFrom("END", " ", "\n"), { maxLength: 3 }),
    user: some(fc.string()),
    thinking: some(
      fc.record(
        {
          mode: fc.constantFrom("on" as const, "off" as const, "auto" as const),
          budgetTokens: fc.constantFrom(1, 1_024, 20_000, 500_000),
          effort: fc.constantFrom("none", "minimal", "low", "medium", "high", "xhigh", "max", "wild"),
          hidden: fc.boolean(),
        },
        { requiredKeys: [] },
      ),
    ),
    responseFormat: some(
      fc.constantFrom<NonNullable<ChatRequest["responseFormat"]>>(
        { type: "json_object" },
        { type: "json_schema", name: "n", schema: { type: "object", properties: { a: { maxLength: 2 } } } },
      ),
    ),
  })
  // What was not said is not there.
  .map((fields): ChatRequest => JSON.parse(JSON.stringify(fields)));

/** What of a conversation must reach the model, in order: its words, calls and results. Signed thinking is seen to apart. */
export function meantBy({ turns: all }: ChatRequest): string[] {
  return all.flatMap(({ role, parts }) =>
    parts.flatMap((part) => {
      if (part.type === "tool_call")
        return [`call ${JSON.stringify(part.input.trim() === "" ? {} : JSON.parse(part.input))}`];
      if (part.type !== "text") return [];
      const isEmpty = role === "assistant" ? part.text.trim() === "" : part.text === "";
      return isEmpty ? [] : [`text ${part.text.trimEnd()}`];
    }),
  );
}
