import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { chatTarget, sentToChat, VENDOR_NAMES } from "../../../../test/protocols/chat-client.ts";
import { type Body, chatOf } from "../../../../test/protocols/messages-client.ts";
import { runsOf } from "../../../../test/runs.ts";
import type { ChatRequest, Part, ToolResultPart, Turn } from "../../../core/chat.ts";

const RUNS = runsOf(800, 20_000);

const some = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const words = fc.oneof(fc.string(), fc.constantFrom("", " ", "\n"));
const text: fc.Arbitrary<Part> = fc.record({ type: fc.constant("text" as const), text: words });
const media: fc.Arbitrary<Part> = fc.constantFrom<Part>(
  { type: "image", source: { kind: "data", mediaType: "image/jpg;a=b", data: "/9j/4AAQ" } },
  { type: "image", source: { kind: "url", url: "https://x.test/a.png" }, detail: "high" },
  { type: "document", source: { kind: "data", mediaType: "application/pdf", data: "JVBERi0x" } },
  { type: "document", source: { kind: "data", mediaType: "text/plain", data: "aGk=" }, name: "a.txt" },
);
const thinking: fc.Arbitrary<Part> = fc.record(
  {
    type: fc.constant("thinking" as const),
    text: fc.string({ minLength: 1 }).map((told) => `<${told}>`),
    signature: fc.string({ minLength: 1 }),
    issuer: fc.constantFrom("anthropic", "google", "openai"),
  },
  { requiredKeys: ["type", "text"] },
);
const id = fc.oneof(
  fc.constantFrom("a", "functions.f:0", "toolu_01AbCdEfGhIjKlMn", "x".repeat(70)),
  fc.string({ minLength: 1, maxLength: 6 }),
);

/** An answer with calls, and the turn that answers every one of them in any order. */
const round: fc.Arbitrary<Turn[]> = fc
  .record({
    before: fc.array(fc.oneof(thinking, text), { maxLength: 3 }),
    ids: fc.uniqueArray(id, { minLength: 1, maxLength: 4 }),
    input: fc.constantFrom("", "{}", ' {"n": 12345678901234567890} '),
    result: fc.array(fc.oneof(text, media), { maxLength: 2 }),
    isError: fc.boolean(),
    backwards: fc.boolean(),
  })
  .map(({ before, ids, input, result, isError, backwards }) => {
    const answers = ids.map((callId): ToolResultPart => ({
      type: "tool_result",
      callId,
      parts: result,
      isError,
    }));
    const calls = ids.map((callId): Part => ({ type: "tool_call", name: "f", id: callId, input }));
    return [
      { role: "assistant", parts: [...before, ...calls] },
      { role: "tool", parts: backwards ? answers.toReversed() : answers },
    ];
  });
const alone = (role: Turn["role"], part: fc.Arbitrary<Part>): fc.Arbitrary<Turn[]> =>
  fc.array(part, { maxLength: 3 }).map((parts) => [{ role, parts }]);
const turns: fc.Arbitrary<Turn[]> = fc
  .array(
    fc.oneof(
      round,
      alone("user", fc.oneof(text, media)),
      alone("assistant", fc.oneof(text, thinking)),
      alone("system", text),
    ),
    { maxLength: 8 },
  )
  .map((rest) => [{ role: "user", parts: [{ type: "text", text: "first" }] }, ...rest.flat()]);

const request = fc
  .record({
    choices: fc.constant(1),
    turns,
    tools: fc.array(
      fc.record({
        name: fc.constantFrom("f", "g"),
        parameters: some(
          fc.constantFrom<Record<string, unknown>>({}, { type: "object", properties: { a: {} } }),
        ),
        strict: some(fc.boolean()),
      }),
      { maxLength: 2 },
    ),
    toolChoice: some(fc.constantFrom({ type: "none" as const }, { type: "auto" as const })),
    allowedTools: some(fc.constantFrom(["f"], ["g"], ["f", "g"])),
    parallelToolCalls: some(fc.boolean()),
    maxOutputTokens: some(fc.constantFrom(1, 900, 1_000_000)),
    temperature: some(fc.constantFrom(0, 0.5, 1, 2)),
    topP: some(fc.constantFrom(0, 0.5, 1)),
    topK: some(fc.nat()),
    presencePenalty: some(fc.constantFrom(0, 1)),
    seed: some(fc.nat()),
    stop: fc.array(fc.constantFrom("END", " ", ""), { maxLength: 1 }),
    user: some(fc.string({ maxLength: 100 })),
    cacheKey: some(fc.string()),
    verbosity: some(fc.constantFrom("low", "high")),
    thinking: some(
      fc.record(
        {
          mode: fc.constantFrom("on" as const, "off" as const, "auto" as const),
          budgetTokens: fc.constantFrom(1, 1_024, 500_000),
          effort: fc.constantFrom("none", "minimal", "low", "medium", "high", "xhigh", "max"),
          hidden: fc.boolean(),
        },
        { requiredKeys: [] },
      ),
    ),
    responseFormat: some(fc.constant<NonNullable<ChatRequest["responseFormat"]>>({ type: "json_object" })),
  })
  // What was not said is not there.
  .map((fields): ChatRequest => JSON.parse(JSON.stringify(fields)));

const vendor = fc.constantFrom(...VENDOR_NAMES.filter((name) => name !== "lm-studio"));
const targetOf = (name: (typeof VENDOR_NAMES)[number]) =>
  chatTarget(name, {
    ...(name === "deepseek" ? { thinking: { reasoningBackAlways: true } } : {}),
    ...(name === "moonshot" ? { thinking: { efforts: ["low", "high", "max"] } } : {}),
    ...(name === "xai" ? { thinking: { efforts: ["none", "low", "medium", "high", "xhigh"] } } : {}),
  });

test("every request that is written is one that its vendor takes", () => {
  fc.assert(
    fc.property(request, vendor, (chat, name) => {
      expect(sentToChat(name, chat, targetOf(name)).refused).toBeUndefined();
    }),
    RUNS,
  );
});

/** What of a conversation must reach the model, in order, and how many media. */
function meantBy(all: readonly Turn[]) {
  const said = all.flatMap(({ parts }) => {
    const texts = parts.flatMap((part) => (part.type === "text" ? part.text : []));
    const calls = parts.flatMap((part) => (part.type === "tool_call" ? [`call ${part.name}`] : []));
    return [...(texts.join("") === "" ? [] : [texts.join("")]), ...calls];
  });
  const within = all.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === "tool_result" ? part.parts : [part])),
  );
  return { said, media: within.filter(({ type }) => type === "image").length };
}

function saidIn(messages: readonly Body[]) {
  const isOurs = (one: string): boolean =>
    one.startsWith("From the result of the call ") || one.startsWith("a.txt\n");
  const said = messages.flatMap(({ role, content, tool_calls: calls = [] }) => {
    if (role === "tool") return [];
    const texts =
      typeof content === "string" ? [content] : (content ?? []).map((part: Body) => part.text ?? "");
    const joined = texts.filter((one: string) => !isOurs(one)).join("");
    return [...(joined === "" ? [] : [joined]), ...calls.map((call: Body) => `call ${call.function.name}`)];
  });
  const media = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
  return { said, media: media.filter(({ type }) => type === "image_url").length };
}

test("all words, calls and images are sent once and in order, each call with one result, and no thought as a text", () => {
  fc.assert(
    fc.property(turns, vendor, (all, name) => {
      const messages: Body[] = sentToChat(name, chatOf(all), targetOf(name)).up.messages;
      const bare = (texts: readonly string[]) =>
        texts.map((one) => one.replaceAll("\n", "")).filter((one) => one !== "");
      const [meant, sent] = [meantBy(all), saidIn(messages)];
      expect([bare(sent.said), sent.media]).toEqual([bare(meant.said), meant.media]);
      const calls = messages.flatMap((message) => (message.tool_calls ?? []).map((call: Body) => call.id));
      expect(messages.flatMap((message) => message.tool_call_id ?? [])).toEqual(calls);
      const thoughts = all.flatMap(({ parts }) =>
        parts.flatMap((part) => (part.type === "thinking" ? part.text : [])),
      );
      const visible = JSON.stringify(messages.map(({ content }) => content));
      for (const one of thoughts) expect(visible).not.toContain(JSON.stringify(one).slice(1, -1));
    }),
    RUNS,
  );
});

test("a turn more leaves what was written before it as it was", () => {
  fc.assert(
    fc.property(turns, vendor, (all, name) => {
      // A prompt cache is found again by the bytes of what stands before.
      const next: Turn[] = [
        { role: "assistant", parts: [{ type: "text", text: "x" }] },
        { role: "user", parts: [{ type: "text", text: "more" }] },
      ];
      const sent = (list: readonly Turn[]): Body[] =>
        sentToChat(name, chatOf(list), targetOf(name)).body.messages;
      const before = sent(all);
      expect(sent([...all, ...next]).slice(0, before.length)).toEqual(before);
    }),
    RUNS,
  );
});
