import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { ANSWER_CONTEXT } from "../../../../test/protocols/answer-context.ts";
import { foldEvents } from "../../../../test/protocols/folded-events.ts";
import { streamedEvents } from "../../../../test/protocols/streamed-events.ts";
import { messagesEvents } from "../../../../test/replay/messages/events.ts";
import { runsOf } from "../../../../test/runs.ts";
import { loadRecordings, recordingsAvailable } from "../../../../test/upstream/recordings.ts";
import type { ChatEvent } from "../../../core/chat.ts";
import type { JsonObject } from "../../../core/json/json-value.ts";
import type { AnswerContext } from "../../protocol.ts";
import { messagesClient } from "./index.ts";
import { decodeAnswer, openDecoder } from "./decode-events.ts";

/** The one choice that a message is, put together. */
function onlyChoice(events: readonly ChatEvent[]) {
  const { id, choices } = foldEvents(events);
  expect([...choices.keys()]).toEqual([0]);
  const choice = choices.get(0);
  if (choice === undefined) throw new Error("The answer says nothing.");
  return { id, ...choice };
}

const RUNS = runsOf(100);
const encoder = new TextEncoder();
const decode = (events: readonly JsonObject[], isWhole = true): readonly ChatEvent[] => {
  const told: ChatEvent[] = [];
  const decoder = openDecoder((event) => void told.push(event));
  for (const event of events) decoder.read(event);
  if (isWhole) decoder.end();
  return told;
};
const begin = (index: number, content_block: object) => ({
  type: "content_block_start",
  index,
  content_block,
});
const delta = (index: number, type: string, value: object) => ({
  type: "content_block_delta",
  index,
  delta: { type, ...value },
});
const end = (index: number) => ({ type: "content_block_stop", index });
const stop = (stop_reason: string | null, more: object = {}) => ({
  type: "message_delta",
  delta: { stop_reason, ...more },
});
const at = (index: number) => ({ choice: 0, index });

describe("a stream as events", () => {
  test("calls without an id get one each, the same in a stream and in a whole answer, that a client can send back", () => {
    const call = { type: "tool_use", id: "", name: "f", input: {} };
    const told = [
      { type: "message_start", message: { id: "msg 1", content: [] } },
      begin(0, call),
      end(0),
      begin(1, { ...call, id: undefined }),
      end(1),
      stop("tool_use"),
    ];
    const ids = (events: readonly ChatEvent[]): string[] =>
      events.flatMap((event) =>
        event.type === "part_start" && event.part.type === "tool_call" ? [event.part.id] : [],
      );
    expect(ids(decode(told))).toEqual(["call_msg_1_0", "call_msg_1_1"]);
    expect(ids(decodeAnswer({ id: "msg 1", content: [call, call], stop_reason: "tool_use" }))).toEqual(
      ids(decode(told)),
    );
  });

  test("many blocks that are open at once come out in their order, in bounded work", () => {
    const blocks = Array.from({ length: 6_000 }, (_, n) => n);
    const events = decode([
      ...blocks.map((n) => begin(n, { type: "text", text: "" })),
      ...blocks.map((n) => delta(n, "text_delta", { text: `${n} ` })),
      ...blocks.map((n) => end(n)),
      stop("end_turn"),
    ]);
    const said = events.flatMap((event) => (event.type === "delta" ? [event.text] : []));
    expect(said).toEqual(blocks.map((n) => `${n} `));
    expect(events.filter(({ type }) => type === "part_end")).toHaveLength(6_000);
  }, 2_000);

  test("parts, signatures and calls, each once and in order", () => {
    expect(
      decode([
        { type: "message_start", message: { id: "msg_1", content: [] } },
        begin(0, { type: "thinking", thinking: "", signature: "" }),
        delta(0, "thinking_delta", { thinking: "h" }),
        { type: "ping" },
        delta(0, "thinking_delta", { thinking: "m" }),
        delta(0, "signature_delta", { signature: "S+/=" }),
        end(0),
        begin(1, { type: "redacted_thinking", data: "R" }),
        end(1),
        begin(2, { type: "text", text: "" }),
        delta(2, "text_delta", { text: "Hi" }),
        end(2),
        begin(3, { type: "tool_use", id: "t1", name: "f", input: {} }),
        delta(3, "input_json_delta", { partial_json: "" }),
        delta(3, "input_json_delta", { partial_json: '{"a": ' }),
        delta(3, "input_json_delta", { partial_json: "1}" }),
        end(3),
        begin(4, { type: "tool_use", id: "t2", name: "g", input: {} }),
        end(4),
        stop("tool_use"),
        { type: "ping", credit: 12 },
        { type: "message_stop" },
      ]),
    ).toEqual([
      { type: "start", id: "msg_1" },
      { type: "part_start", ...at(0), part: { type: "thinking", issuer: "anthropic" } },
      { type: "delta", ...at(0), text: "h" },
      { type: "delta", ...at(0), text: "m" },
      { type: "signature", ...at(0), signature: "S+/=" },
      { type: "part_end", ...at(0) },
      { type: "part_start", ...at(1), part: { type: "redacted_thinking", data: "R", issuer: "anthropic" } },
      { type: "part_end", ...at(1) },
      { type: "part_start", ...at(2), part: { type: "text" } },
      { type: "delta", ...at(2), text: "Hi" },
      { type: "part_end", ...at(2) },
      { type: "part_start", ...at(3), part: { type: "tool_call", id: "t1", name: "f" } },
      { type: "delta", ...at(3), text: '{"a": ' },
      { type: "delta", ...at(3), text: "1}" },
      { type: "part_end", ...at(3) },
      { type: "part_start", ...at(4), part: { type: "tool_call", id: "t2", name: "g" } },
      { type: "delta", ...at(4), text: "{}" },
      { type: "part_end", ...at(4) },
      { type: "finish", choice: 0, reason: "tool_calls" },
    ]);
  });

  test("what the provider's own tools did has no place, and leaves no gap", () => {
    const { parts } = onlyChoice(
      decode([
        begin(0, { type: "server_tool_use", id: "s", name: "web_search", input: {} }),
        delta(0, "input_json_delta", { partial_json: '{"query":"x"}' }),
        end(0),
        begin(1, { type: "web_search_tool_result", tool_use_id: "s", content: [] }),
        end(1),
        begin(2, { type: "text", text: "A" }),
        end(2),
        begin(3, { type: "mcp_tool_use", id: "m" }),
        end(3),
        begin(4, { type: "text", text: "B" }),
        end(4),
      ]),
    );
    expect(parts.map(({ text }) => text)).toEqual(["A", "B"]);
  });

  test("a citation stands for the text of its block", () => {
    const web = { type: "web_search_result_location", url: "https://x.test/", title: "X", cited_text: "c" };
    const { parts } = onlyChoice(
      decode([
        begin(0, { type: "text", text: "" }),
        delta(0, "text_delta", { text: "Smile 😀. " }),
        end(0),
        begin(1, { type: "text", text: "", citations: [] }),
        delta(1, "citations_delta", { citation: web }),
        delta(1, "citations_delta", { citation: { type: "char_location", cited_text: "c" } }),
        delta(1, "text_delta", { text: "fact" }),
        end(1),
      ]),
    );
    expect(parts.map(({ citations = [] }) => citations)).toEqual([
      [],
      [{ url: "https://x.test/", title: "X" }],
    ]);
  });

  test("blocks that run into one another come one after another, and nothing is lost", () => {
    const { parts, finish } = onlyChoice(
      decode([
        begin(0, { type: "tool_use", id: "a", name: "f", input: {} }),
        begin(1, { type: "tool_use", id: "b", name: "g", input: {} }),
        delta(0, "input_json_delta", { partial_json: '{"n"' }),
        delta(1, "input_json_delta", { partial_json: "{}" }),
        delta(0, "input_json_delta", { partial_json: ":1}" }),
        end(1),
        begin(2, { type: "text", text: "" }),
        delta(2, "text_delta", { text: "late" }),
        stop("tool_use"),
      ]),
    );
    expect(parts.map(({ text }) => text)).toEqual(['{"n":1}', "{}", "late"]);
    expect(finish).toBe("tool_calls");
  });

  test("text whose block never began is a part all the same", () => {
    const { parts } = onlyChoice(
      decode([
        delta(0, "thinking_delta", { thinking: "hm" }),
        delta(0, "signature_delta", { signature: "S" }),
        end(0),
        delta(1, "text_delta", { text: "Hi" }),
        stop("end_turn"),
      ]),
    );
    expect(parts.map(({ part, text, signature }) => [part.type, text, signature])).toEqual([
      ["thinking", "hm", "S"],
      ["text", "Hi", undefined],
    ]);
  });

  test("a piece of a kind that is not known says nothing, and a call has no text but its input", () => {
    const { parts } = onlyChoice(
      decode([
        begin(0, { type: "text", text: "a" }),
        delta(0, "summary_delta", { text: "?", thinking: "?", partial_json: "?" }),
        delta(0, "text_delta", { text: "b" }),
        end(0),
        begin(1, { type: "tool_use", id: "t", name: "f", input: { x: 1 }, text: "?" }),
        end(1),
        stop("tool_use"),
      ]),
    );
    expect(parts.map(({ text }) => text)).toEqual(["ab", '{"x":1}']);
  });

  test("there is one end, and nothing after it", () => {
    const events = decode([
      stop(null),
      begin(0, { type: "text", text: "A" }),
      stop("max_tokens"),
      stop("end_turn"),
      begin(1, { type: "text", text: "B" }),
    ]);
    expect(events.at(-1)).toEqual({ type: "finish", choice: 0, reason: "length" });
    expect(onlyChoice(events).parts.map(({ text }) => text)).toEqual(["A"]);
  });

  test("a stream that was cut has no end", () => {
    const folded = onlyChoice(decode([begin(0, { type: "text", text: "A" })], false));
    expect(folded.finish).toBeUndefined();
  });
});

describe("the reason why an answer ended is the same, streamed and whole", () => {
  const cases: readonly (readonly [string | null, string])[] = [
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["tool_use", "tool_calls"],
    ["refusal", "content_filter"],
    ["pause_turn", "error"],
    ["word_of_tomorrow", "stop"],
    ["constructor", "stop"],
    [null, "error"],
  ];
  for (const [word, reason] of cases) {
    test(`${word} is ${reason}`, () => {
      const whole = decodeAnswer({ id: "m", content: [], stop_reason: word });
      expect(whole).toEqual([{ type: "start", id: "m" }, { type: "finish", choice: 0, reason } as ChatEvent]);
      if (word !== null) expect(decode([stop(word)])).toEqual(whole.slice(1));
    });
  }

  test("a refusal is told in the provider's words", () => {
    const stop_details = { type: "refusal", category: "cyber", explanation: "No." };
    const want = { type: "finish", choice: 0, reason: "content_filter", refusal: "No." } as const;
    expect(decode([stop("refusal", { stop_details })])).toEqual([want]);
    expect(decodeAnswer({ content: [], stop_reason: "refusal", stop_details }).at(-1)).toEqual(want);
  });

  test("calls before such an end are not lost", () => {
    for (const stop_reason of ["refusal", "model_context_window_exceeded", "pause_turn"]) {
      const content = [{ type: "tool_use", id: "t", name: "f", input: { a: 1 } }];
      expect(onlyChoice(decodeAnswer({ content, stop_reason })).parts[0]?.text).toBe('{"a":1}');
    }
  });
});

const CONTEXT: AnswerContext = { ...ANSWER_CONTEXT };

/** The message that a stream was made from, put together event by event as a client does. */
function messageOf(text: string): JsonObject {
  const content: JsonObject[] = [];
  const inputs = new Map<number, string>();
  let message: JsonObject = {};
  for (const { value } of messagesEvents(text)) {
    const block = content[value.index];
    if (value.type === "message_start") message = { ...value.message };
    if (value.type === "message_delta") message = { ...message, ...value.delta };
    if (value.type === "content_block_start") content[value.index] = { ...value.content_block };
    if (value.type !== "content_block_delta" || block === undefined) continue;
    const { type, text: more, thinking, signature, citation, partial_json } = value.delta;
    if (type === "text_delta") block.text = `${String(block.text)}${more}`;
    if (type === "thinking_delta") block.thinking = `${String(block.thinking)}${thinking}`;
    if (type === "signature_delta") block.signature = signature;
    if (type === "citations_delta")
      block.citations = [...((block.citations as object[] | undefined) ?? []), citation];
    if (type === "input_json_delta")
      inputs.set(value.index, `${inputs.get(value.index) ?? ""}${partial_json}`);
  }
  for (const [index, input] of inputs) {
    const block = content[index];
    if (block !== undefined && input !== "") block.input = inputOf(input);
  }
  return { ...message, content: content.filter((block) => block !== undefined) };
}

/** What an input says; one that the bound on output cut, which no whole answer can hold, says nothing. */
function inputOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** Folded, with inputs as what they say: a stream spells them as its model did. */
function meaning(events: readonly ChatEvent[]) {
  const { id, parts, finish } = onlyChoice(events);
  const said = parts.map((part) => ({
    part: part.part,
    says: part.part.type === "tool_call" ? inputOf(part.text) : part.text,
    signature: part.signature,
    citations: part.citations,
  }));
  return { id, parts: said, finish };
}

const isAvailable = recordingsAvailable();
const recordings = isAvailable
  ? [...loadRecordings("messages"), ...loadRecordings("cross-protocol")].filter(
      ({ protocol, response }) => protocol === "messages" && response.status === 200,
    )
  : [];
// One of them holds a cut answer and then another one, which no stream does.
const streams = recordings.flatMap(({ path, response }) =>
  typeof response.body === "string" && response.body.split("event: message_start").length === 2
    ? [{ path, text: response.body }]
    : [],
);

describe.skipIf(!isAvailable)("recorded answers", () => {
  test(`a recorded stream says what the whole answer would (${streams.length})`, () => {
    expect(streams.length).toBeGreaterThan(50);
    for (const { path, text } of streams) {
      const streamed = streamedEvents(messagesClient, encoder.encode(text), CONTEXT) ?? [];
      expect({ path, ...meaning(streamed) }).toEqual({ path, ...meaning(decodeAnswer(messageOf(text))) });
      expect(onlyChoice(streamed).finish).toBeDefined();
    }
  });

  test("any cut of the bytes gives the same events", () => {
    const long = streams.map(({ text }) => encoder.encode(text)).filter(({ length }) => length < 40_000);
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: long.length - 1 }),
        fc.infiniteStream(fc.integer({ min: 1, max: 3_000 })),
        fc.boolean(),
        (which, sizes, bytewise) => {
          const whole = long[which] ?? new Uint8Array(0);
          const size = (): number => (bytewise && whole.length < 8_000 ? 1 : sizes.next().value);
          expect(streamedEvents(messagesClient, whole, CONTEXT, size)).toEqual(
            streamedEvents(messagesClient, whole, CONTEXT),
          );
        },
      ),
      RUNS,
    );
  });

  test("a recorded whole answer gives each of its blocks once", () => {
    const whole = recordings.flatMap(({ path, response: { body } }) =>
      typeof body === "object" && body !== null && "content" in body
        ? [{ path, body: { ...body, id: "msg_x", content: body.content } }]
        : [],
    );
    expect(whole.length).toBeGreaterThan(50);
    for (const { path, body } of whole) {
      const { parts, id, finish } = onlyChoice(decodeAnswer(body));
      const blocks = (body.content as JsonObject[]).filter(({ type }) =>
        ["text", "thinking", "redacted_thinking", "tool_use"].includes(String(type)),
      );
      const told = parts.map(({ part, text, signature }) =>
        part.type === "tool_call"
          ? { id: part.id, name: part.name, input: inputOf(text) }
          : { data: part.type === "redacted_thinking" ? part.data : text, signature },
      );
      const wanted = blocks.map(({ type, text, thinking, signature, data, id: call, name, input }) =>
        type === "tool_use" ? { id: call, name, input } : { data: data ?? text ?? thinking, signature },
      );
      expect({ path, id, told }).toEqual({ path, id: body.id, told: wanted as typeof told });
      expect(finish).toBeDefined();
    }
  });
});
