import { expect } from "bun:test";
import { createParser } from "eventsource-parser";
import type { ChatEvent } from "../../src/core/chat.ts";
import type { GatewayError } from "../../src/core/errors.ts";
import { NO_USAGE } from "../../src/core/money/usage.ts";
import type { AnswerContext, Metered } from "../../src/protocols/protocol.ts";
import { encodeAnswer } from "../../src/protocols/responses/server/encode-answer.ts";
import { openEncoder } from "../../src/protocols/responses/server/encode-events.ts";
import { ANSWER_CONTEXT } from "./answer-context.ts";
import { type Json } from "./chat-events.ts";

// Answers in no format, and what Responses makes of them.

export const KEY = { secret: "s", account: "a" };
export const RESPONSE_CONTEXT: AnswerContext = { ...ANSWER_CONTEXT, carrier: KEY };
const METERED: Metered = {
  usage: { ...NO_USAGE, input: 40, cacheRead: 10, output: 15, reasoning: 5 },
  flags: [],
};
export const RESPONSE_USAGE = {
  input_tokens: 50,
  input_tokens_details: { cached_tokens: 10, cache_write_tokens: 0 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 5 },
  total_tokens: 70,
};

/** A stream of these events, with its tail. */
export function responseStream(
  events: readonly ChatEvent[],
  { context = RESPONSE_CONTEXT, broken }: { context?: AnswerContext; broken?: GatewayError } = {},
): string {
  const encoder = openEncoder(context);
  const pieces = events.map((event) => encoder.push(event));
  const tail =
    broken === undefined
      ? encoder.tail(METERED, 12_000_000n)
      : encoder.failureTail(broken, METERED, 12_000_000n);
  return [...pieces, tail].join("");
}

/** The data of a stream's events, each of which has its type twice and the next number. */
export function eventsIn(stream: string): Json[] {
  const seen: Json[] = [];
  const parser = createParser({
    onEvent({ data, event }) {
      const told = JSON.parse(data);
      expect(told.type).toBe(event);
      expect(told.sequence_number).toBe(seen.length);
      seen.push(told);
    },
  });
  parser.feed(stream);
  return seen;
}

export const wholeResponse = (events: readonly ChatEvent[], context = RESPONSE_CONTEXT): Json =>
  encodeAnswer(events, METERED, context);

/** The items of a whole answer. */
export const itemsOf = (events: readonly ChatEvent[], context = RESPONSE_CONTEXT): Json[] =>
  wholeResponse(events, context).output;
