import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { type Body, encoded, messagesTarget } from "../../../../test/protocols/messages-client.ts";
import type { CacheMark, ChatRequest, Part, ToolResultPart, Turn } from "../../../core/chat.ts";

const RUNS = {
  seed: Number(process.env.SWITCHYARD_TEST_SEED ?? "1"),
  numRuns: process.env.SWITCHYARD_TEST_LONG === "1" ? 20_000 : 800,
};

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
const turns: fc.Arbitrary<Turn[]> = fc
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
const request = fc
  .record({
    choices: fc.constant(1),
    turns,
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
function meantBy({ turns: all }: ChatRequest): string[] {
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

function saidIn({ system = [], messages }: Body): string[] {
  return [...system.map((block: Body) => [block]), ...messages.map(({ content }: Body) => content)]
    .flat()
    .flatMap((block: Body) => {
      if (block.type === "tool_use") return [`call ${JSON.stringify(block.input)}`];
      return block.type === "text" ? [`text ${block.text.trimEnd()}`] : [];
    });
}

const signaturesOf = (chat: ChatRequest): string[] =>
  chat.turns.flatMap(({ parts }) =>
    parts.flatMap((part) => {
      if (part.type === "redacted_thinking") return [part.data];
      const isKept = part.type === "thinking" && part.issuer !== "google" && (part.signature ?? "") !== "";
      return isKept ? [`${part.text} ${part.signature}`] : [];
    }),
  );

const names = ["haiku", "opus", "sonnet"] as const;

test("every request that is written is one that the provider takes", () => {
  fc.assert(
    fc.property(request, fc.constantFrom(...names), fc.boolean(), (chat, name, systemTurns) => {
      expect(encoded(chat, messagesTarget(name, { systemTurns })).refused).toBeUndefined();
    }),
    RUNS,
  );
});

test("all words and calls are sent once and in order, results with their calls, signed thinking as it was", () => {
  fc.assert(
    fc.property(request, fc.boolean(), (chat, systemTurns) => {
      // An instruction of ours and a system message that had to wait for results are not the caller's order.
      const { responseFormat: _format, ...rest } = chat;
      const { body } = encoded(rest, messagesTarget("opus", { systemTurns }));
      expect(saidIn(body)).toEqual(meantBy(chat));
      const blocks = body.messages.flatMap(({ content }: Body) => content);
      const thoughts = blocks.flatMap(({ type, data, thinking: told, signature }: Body) =>
        type === "redacted_thinking" ? [data] : type === "thinking" ? [`${told} ${signature}`] : [],
      );
      expect(thoughts).toEqual(signaturesOf(chat));
      const uses = blocks.filter(({ type }: Body) => type === "tool_use").map((block: Body) => block.id);
      const results = blocks.filter(({ type }: Body) => type === "tool_result");
      expect(results.map((block: Body) => block.tool_use_id)).toEqual(uses);
      expect(new Set(uses).size).toBe(uses.length);
      const marks = JSON.stringify(body).split('"cache_control":{').length - 1;
      expect(marks).toBeLessThanOrEqual(4);
    }),
    RUNS,
  );
});

test("a turn more leaves what was written before it as it was", () => {
  fc.assert(
    fc.property(turns, (all) => {
      // A prompt cache is found again by the bytes of what stands before.
      const chat = { turns: all, tools: [], stop: [], choices: 1 };
      const plain = JSON.parse(JSON.stringify(chat, (key, value) => (key === "cache" ? undefined : value)));
      const next: Turn[] = [
        { role: "assistant", parts: [{ type: "text", text: "x" }] },
        { role: "user", parts: [{ type: "text", text: "more" }] },
      ];
      const before: Body[] = encoded(plain).body.messages;
      const after: Body[] = encoded({ ...plain, turns: [...plain.turns, ...next] }).body.messages;
      // The end of an unfinished answer is the one place that may change.
      expect(after.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
    }),
    RUNS,
  );
});
