import { describe, expect, test } from "bun:test";
import { toBytes } from "../upstream/bytes.ts";
import { createParser } from "eventsource-parser";
import { joinBytes } from "../../src/core/bytes/bytes.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { JsonObject } from "../../src/core/json/json-value.ts";
import { servedBy } from "../../src/protocols/index.ts";
import type { AnswerContext, RelayTarget } from "../../src/protocols/protocol.ts";
import { sse } from "../upstream/sse-bytes.ts";
import { ANSWER_CONTEXT } from "./answer-context.ts";
import { type Json } from "./chat-events.ts";
import { chatTarget } from "./chat-client.ts";
import { FLASH } from "./gemini-sent.ts";
import { wireRequest } from "./wire-request.ts";

// What clients of messages send and are sent where the model's provider speaks another format, from end to end.

const KEY = { secret: "s", account: "a" };
const CHAT = servedBy("compat_messages", "compat_chat_completions")!;
const GEMINI = servedBy("compat_messages", "compat_generate_content")!;
const OPENAI = chatTarget("openai", { prices: {} });
const GOOGLE: RelayTarget = {
  model: { ...FLASH, prices: {} },
  upstreamId: "gemini",
  unknownFields: "remove",
  native: true,
  streamUsageOption: false,
};

const user = (content: unknown) => ({ role: "user", content });
const says = (...content: object[]) => ({ role: "assistant", content });
const text = (said: string) => ({ type: "text", text: said });
const TOOL = { name: "f", input_schema: { type: "object", properties: {} } };

/** What the provider is sent, and what the caller is told of it. */
function sent(body: JsonObject, target: RelayTarget = OPENAI) {
  const way = target === GOOGLE ? GEMINI : CHAT;
  const whole = { model: target.model.id, max_tokens: 99, messages: [user("Hi")], ...body };
  const request = way.readRequest(wireRequest(whole, { carrier: KEY }));
  const up = way.upstreamBody(request, target);
  const bytes = joinBytes(up.body);
  const read = (json: string): Json => JSON.parse(json);
  const json = new TextDecoder().decode(bytes);
  return { up: read(json), json, warnings: up.warnings };
}

function refusalOf(body: JsonObject, target?: RelayTarget): readonly [string | undefined, string] {
  try {
    sent(body, target);
  } catch (error) {
    if (error instanceof GatewayError) return [error.param, error.message];
    throw error;
  }
  return [undefined, "it was taken"];
}

const context: AnswerContext = { ...ANSWER_CONTEXT, carrier: KEY, expectedInput: 42 };

/** The events of a stream of chat completions, as clients of messages read them. */
function streamed(chunks: readonly (JsonObject | "[DONE]")[], way = CHAT, cut = 0): Json[] {
  const stream = way.openStream(context);
  const decoder = new TextDecoder();
  const bytes = sse(chunks);
  let said = "";
  for (let at = 0; at < bytes.length - cut; at += 7)
    said += decoder.decode(
      stream.push(bytes.subarray(at, Math.min(at + 7, bytes.length - cut)))?.slice() ?? toBytes(""),
    );
  said += decoder.decode(stream.end(cut === 0)?.slice() ?? toBytes(""));
  // As the gateway judges it.
  const cutOff = stream.isComplete ? undefined : new GatewayError("upstream_error", "It was cut.");
  const failure = stream.failure ?? cutOff;
  const end =
    failure === undefined
      ? stream.tail(stream.metered(), 1_000_000n)
      : stream.failureTail(failure, stream.metered(), 1_000_000n);
  said += decoder.decode(end);
  const events: Json[] = [];
  createParser({ onEvent: ({ data }) => void events.push(JSON.parse(data)) }).feed(said);
  return events;
}

const chunk = (delta: object, finish: string | null = null): JsonObject => ({
  id: "c1",
  object: "chat.completion.chunk",
  created: 1,
  model: "up",
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const usage = (told: object): JsonObject => ({ ...chunk({}), choices: [], usage: told });
const typesOf = (events: readonly Json[]): string[] => events.map(({ type }) => type);

describe("asked of a provider of chat completions", () => {
  test("T5: an answer's thinking goes back to a vendor that wants it, which signed nothing", () => {
    const [, block] = answerOf({ reasoning_content: "Hm.", content: "Look." });
    expect(block).toEqual(text("Look."));
    const messages = [
      user("a"),
      says(...answerOf({ reasoning_content: "Hm.", content: "Look." })),
      user("b"),
    ];
    const { up } = sent({ messages }, chatTarget("deepseek"));
    expect(up.messages[1]).toEqual({ role: "assistant", content: "Look.", reasoning_content: "Hm." });
  });

  test("T6, T7: others are sent no key for it, and its words in no visible text", () => {
    const messages = [
      user("a"),
      says(...answerOf({ reasoning_content: "Secret words.", content: "Look." })),
      user("b"),
    ];
    for (const vendor of ["openai", "groq", "mistral"] as const) {
      const { json, up } = sent({ messages }, chatTarget(vendor));
      expect(json).not.toContain("Secret words.");
      expect(up.messages[1]).toEqual({ role: "assistant", content: "Look." });
    }
  });

  test("T7: thinking that Claude signed stays out, and is told", () => {
    const thinking = { type: "thinking", thinking: "Secret words.", signature: "EuQB" };
    const { json, warnings } = sent({ messages: [user("a"), says(thinking, text("b")), user("c")] });
    expect(json).not.toContain("Secret words.");
    expect(warnings.join()).toContain("thinking blocks");
  });

  test("T14, T15: results name their calls, in their order, and no text is empty", () => {
    const use = (id: string) => ({ type: "tool_use", id, name: "f", input: {} });
    const result = (id: string, more = {}) => ({
      type: "tool_result",
      tool_use_id: id,
      content: id,
      ...more,
    });
    const messages = [
      user("a"),
      says(text(""), use("t1"), use("t2")),
      user([result("t2", { is_error: true }), result("t1"), text("go")]),
    ];
    const { up } = sent({ messages, tools: [TOOL] });
    expect(up.messages.slice(1)).toEqual([
      {
        role: "assistant",
        content: null,
        tool_calls: ["t1", "t2"].map((id) => ({
          id,
          type: "function",
          function: { name: "f", arguments: "{}" },
        })),
      },
      { role: "tool", tool_call_id: "t1", content: "t1" },
      { role: "tool", tool_call_id: "t2", content: "Error: t2" },
      { role: "user", content: "go" },
    ]);
  });

  test("T17, T18: images of the user and of results reach the model", () => {
    const image = {
      type: "image",
      source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" },
    };
    const use = { type: "tool_use", id: "t", name: "f", input: {} };
    const result = { type: "tool_result", tool_use_id: "t", content: [text("See."), image] };
    const { up } = sent({ messages: [user([image, text("a")]), says(use), user([result])], tools: [TOOL] });
    const images = up.messages.flatMap(({ content }: Json) =>
      Array.isArray(content) ? content.filter(({ type }: Json) => type === "image_url") : [],
    );
    expect(images.map(({ image_url: { url } }: Json) => url)).toEqual(
      Array(2).fill("data:image/png;base64,iVBORw0KGgo="),
    );
  });

  test("T22, T23: ids that a vendor does not take are other ones, alike on call and result", () => {
    const use = { type: "tool_use", id: "toolu_01ABCDEFGHIJKLMNOP", name: "f", input: {} };
    const result = { type: "tool_result", tool_use_id: use.id, content: "x" };
    const { up } = sent(
      { messages: [user("a"), says(use), user([result])], tools: [TOOL] },
      chatTarget("mistral"),
    );
    const [, answer, given] = up.messages;
    expect(answer.tool_calls[0].id).toMatch(/^[a-zA-Z0-9]{9}$/);
    expect(given.tool_call_id).toBe(answer.tool_calls[0].id);
  });

  test("T30, T31: stops are a list, and one call at a time is said without forcing any", () => {
    const choice = { type: "auto", disable_parallel_tool_use: true };
    const { up } = sent({ stop_sequences: ["x"], tools: [TOOL], tool_choice: choice });
    expect(up).toMatchObject({ stop: ["x"], parallel_tool_calls: false, tool_choice: "auto" });
  });

  test("T49: edits of the context and previews are left out, and the request is good", () => {
    const { up, warnings } = sent({ context_management: { edits: [{ type: "clear_tool_uses_20250919" }] } });
    expect(up.context_management).toBeUndefined();
    expect(warnings.join()).toContain("context_management was left out");
  });

  test("T52: a search that the model has not is a 400 that names it alone or chosen, and left out by name beside others", () => {
    const search = { type: "web_search_20250305", name: "web_search" };
    for (const target of [OPENAI, GOOGLE]) {
      const [, sentence] = refusalOf({ tools: [search] }, target);
      expect(sentence).toContain("web_search_20250305");
      const { json, warnings } = sent({ tools: [TOOL, search] }, target);
      expect(json).not.toContain("web_search");
      expect(warnings.join()).toContain("tools[1] (web_search_20250305) was left out");
    }
  });
});

/** The blocks of a plain answer of chat completions. */
function answerOf(
  message: object,
  finish = "stop",
  told: object = { prompt_tokens: 5, completion_tokens: 2 },
): Json[] {
  return plain(message, finish, told).content;
}

function plain(
  message: object,
  finish = "stop",
  told: object = { prompt_tokens: 5, completion_tokens: 2 },
): Json {
  const choice = {
    index: 0,
    message: { role: "assistant", content: null, ...message },
    finish_reason: finish,
  };
  const body = {
    id: "c1",
    object: "chat.completion",
    created: 1,
    model: "up",
    choices: [choice],
    usage: told,
  };
  const answer = CHAT.readAnswer(toBytes(JSON.stringify(body)), context);
  return JSON.parse(new TextDecoder().decode(answer.encode(1_000_000n)));
}

describe("answered by a provider of chat completions", () => {
  test("T10: a stream without usage, or without its end mark, is whole all the same", () => {
    const said = [chunk({ role: "assistant", content: "a" }), chunk({}, "stop")];
    for (const chunks of [[...said, "[DONE]" as const], said]) {
      const events = streamed(chunks);
      expect(typesOf(events).slice(-4)).toEqual([
        "content_block_stop",
        "message_delta",
        "ping",
        "message_stop",
      ]);
      expect(events.at(-3).usage.output_tokens).toBePositive();
    }
  });

  test("T11: reasoning first, then words: two blocks, one beginning, no first token lost", () => {
    const events = streamed([
      chunk({ role: "assistant", content: null, reasoning_content: "H" }),
      chunk({ content: null, reasoning_content: "m" }),
      chunk({ content: "L" }),
      chunk({ content: "o" }, "stop"),
      "[DONE]",
    ]);
    expect(typesOf(events).filter((type) => type === "message_start").length).toBe(1);
    const begun = events.filter(({ type }) => type === "content_block_start");
    expect(begun.map(({ index, content_block: block }) => [index, block.type])).toEqual([
      [0, "thinking"],
      [1, "text"],
    ]);
    const deltas = events.flatMap(({ delta }) => delta?.thinking ?? delta?.text ?? []);
    expect(deltas.join("")).toBe("HmLo");
  });

  test("T41, T43: the end tells the real counts, none below zero, in disjoint buckets", () => {
    const end = (told: object): Json =>
      streamed([chunk({ role: "assistant", content: "a" }), chunk({}, "stop"), usage(told), "[DONE]"]).at(-3)
        .usage;
    const told = { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4 } };
    expect(end(told)).toMatchObject({ input_tokens: 6, cache_read_input_tokens: 4, output_tokens: 5 });
    const odd = { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 40 } };
    expect(end(odd).input_tokens).toBeGreaterThanOrEqual(0);
  });

  test("T44: an answer of nothing but reasoning begins with an empty list of blocks", () => {
    const events = streamed([
      chunk({ role: "assistant", reasoning_content: "Hm." }),
      chunk({}, "stop"),
      "[DONE]",
    ]);
    expect(events[0].message).toMatchObject({ content: [], usage: { input_tokens: 42, output_tokens: 0 } });
    expect(events.at(-1)).toEqual({ type: "message_stop" });
  });

  test("T46, T47: a filter is a refusal, a bound is max_tokens, and both end whole", () => {
    for (const [word, want] of [
      ["content_filter", "refusal"],
      ["length", "max_tokens"],
    ] as const) {
      const events = streamed([chunk({ role: "assistant", content: "a" }), chunk({}, word), "[DONE]"]);
      expect(events.at(-3).delta.stop_reason).toBe(want);
      expect(events.at(-1)).toEqual({ type: "message_stop" });
      expect(plain({ content: "a" }, word).stop_reason).toBe(want);
    }
  });

  test("parallel calls whose pieces interleave are blocks one after another, whatever word ends them", () => {
    const call = (index: number, more: object) => chunk({ tool_calls: [{ index, ...more }] });
    const events = streamed([
      chunk({ role: "assistant", content: null }),
      call(0, { id: "a", type: "function", function: { name: "f", arguments: '{"x"' } }),
      call(1, { id: "b", type: "function", function: { name: "g", arguments: "" } }),
      call(0, { function: { arguments: ":1}" } }),
      call(1, { function: { arguments: '{"y":2}' } }),
      chunk({}, "stop"),
      "[DONE]",
    ]);
    const inputs: string[] = [];
    for (const { type, index, content_block: block, delta } of events) {
      if (type === "content_block_start") inputs.push(`${index} ${block.id} `);
      if (delta?.partial_json !== undefined) inputs[index] += delta.partial_json;
    }
    expect(inputs).toEqual(['0 a {"x":1}', '1 b {"y":2}']);
    expect(events.at(-3).delta.stop_reason).toBe("tool_use");
  });

  test("T48: a stream that is cut anywhere before its finish ends in an error, and in nothing else", () => {
    const said = [
      chunk({ role: "assistant", content: "one two" }),
      chunk({ content: " three" }),
      chunk({}, "stop"),
    ];
    for (const cut of [60, 150, 170]) {
      const types = typesOf(streamed(said, CHAT, cut));
      expect(types.at(-1)).toBe("error");
      expect(types).not.toContain("message_stop");
    }
  });
});

describe("asked of and answered by Gemini", () => {
  test("a call's signature comes in a thinking block before it, and goes back on the same call alone", () => {
    const parts = [
      { text: "Hm.", thought: true },
      { functionCall: { id: "c1", name: "f", args: { n: 1 } }, thoughtSignature: "U0lH" },
      { functionCall: { id: "c2", name: "f", args: {} } },
    ];
    const body = {
      candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }],
      usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 },
    };
    const answer = JSON.parse(
      new TextDecoder().decode(GEMINI.readAnswer(toBytes(JSON.stringify(body)), context).encode(1_000_000n)),
    );
    expect(answer.content.map(({ type }: Json) => type)).toEqual([
      "thinking",
      "thinking",
      "tool_use",
      "tool_use",
    ]);
    expect(answer.stop_reason).toBe("tool_use");
    const results = ["c1", "c2"].map((id) => ({ type: "tool_result", tool_use_id: id, content: "x" }));
    const { up } = sent(
      { messages: [user("a"), says(...answer.content), user(results)], tools: [TOOL] },
      GOOGLE,
    );
    expect(up.contents[1].parts).toEqual(parts.slice(1));
    // Another vendor's model is not sent it.
    const { json } = sent({ messages: [user("a"), says(...answer.content), user(results)], tools: [TOOL] });
    expect(json).not.toContain("U0lH");
  });

  test("top_k, stops, a forced call and a schema have the words of the format", () => {
    const { up } = sent(
      {
        top_k: 7,
        stop_sequences: ["x"],
        tools: [TOOL],
        tool_choice: { type: "any" },
        output_config: { format: { type: "json_schema", schema: { type: "object" } } },
      },
      GOOGLE,
    );
    expect(up.generationConfig).toMatchObject({
      topK: 7,
      stopSequences: ["x"],
      maxOutputTokens: 99,
      responseJsonSchema: { type: "object" },
    });
    expect(up.toolConfig).toEqual({ functionCallingConfig: { mode: "ANY" } });
  });

  test("a call that it could not write is an error, never a good end", () => {
    const malformed = { candidates: [{ content: { parts: [] }, finishReason: "MALFORMED_FUNCTION_CALL" }] };
    const types = typesOf(streamed([malformed], GEMINI));
    expect(types.at(-1)).toBe("error");
    expect(types).not.toContain("message_stop");
  });
});
