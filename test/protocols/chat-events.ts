import { expect } from "bun:test";
import { createParser } from "eventsource-parser";
import type { BegunPart, ChatEvent, Citation, FinishReason } from "../../src/core/chat.ts";
import { GatewayError } from "../../src/core/errors.ts";
import { NO_USAGE } from "../../src/core/money/usage.ts";
import { chatCompletionsServer } from "../../src/protocols/chat-completions/server/index.ts";
import type { Metered } from "../../src/protocols/protocol.ts";
import { ANSWER_CONTEXT } from "./answer-context.ts";

// Answers in no format, written by hand, and what chat completions make of them.

// oxlint-disable-next-line typescript/no-explicit-any -- wire data of a test
export type Json = any;

const METERED: Metered = {
  usage: { ...NO_USAGE, input: 5, cacheRead: 2, output: 1, reasoning: 1 },
  flags: [],
};
export const USAGE = {
  prompt_tokens: 7,
  completion_tokens: 2,
  total_tokens: 9,
  prompt_tokens_details: { cached_tokens: 2, cache_write_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 1, audio_tokens: 0 },
};
const BROKEN = new GatewayError("upstream_error", "It broke.");

export const start: ChatEvent = { type: "start", id: "msg_1" };
export const finish = (reason: FinishReason, choice = 0): ChatEvent => ({
  type: "finish",
  choice,
  reason,
});

/** A part of an answer: how it begins, and what comes of it. */
export interface Said {
  readonly begun: BegunPart;
  readonly deltas?: readonly string[];
  readonly signature?: string;
  readonly citations?: readonly Citation[];
}

export function part(
  index: number,
  { begun, deltas = [], signature, citations = [] }: Said,
  choice = 0,
): ChatEvent[] {
  return [
    { type: "part_start", choice, index, part: begun },
    ...deltas.map((text): ChatEvent => ({ type: "delta", choice, index, text })),
    ...citations.map((citation): ChatEvent => ({ type: "citation", choice, index, citation })),
    ...(signature === undefined ? [] : [{ type: "signature" as const, choice, index, signature }]),
    { type: "part_end", choice, index },
  ];
}

export const text = (...deltas: string[]): Said => ({ begun: { type: "text" }, deltas });
export const thought = (signature: string | undefined, ...deltas: string[]): Said => ({
  begun: { type: "thinking", issuer: "anthropic" },
  deltas,
  ...(signature === undefined ? {} : { signature }),
});
export const toolCall = (id: string, ...deltas: string[]): Said => ({
  begun: { type: "tool_call", id, name: `f_${id}` },
  deltas,
});
export const answer = (...parts: Said[]): ChatEvent[] => [
  start,
  ...parts.flatMap((said, i) => part(i, said)),
];

export function encodeStream(
  events: readonly ChatEvent[],
  end: "good" | "broken" | "unbilled" = "good",
): string {
  const encoder = chatCompletionsServer.openEncoder(ANSWER_CONTEXT);
  const pieces = events.map((event) => encoder.push(event));
  const tail =
    end === "good"
      ? encoder.tail(METERED, 1_500_000n)
      : encoder.failureTail(BROKEN, METERED, end === "broken" ? 1_500_000n : undefined);
  return [...pieces, tail].join("");
}

export function dataOf(stream: string): Json[] {
  const seen: Json[] = [];
  const parser = createParser({
    onEvent: ({ data, event }) => {
      expect(event).toBeUndefined();
      seen.push(data === "[DONE]" ? data : JSON.parse(data));
    },
  });
  parser.feed(stream);
  return seen;
}

export const plainOf = (events: readonly ChatEvent[]): Json =>
  chatCompletionsServer.encodeAnswer(events, METERED, ANSWER_CONTEXT);

/** The message of the first choice of a plain answer. */
export const messageOf = (events: readonly ChatEvent[]): Json => plainOf(events).choices[0].message;

/** Deltas of the first choice, with its finish. */
export const deltasOf = (events: readonly ChatEvent[]): Json[] =>
  dataOf(encodeStream(events))
    .filter((chunk) => chunk !== "[DONE]" && chunk.choices?.length > 0)
    .map(({ choices: [{ delta, finish_reason: reason }] }) =>
      reason === null ? delta : Object.assign({}, delta, { reason }),
    );

export const head = {
  id: "chatcmpl-msg_1",
  object: "chat.completion.chunk",
  created: 1_700_000_000,
  model: "v/m",
};
