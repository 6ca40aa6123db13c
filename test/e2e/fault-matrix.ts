import type { Json } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { chatCompletion, chatStreamEvents } from "../upstream/chat-bytes.ts";
import { afterEvent } from "../upstream/cuts.ts";
import { geminiAnswer, geminiChunks } from "../upstream/gemini-bytes.ts";
import { message, messageEvents } from "../upstream/messages-bytes.ts";
import { response, responseEvents } from "../upstream/responses-bytes.ts";
import { sse } from "../upstream/sse-bytes.ts";

// What the fault matrix and the mixes of faults are made of: answers of each format that providers are asked in.

export type Spoken =
  | "chat_completions"
  | "messages"
  | "generate_content"
  | "responses"
  | "embeddings"
  /** Of tokens, in the format of whoever asks. */
  | "counting";

/** Tokens of input and output as a provider says them; null where it says none. */
export type Tokens = readonly [input: unknown, output: unknown] | null;

interface Said {
  readonly plain: Json;
  /** Events of a stream whose text is "Hello." in two parts. */
  readonly events: readonly Json[];
}

/** What a provider that speaks a format answers: "Hello." for 10 tokens of input and 5 of output. */
export interface Speech extends Said {
  /** The same for other tokens. */
  readonly used: (tokens: Tokens) => Said;
  /** An error in a stream. */
  readonly error: (type: string) => Json;
}

function speech(used: Speech["used"], error: Speech["error"]): Speech {
  return { ...used([10, 5]), used, error };
}

const words = ["Hel", "lo."];
/** The text of a message comes in one delta for each of these. */
const blocks = words.map((text) => ({ type: "text", text }));
const content = [{ type: "output_text", text: "Hello.", annotations: [], logprobs: [] }];

/** Usage as a format has it. */
export const USAGE = {
  chat_completions: (input: unknown, output: unknown): Json => ({
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: 15,
  }),
  messages: (input: unknown, output: unknown): Json => ({ input_tokens: input, output_tokens: output }),
  generate_content: (input: unknown, output: unknown): Json => ({
    promptTokenCount: input,
    candidatesTokenCount: output,
    totalTokenCount: 15,
  }),
} as const;

const usageOf = (format: keyof typeof USAGE, tokens: Tokens): Json => tokens && USAGE[format](...tokens);
const list = (usage: Json): Json => ({
  object: "list",
  model: "up",
  data: [{ object: "embedding", index: 0, embedding: [1, 0] }],
  usage,
});

export const SPEECH: Readonly<Record<Spoken, Speech>> = {
  chat_completions: speech(
    (tokens) => {
      const form = { words, usage: usageOf("chat_completions", tokens) };
      return { plain: chatCompletion(form), events: chatStreamEvents(form) };
    },
    (type) => ({ error: { message: "boom", type } }),
  ),
  messages: speech(
    (tokens) => {
      const usage = usageOf("messages", tokens);
      const form = { blocks, usage, ...(tokens === null ? { startUsage: null } : {}) };
      return { plain: message(form), events: messageEvents(form) };
    },
    (type) => ({ type: "error", error: { type, message: "boom" } }),
  ),
  generate_content: speech(
    (tokens) => {
      const form = { parts: words, usage: usageOf("generate_content", tokens) };
      return { plain: geminiAnswer(form), events: geminiChunks(form) };
    },
    (type) => ({ error: { code: 0, message: "boom", status: type } }),
  ),
  responses: speech(
    (tokens) => {
      const plain = response(content, tokens);
      return { plain, events: responseEvents(plain, words) };
    },
    (type) => ({ type: "error", code: type, message: "boom", param: null, sequence_number: 4 }),
  ),
  embeddings: speech(
    (tokens) => ({
      plain: list(tokens && { prompt_tokens: Number(tokens[0]) * 2, total_tokens: 20 }),
      events: [],
    }),
    () => ({}),
  ),
  counting: speech(
    (tokens) => ({ plain: { input_tokens: tokens?.[0], totalTokens: tokens?.[0] }, events: [] }),
    () => ({}),
  ),
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
  counting: 0,
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
