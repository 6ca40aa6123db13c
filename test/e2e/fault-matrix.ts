import type { Json } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { chatCompletion, chatStreamEvents } from "../upstream/chat-bytes.ts";
import { afterEvent } from "../upstream/cuts.ts";
import { geminiAnswer, geminiChunks } from "../upstream/gemini-bytes.ts";
import { message, messageEvents } from "../upstream/messages-bytes.ts";
import { response, responseEvents } from "../upstream/responses-bytes.ts";
import { sse } from "../upstream/sse-bytes.ts";

// What the fault matrix and the mixes of faults are made of: answers of each format that providers are asked in.

export type Spoken = "chat_completions" | "messages" | "generate_content" | "responses" | "embeddings";

/** What a provider that speaks a format answers. */
export interface Speech {
  readonly plain: Json;
  /** Events of a stream whose text is "Hello." in two parts. */
  readonly events: readonly Json[];
  /** An error in a stream. */
  readonly error: (type: string) => Json;
  /** The same stream with another usage, or none. */
  readonly used: (input: unknown, output: unknown) => readonly Json[];
}

const words = ["Hel", "lo."];
const chatUsage = (input: unknown, output: unknown): Json => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: 15,
});
const geminiUsage = (input: unknown, output: unknown): Json => ({
  promptTokenCount: input,
  candidatesTokenCount: output,
  totalTokenCount: 15,
});
const messageUsage = (input: unknown, output: unknown): Json => ({
  input_tokens: input,
  output_tokens: output,
});
/** The text comes in one delta for each of these. */
const blocks = [
  { type: "text", text: "Hel" },
  { type: "text", text: "lo." },
];

const answered = (input: unknown, output: unknown) =>
  response([{ type: "output_text", text: "Hello.", annotations: [], logprobs: [] }], [input, output]);

/** Each says "Hello." for 10 tokens of input and 5 of output. */
export const SPEECH: Readonly<Record<Spoken, Speech>> = {
  chat_completions: {
    plain: chatCompletion({ words, usage: chatUsage(10, 5) }),
    events: chatStreamEvents({ words, usage: chatUsage(10, 5) }),
    error: (type) => ({ error: { message: "boom", type } }),
    used: (input, output) => chatStreamEvents({ words, usage: chatUsage(input, output) }),
  },
  messages: {
    plain: message({ blocks, usage: messageUsage(10, 5) }),
    events: messageEvents({ blocks, usage: messageUsage(10, 5) }),
    error: (type) => ({ type: "error", error: { type, message: "boom" } }),
    used: (input, output) => messageEvents({ blocks, usage: messageUsage(input, output) }),
  },
  generate_content: {
    plain: geminiAnswer({ parts: words, usage: geminiUsage(10, 5) }),
    events: geminiChunks({ parts: words, usage: geminiUsage(10, 5) }),
    error: (type) => ({ error: { code: 0, message: "boom", status: type } }),
    used: (input, output) => geminiChunks({ parts: words, usage: geminiUsage(input, output) }),
  },
  responses: {
    plain: answered(10, 5),
    events: responseEvents(answered(10, 5), words),
    error: (type) => ({ type: "error", code: type, message: "boom", param: null, sequence_number: 4 }),
    used: (input, output) => responseEvents(answered(input, output), words),
  },
  embeddings: {
    plain: {
      object: "list",
      model: "up",
      data: [{ object: "embedding", index: 0, embedding: [1, 0] }],
      usage: { prompt_tokens: 20, total_tokens: 20 },
    },
    events: [],
    error: () => ({}),
    used: () => [],
  },
};

/** The bytes of a stream. */
export function streamBytes(spoken: Spoken, events: readonly Json[] = SPEECH[spoken].events): Uint8Array {
  const named = spoken === "messages" || spoken === "responses";
  return sse(events, named ? { eventName: (event) => (event as Json).type } : {});
}

export const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** How many events there are until the first part of the text has come. */
export function untilContent(spoken: Spoken): number {
  return SPEECH[spoken].events.findIndex((event) => JSON.stringify(event).includes('Hel"')) + 1;
}

/** How many events there are before any content: an item that begins is some. */
export const BEFORE_CONTENT: Readonly<Record<Spoken, number>> = {
  chat_completions: 1,
  messages: 2,
  generate_content: 0,
  responses: 1,
  embeddings: 0,
};

export const goodAnswer = (spoken: Spoken, stream: boolean): Answer =>
  stream ? sseAnswer(streamBytes(spoken)) : jsonAnswer(200, SPEECH[spoken].plain);

/** A stream that breaks off by FIN behind the first part of its text. */
export function cutBehindContent(spoken: Spoken): Answer {
  const bytes = streamBytes(spoken);
  return { ...sseAnswer(bytes), framing: "close", end: { at: placeBehindContent(spoken), how: "fin" } };
}

export const placeBehindContent = (spoken: Spoken): number =>
  afterEvent(streamBytes(spoken), untilContent(spoken));

/** A stream whose first `count` events are followed by `more`. */
export function streamWith(spoken: Spoken, count: number, more: readonly Json[]): Answer {
  return sseAnswer(streamBytes(spoken, [...SPEECH[spoken].events.slice(0, count), ...more]));
}
