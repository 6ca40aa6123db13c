import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../core/json/json-value.ts";
import type { Model } from "../../../core/model.ts";
import type { Answer, Choice, Piece } from "../answer.ts";
import { Refusal } from "./ask.ts";
import { chatFormat } from "./chat-answer.ts";
import type { SandboxFormat } from "./format.ts";
import { generateFormat } from "./generate-answer.ts";
import { messagesFormat } from "./messages-answer.ts";
import { responsesFormat } from "./responses-answer.ts";

// One answer as each vendor's server writes it: whole, and as a stream.

const MODEL = { id: "v/m" } as Model;
const SIGNED = "c2ln";
const THOUGHT: Piece = { type: "thinking", text: "Hm.", shown: true, signature: SIGNED, token: "dG9r" };
const TEXT: Piece = { type: "text", text: "Hi", signature: SIGNED };
const CALL: Piece = { type: "call", id: "c1", name: "f", input: { a: 1 }, isText: false, signature: SIGNED };
const CUSTOM: Piece = { ...CALL, id: "c2", name: "g", input: { input: "x" }, isText: true };
const IMAGE = { type: "image", order: {}, data: "AAAA", signature: "a+b/c==" } as unknown as Piece;

const answerOf = (pieces: readonly Piece[], more: Partial<Choice> = {}): Answer => ({
  id: "id1",
  choices: [{ pieces, finish: "stop", ...more }],
  usage: { input: 7, text: 3, thinking: 2, image: 0 },
});
const WHOLE = answerOf([THOUGHT, TEXT, CALL, CUSTOM], { finish: "calls" });

const context = (body: JsonObject = {}) => ({ body, model: MODEL, nowSec: 99 });
const plain = (format: SandboxFormat, answer: Answer, body?: JsonObject) =>
  format.writePlain(answer, context(body));

interface Told {
  readonly name: string | undefined;
  readonly data: JsonObject;
  readonly tokens: number;
}

function streamed(format: SandboxFormat, answer: Answer, body?: JsonObject): readonly Told[] {
  return [...format.writeStream(answer, context(body))].map(({ text, tokens }) => {
    const [, name, data = ""] = /^(?:event: (.*)\n)?data: (.*)\n\n$/.exec(text) ?? [];
    return { name, data: data === "[DONE]" ? {} : JSON.parse(data), tokens };
  });
}

const dataOf = (told: readonly Told[]): readonly JsonObject[] => told.map(({ data }) => data);
const tokensOf = (told: readonly Told[]): readonly number[] => told.map(({ tokens }) => tokens);

const refusal = (format: SandboxFormat, meaning: Refusal["meaning"], status: number, param?: string) =>
  format.writeRefusal(new Refusal(status, meaning, "No.", param));
const MEANINGS = ["invalid", "too_long", "moderation", "overloaded", "timeout", "not_found"] as const;

describe("chat completions", () => {
  const head = { id: "chatcmpl-id1", created: 99, model: "v/m" };
  const usage = {
    prompt_tokens: 7,
    completion_tokens: 5,
    total_tokens: 12,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 2, audio_tokens: 0 },
  };
  const details = [{ type: "thinking", thinking: "Hm.", signature: SIGNED, index: 0 }];
  const calls = [
    { id: "call_c1", type: "function", function: { name: "f", arguments: '{"a":1}' } },
    { id: "call_c2", type: "custom", custom: { name: "g", input: "x" } },
  ];
  const message = { role: "assistant", content: "Hi", refusal: null };
  const thought = { reasoning_content: "Hm.", reasoning_details: details };

  test("are written whole", () => {
    expect(plain(chatFormat, WHOLE)).toEqual({
      ...head,
      object: "chat.completion",
      choices: [
        {
          index: 0,
          message: { ...message, ...thought, tool_calls: calls },
          logprobs: null,
          finish_reason: "tool_calls",
        },
      ],
      usage,
    });
  });

  test("are streamed: a role, what was said, how it ended, and usage where it is asked for", () => {
    const told = streamed(chatFormat, WHOLE, { stream_options: { include_usage: true } });
    const chunk = (delta: object, finish_reason: string | null = null) => ({
      ...head,
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta, logprobs: null, finish_reason }],
    });
    expect(dataOf(told)).toEqual([
      chunk({ role: "assistant", content: "", refusal: null }),
      chunk({ reasoning_content: "Hm." }),
      chunk({ reasoning_details: details }),
      chunk({ content: "Hi" }),
      chunk({ tool_calls: [{ index: 0, ...calls[0], function: { name: "f", arguments: "" } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{"a":1}' } }] }),
      chunk({ tool_calls: [{ index: 1, ...calls[1], custom: { name: "g", input: "" } }] }),
      chunk({ tool_calls: [{ index: 1, custom: { input: "x" } }] }),
      chunk({}, "tool_calls"),
      { ...head, object: "chat.completion.chunk", choices: [], usage },
      {},
    ]);
    expect(tokensOf(told)).toEqual([0, 1, 0, 1, 0, 2, 0, 1, 0, 0, 0]);
    expect(streamed(chatFormat, WHOLE)).toHaveLength(10);
  });

  test("have no sign of thinking that is not shown, and an image with its signature", () => {
    const hidden = plain(chatFormat, answerOf([{ ...THOUGHT, shown: false }, TEXT]));
    expect(hidden.choices).toMatchObject([{ message: { ...message }, finish_reason: "stop" }]);
    expect(JSON.stringify(hidden)).not.toContain("Hm.");
    const images = [
      { type: "image_url", image_url: { url: "data:image/png;thought_signature=a-b_c;base64,AAAA" } },
    ];
    const drawn = { ...answerOf([IMAGE]), usage: { input: 7, text: 0, thinking: 0, image: 9 } };
    expect(plain(chatFormat, drawn)).toMatchObject({
      choices: [{ message: { content: null, images } }],
      usage: { completion_tokens: 9, total_tokens: 16, completion_tokens_details: { image_tokens: 9 } },
    });
    expect(dataOf(streamed(chatFormat, drawn))[1]).toMatchObject({ choices: [{ delta: { images } }] });
  });

  test("call in the old words where functions were given", () => {
    const body = { functions: [{ name: "f" }] };
    const called = answerOf([CALL], { finish: "calls" });
    const function_call = { name: "f", arguments: '{"a":1}' };
    expect(plain(chatFormat, called, body)).toMatchObject({
      choices: [{ message: { content: null, function_call }, finish_reason: "function_call" }],
    });
    const told = streamed(chatFormat, called, body);
    expect(dataOf(told).slice(1, 3)).toMatchObject([
      { choices: [{ delta: { function_call: { name: "f", arguments: "" } } }] },
      { choices: [{ delta: { function_call: { arguments: '{"a":1}' } } }] },
    ]);
    expect(tokensOf(told)).toEqual([0, 0, 2, 0, 0]);
  });

  test("say how likely each token was where it is asked for", () => {
    const likely = (token: string, logprob: number) => ({
      token,
      logprob,
      bytes: Array.from(new TextEncoder().encode(token)),
    });
    const content = [{ ...likely("Hi", -0.2), top_logprobs: [likely("Hi", -0.2), likely("Hi'", -1.3)] }];
    const body = { logprobs: true, top_logprobs: 2 };
    expect(plain(chatFormat, answerOf([TEXT]), body)).toMatchObject({
      choices: [{ logprobs: { content, refusal: null } }],
    });
    expect(plain(chatFormat, answerOf([TEXT]), { logprobs: true })).toMatchObject({
      choices: [{ logprobs: { content: [{ ...likely("Hi", -0.2), top_logprobs: [] }] } }],
    });
    expect(dataOf(streamed(chatFormat, answerOf([TEXT]), body))[1]).toMatchObject({
      choices: [{ logprobs: { content } }],
    });
  });

  test("are refused in OpenAI's codes", () => {
    const codes = MEANINGS.map((meaning) => refusal(chatFormat, meaning, 499).error);
    expect(codes).toMatchObject(
      [
        null,
        "context_length_exceeded",
        "content_policy_violation",
        "server_overloaded",
        null,
        "model_not_found",
      ].map((code) => ({ message: "No.", type: "invalid_request_error", param: null, code })),
    );
    expect(refusal(chatFormat, "overloaded", 500, "p").error).toMatchObject({
      type: "server_error",
      param: "p",
    });
  });
});

describe("messages", () => {
  const head = { id: "msg_id1", type: "message", role: "assistant", model: "v/m" };
  const usage = {
    input_tokens: 7,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 5,
    output_tokens_details: { thinking_tokens: 2 },
    service_tier: "standard",
  };
  const content = [
    { type: "thinking", thinking: "Hm.", signature: SIGNED },
    { type: "text", text: "Hi" },
    { type: "tool_use", id: "toolu_c1", name: "f", input: { a: 1 } },
  ];
  const answer = answerOf([THOUGHT, TEXT, CALL], { finish: "calls" });

  test("are written whole", () => {
    expect(plain(messagesFormat, answer)).toEqual({
      ...head,
      content,
      stop_reason: "tool_use",
      stop_sequence: null,
      usage,
    });
  });

  test("are streamed block by block", () => {
    const told = streamed(messagesFormat, answer);
    const { output_tokens_details: _none, ...begun } = usage;
    const delta = (index: number, said: object) => ({ type: "content_block_delta", index, delta: said });
    const start = (index: number, content_block: object) => ({
      type: "content_block_start",
      index,
      content_block,
    });
    const stop = (index: number) => ({ type: "content_block_stop", index });
    expect(dataOf(told)).toEqual([
      {
        type: "message_start",
        message: {
          ...head,
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { ...begun, output_tokens: 1 },
        },
      },
      { type: "ping" },
      start(0, { type: "thinking", thinking: "", signature: "" }),
      delta(0, { type: "thinking_delta", thinking: "Hm." }),
      delta(0, { type: "signature_delta", signature: SIGNED }),
      stop(0),
      start(1, { type: "text", text: "" }),
      delta(1, { type: "text_delta", text: "Hi" }),
      stop(1),
      start(2, { ...content[2], input: {} }),
      delta(2, { type: "input_json_delta", partial_json: '{"a":1}' }),
      stop(2),
      { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage },
      { type: "message_stop" },
    ]);
    expect(told.map(({ name }) => name)).toEqual(dataOf(told).map(({ type }) => type) as string[]);
    expect(tokensOf(told).filter((tokens) => tokens > 0)).toEqual([1, 1, 2]);
  });

  test("end for a reason, and have thinking that is not shown without its words", () => {
    const ends = (more: Partial<Choice>) => {
      const { stop_reason, stop_sequence } = plain(messagesFormat, answerOf([TEXT], more));
      return [stop_reason, stop_sequence];
    };
    expect(ends({})).toEqual(["end_turn", null]);
    expect(ends({ finish: "length" })).toEqual(["max_tokens", null]);
    expect(ends({ stopSequence: "x" })).toEqual(["stop_sequence", "x"]);
    const hidden = plain(messagesFormat, answerOf([{ ...THOUGHT, shown: false }, IMAGE]));
    expect(hidden.content).toEqual([{ type: "thinking", thinking: "", signature: SIGNED }]);
  });

  test("are counted and refused in Anthropic's words", () => {
    expect(messagesFormat.writeCount?.(5)).toEqual({ input_tokens: 5 });
    const types = MEANINGS.map((meaning) => refusal(messagesFormat, meaning, 400));
    expect(types).toEqual(
      [
        "invalid_request_error",
        "invalid_request_error",
        "invalid_request_error",
        "overloaded_error",
        "timeout_error",
        "not_found_error",
      ].map((type) => ({ type: "error", error: { type, message: "No." } })),
    );
    expect(refusal(messagesFormat, "invalid", 400, "p").error).toMatchObject({ param: "p" });
  });
});

describe("generateContent", () => {
  const named = { modelVersion: "v/m", responseId: "id1" };
  const usage = {
    promptTokenCount: 7,
    candidatesTokenCount: 3,
    thoughtsTokenCount: 2,
    totalTokenCount: 12,
  };
  const call = (id: string, name: string, args: object) => ({ functionCall: { id, name, args } });
  const parts = [
    { text: "Hm.", thought: true },
    { text: "Hi", thoughtSignature: SIGNED },
    { ...call("c1", "f", { a: 1 }), thoughtSignature: SIGNED },
    call("c2", "g", { input: "x" }),
  ];
  const candidate = (said: readonly object[], more: object = {}) => ({
    content: { role: "model", parts: said },
    ...more,
    index: 0,
  });

  test("is written whole", () => {
    expect(plain(generateFormat, WHOLE)).toEqual({
      candidates: [candidate(parts, { finishReason: "STOP" })],
      ...named,
      usageMetadata: usage,
    });
  });

  test("is streamed part by part, each signature behind its text, and usage at the end", () => {
    const told = streamed(generateFormat, WHOLE);
    const begun = { ...named, usageMetadata: { promptTokenCount: 7, totalTokenCount: 7 } };
    const chunk = (part: object) => ({ candidates: [candidate([part])], ...begun });
    expect(dataOf(told)).toEqual([
      chunk({ text: "Hm.", thought: true }),
      chunk({ text: "Hi" }),
      chunk({ text: "", thoughtSignature: SIGNED }),
      chunk(parts[2]!),
      chunk(parts[3]!),
      { candidates: [candidate([{ text: "" }], { finishReason: "STOP" })], ...named, usageMetadata: usage },
    ]);
    expect(tokensOf(told)).toEqual([1, 1, 0, 0, 0, 0]);
  });

  test("has each candidate's end, and usage at the last", () => {
    const [one] = answerOf([TEXT]).choices;
    const two = { ...answerOf([]), choices: [one!, { ...one!, finish: "length" as const }] };
    expect(plain(generateFormat, two).candidates).toMatchObject([
      { content: { parts: [{ text: "Hi" }] }, finishReason: "STOP", index: 0 },
      { finishReason: "MAX_TOKENS", index: 1 },
    ]);
    const ends = dataOf(streamed(generateFormat, two)).filter((_, i) => i % 2 === 1);
    expect(ends).toMatchObject([
      { usageMetadata: { totalTokenCount: 7 } },
      { usageMetadata: { totalTokenCount: 12 } },
    ]);
  });

  test("has images with their signature and their tokens, and no thinking that is not shown", () => {
    const drawn = {
      ...answerOf([{ ...THOUGHT, shown: false }, IMAGE]),
      usage: { input: 7, text: 1, thinking: 0, image: 9 },
    };
    expect(plain(generateFormat, drawn)).toMatchObject({
      candidates: [
        candidate([{ inlineData: { mimeType: "image/png", data: "AAAA" }, thoughtSignature: "a+b/c==" }]),
      ],
      usageMetadata: {
        candidatesTokenCount: 10,
        totalTokenCount: 17,
        candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 9 }],
      },
    });
    expect(Object.keys(plain(generateFormat, drawn).usageMetadata as object)).not.toContain(
      "thoughtsTokenCount",
    );
  });

  test("is counted and refused in Google's words", () => {
    expect(generateFormat.writeCount?.(5)).toEqual({
      totalTokens: 5,
      promptTokensDetails: [{ modality: "TEXT", tokenCount: 5 }],
    });
    const statuses = MEANINGS.map((meaning) => refusal(generateFormat, meaning, 400).error as JsonObject);
    expect(statuses.map(({ status }) => status)).toEqual([
      "INVALID_ARGUMENT",
      "INVALID_ARGUMENT",
      "INVALID_ARGUMENT",
      "UNAVAILABLE",
      "DEADLINE_EXCEEDED",
      "NOT_FOUND",
    ]);
    expect(statuses.map(({ details }) => details !== undefined)).toEqual([
      false,
      false,
      true,
      false,
      false,
      false,
    ]);
    expect(refusal(generateFormat, "invalid", 400, "p").error).toEqual({
      code: 400,
      message: "No.",
      status: "INVALID_ARGUMENT",
      param: "p",
    });
  });
});

describe("responses", () => {
  const items = (status: string) => [
    {
      id: "rs_id10",
      type: "reasoning",
      summary: [{ type: "summary_text", text: "Hm." }],
      encrypted_content: "dG9r",
    },
    {
      id: "msg_id11",
      type: "message",
      status: "completed",
      role: "assistant",
      content: [{ type: "output_text", text: "Hi", annotations: [], logprobs: [] }],
    },
    {
      id: "fc_id12",
      type: "function_call",
      status: "completed",
      call_id: "call_c1",
      name: "f",
      arguments: '{"a":1}',
    },
    {
      id: "ctc_id13",
      type: "custom_tool_call",
      status,
      call_id: "call_c2",
      name: "g",
      namespace: "n",
      input: "x",
    },
  ];
  const body = { tools: [{ type: "namespace", name: "n", tools: [{ type: "custom", name: "g" }] }] };
  const response = {
    id: "resp_id1",
    object: "response",
    created_at: 99,
    status: "completed",
    background: false,
    completed_at: 99,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    model: "v/m",
    output: items("completed"),
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: false,
    temperature: 1,
    text: { format: { type: "text" }, verbosity: "medium" },
    tool_choice: "auto",
    tools: body.tools,
    top_logprobs: 0,
    top_p: 1,
    truncation: "disabled",
    service_tier: "default",
    usage: {
      input_tokens: 7,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 12,
    },
    metadata: {},
  };

  test("are written whole", () => {
    expect(plain(responsesFormat, WHOLE, body)).toEqual(response);
    expect(
      plain(responsesFormat, { ...WHOLE, choices: [{ ...WHOLE.choices[0]!, finish: "length" }] }, body),
    ).toEqual({
      ...response,
      status: "incomplete",
      completed_at: null,
      incomplete_details: { reason: "max_output_tokens" },
      output: items("incomplete"),
    });
  });

  test("repeat what was asked for, and have no summary of thinking that is not shown", () => {
    const asked = {
      instructions: "i",
      max_output_tokens: 5,
      max_tool_calls: 6,
      parallel_tool_calls: false,
      reasoning: { effort: "low", summary: null },
      temperature: 0,
      text: { format: { type: "json_object" }, verbosity: "low" },
      tool_choice: "none",
      top_logprobs: 2,
      top_p: 0.5,
      truncation: "auto",
    };
    expect(plain(responsesFormat, WHOLE, asked)).toMatchObject({ ...asked, tools: [] });
    const hidden = plain(responsesFormat, answerOf([{ ...THOUGHT, shown: false }, IMAGE])).output;
    expect(hidden).toEqual([{ id: "rs_id10", type: "reasoning", summary: [], encrypted_content: "dG9r" }]);
  });

  test("are streamed item by item", () => {
    const told = streamed(responsesFormat, WHOLE, body);
    const begun = {
      ...response,
      status: "in_progress",
      output: [],
      usage: null,
      completed_at: null,
      incomplete_details: null,
    };
    const [reasoning, message, call, custom] = items("completed");
    const open = (output_index: number, item: object) => ["output_item.added", { output_index, item }];
    const done = (output_index: number, item: object) => ["output_item.done", { output_index, item }];
    const of = (output_index: number, item_id: string, type: string, data: object) => [
      type,
      { item_id, output_index, ...data },
    ];
    const summary = { type: "summary_text", text: "Hm." };
    const text = { type: "output_text", text: "Hi", annotations: [], logprobs: [] };
    const events = [
      ["created", { response: begun }],
      ["in_progress", { response: begun }],
      open(0, { ...reasoning, summary: [], encrypted_content: "" }),
      of(0, "rs_id10", "reasoning_summary_part.added", { summary_index: 0, part: { ...summary, text: "" } }),
      of(0, "rs_id10", "reasoning_summary_text.delta", { summary_index: 0, delta: "Hm." }),
      of(0, "rs_id10", "reasoning_summary_text.done", { summary_index: 0, text: "Hm." }),
      of(0, "rs_id10", "reasoning_summary_part.done", { summary_index: 0, part: summary }),
      done(0, reasoning!),
      open(1, { ...message, content: [], status: "in_progress" }),
      of(1, "msg_id11", "content_part.added", { content_index: 0, part: { ...text, text: "" } }),
      of(1, "msg_id11", "output_text.delta", { content_index: 0, delta: "Hi", logprobs: [] }),
      of(1, "msg_id11", "output_text.done", { content_index: 0, text: "Hi", logprobs: [] }),
      of(1, "msg_id11", "content_part.done", { content_index: 0, part: text }),
      done(1, message!),
      open(2, { ...call, arguments: "", status: "in_progress" }),
      of(2, "fc_id12", "function_call_arguments.delta", { delta: '{"a":1}' }),
      of(2, "fc_id12", "function_call_arguments.done", { name: "f", arguments: '{"a":1}' }),
      done(2, call!),
      open(3, { ...custom, input: "", status: "in_progress" }),
      of(3, "ctc_id13", "custom_tool_call_input.delta", { delta: "x" }),
      of(3, "ctc_id13", "custom_tool_call_input.done", { input: "x" }),
      done(3, custom!),
      ["completed", { response }],
    ] as const;
    expect(told.map(({ name, data }) => [name, data] as const)).toEqual(
      events.map(([type, data], i) => [
        `response.${type as string}`,
        { type: `response.${type as string}`, sequence_number: i, ...(data as object) },
      ]),
    );
    expect(tokensOf(told).filter((tokens) => tokens > 0)).toEqual([1, 1, 2, 1]);
  });

  test("are counted in OpenAI's words", () => {
    expect(responsesFormat.writeCount?.(5)).toEqual({ object: "response.input_tokens", input_tokens: 5 });
  });
});
