import type { Answer } from "./answer.ts";
import { jsonAnswer, sseAnswer } from "./answer.ts";
import { sse } from "./sse-bytes.ts";
import type { SseData, SseOptions } from "./sse-bytes.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** A tool call of an answer; in a stream its arguments come in the given pieces. */
export interface ChatToolCall {
  readonly id: string;
  readonly name: string;
  /** The JSON text of the arguments, in pieces. */
  readonly arguments: readonly string[];
}

/** What a made-up chat completion says; everything has a default. */
export interface ChatForm {
  readonly id?: string;
  readonly model?: string;
  readonly created?: number;
  /** One content delta each; joined they are the content. */
  readonly words?: readonly string[];
  /** One `reasoning_content` delta each. */
  readonly reasoning?: readonly string[];
  readonly toolCalls?: readonly ChatToolCall[];
  /** `stop`, or `tool_calls` where there are some, when not given; null leaves the finish out. */
  readonly finishReason?: string | null;
  /** Null leaves the usage out. */
  readonly usage?: JsonObject | null;
}

/** What only the streamed form has. */
export interface ChatStreamForm extends ChatForm, SseOptions {
  /** False leaves out `[DONE]`. */
  readonly done?: boolean;
}

const DEFAULT_USAGE = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };

/** A plain chat completion as OpenAI would send it. */
export function chatCompletion(form: ChatForm = {}): JsonObject {
  const { words, toolCalls, reasoning } = form;
  const message = {
    role: "assistant",
    content: words === undefined && toolCalls !== undefined ? null : (words ?? ["Hello", "!"]).join(""),
    refusal: null,
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning.join("") }),
    ...(toolCalls === undefined ? {} : { tool_calls: toolCalls.map((call) => wholeCall(call)) }),
  };
  const choice = { index: 0, message, logprobs: null, finish_reason: finishReason(form) };
  return { ...envelope(form, "chat.completion"), choices: [choice], ...usageOf(form) };
}

/** The chunks of a streamed chat completion, with `[DONE]` as the last, for tests that change some of them. */
export function chatStreamEvents(form: ChatStreamForm = {}): SseData[] {
  const deltas: JsonObject[] = [
    { role: "assistant", content: "" },
    ...(form.reasoning ?? []).map((text) => ({ reasoning_content: text })),
    ...wordsOf(form).map((text) => ({ content: text })),
    ...(form.toolCalls ?? []).flatMap((call, index) => callDeltas(call, index)),
  ];
  const base = envelope(form, "chat.completion.chunk");
  const chunk = (delta: JsonObject, finish: string | null) => ({
    ...base,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  });
  const events: SseData[] = deltas.map((delta) => chunk(delta, null));
  const finish = finishReason(form);
  if (finish !== null) events.push(chunk({}, finish));
  if (form.usage !== null) events.push({ ...base, choices: [], ...usageOf(form) });
  if (form.done !== false) events.push("[DONE]");
  return events;
}

/** The bytes of a streamed chat completion as OpenAI would send it. */
export function chatStream(form: ChatStreamForm = {}): Uint8Array {
  return sse(chatStreamEvents(form), form);
}

/** A plain chat completion as an answer. */
export function chatAnswer(form: ChatForm = {}, more: Partial<Answer> = {}): Answer {
  return jsonAnswer(200, chatCompletion(form), more);
}

/** A streamed chat completion as an answer, each event its own write. */
export function chatStreamAnswer(form: ChatStreamForm = {}, more: Partial<Answer> = {}): Answer {
  return sseAnswer(chatStream(form), more);
}

function envelope(form: ChatForm, object: string): JsonObject {
  return {
    id: form.id ?? "chatcmpl-double",
    object,
    created: form.created ?? 1_700_000_000,
    model: form.model ?? "double-1",
  };
}

function wordsOf(form: ChatForm): readonly string[] {
  return form.words ?? (form.toolCalls === undefined ? ["Hello", "!"] : []);
}

function finishReason(form: ChatForm): string | null {
  if (form.finishReason !== undefined) return form.finishReason;
  return form.toolCalls === undefined ? "stop" : "tool_calls";
}

function usageOf(form: ChatForm): JsonObject {
  return form.usage === null ? {} : { usage: form.usage ?? DEFAULT_USAGE };
}

function wholeCall(call: ChatToolCall): JsonObject {
  return { id: call.id, type: "function", function: { name: call.name, arguments: call.arguments.join("") } };
}

function callDeltas(call: ChatToolCall, index: number): JsonObject[] {
  const delta = (fields: JsonObject) => ({ tool_calls: [{ index, ...fields }] });
  return [
    delta({ id: call.id, type: "function", function: { name: call.name, arguments: "" } }),
    ...call.arguments.map((piece) => delta({ function: { arguments: piece } })),
  ];
}
