import { expect } from "bun:test";
import { createParser } from "eventsource-parser";
import type { ChatEvent } from "../../src/core/chat.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { JsonObject } from "../../src/core/json/json-value.ts";
import { NO_USAGE } from "../../src/core/money/usage.ts";
import { messagesServer } from "../../src/protocols/messages/server/index.ts";
import { readRequest } from "../../src/protocols/messages/request.ts";
import type { AnswerContext, Metered } from "../../src/protocols/protocol.ts";
import { ANSWER_CONTEXT } from "./answer-context.ts";
import { type Json } from "./chat-events.ts";
import { wireRequest } from "./wire-request.ts";

// What messages make of answers in no format, and of requests of their own.

export const KEY = { secret: "s", account: "a" };
export const KEYED: AnswerContext = { ...ANSWER_CONTEXT, carrier: KEY };
const METERED: Metered = {
  usage: { ...NO_USAGE, input: 5, cacheRead: 2, cacheWrite5m: 3, output: 1, reasoning: 1 },
  flags: [],
};
export const MESSAGE_USAGE = {
  input_tokens: 5,
  cache_creation_input_tokens: 3,
  cache_read_input_tokens: 2,
  cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 0 },
  output_tokens: 2,
  output_tokens_details: { thinking_tokens: 1 },
  server_tool_use: { web_search_requests: 0, web_fetch_requests: 0 },
};
const BROKEN = new GatewayError("upstream_error", "It broke.");

/** The data of a stream's events, each of which must have its name. */
export function messageEvents(
  events: readonly ChatEvent[],
  end: "good" | "broken" | "unbilled" = "good",
  context = KEYED,
): Json[] {
  const encoder = messagesServer.openEncoder(context);
  const pieces = events.map((event) => encoder.push(event));
  const tail =
    end === "good"
      ? encoder.tail(METERED, 1_500_000n)
      : encoder.failureTail(BROKEN, METERED, end === "broken" ? 1_500_000n : undefined);
  const seen: Json[] = [];
  const parser = createParser({
    onEvent: ({ data, event }) => {
      const told: Json = JSON.parse(data);
      expect(event).toBe(told.type === "ping" && "credit" in told ? "credit" : told.type);
      seen.push(told);
    },
  });
  parser.feed([...pieces, tail].join(""));
  return seen;
}

/** The plain answer. */
export const messageOf = (events: readonly ChatEvent[], context = KEYED): Json =>
  messagesServer.encodeAnswer(events, METERED, context);

/** The blocks of the plain answer. */
export const blocksOf = (events: readonly ChatEvent[], context = KEYED): Json[] =>
  messageOf(events, context).content;

/** Joins events as the strictest of the official clients do; throws where one of them would. */
export function readBack(events: readonly Json[]): { readonly content: Json[]; readonly end: Json } {
  const [first, ...more] = events;
  expect(first).toMatchObject({ type: "message_start", message: { content: [], stop_reason: null } });
  const content: Json[] = [];
  let open = false;
  let input = "";
  let end: Json;
  for (const event of more) {
    if (event.type === "content_block_start") {
      expect([open, event.index, end]).toEqual([false, content.length, undefined]);
      open = true;
      input = "";
      content.push(event.content_block);
    } else if (event.type === "content_block_delta") {
      expect([open, event.index]).toEqual([true, content.length - 1]);
      const { type, ...delta } = event.delta;
      const block = content.at(-1);
      if (type === "input_json_delta") input += delta.partial_json;
      else if (type === "signature_delta") {
        expect(block.signature).toBe("");
        block.signature = delta.signature;
      } else for (const [name, text] of Object.entries(delta)) block[name] += text as string;
    } else if (event.type === "content_block_stop") {
      expect([open, event.index]).toEqual([true, content.length - 1]);
      open = false;
      if (input !== "") content.at(-1).input = JSON.parse(input);
    } else if (event.type === "message_delta") {
      expect([open, end]).toEqual([false, undefined]);
      end = event;
    } else expect(event.type).not.toBe("message_start");
  }
  return { content, end };
}

/** What is made of a request; `more` are headers. */
export function decoded(body: JsonObject | string, more: Readonly<Record<string, string>> = {}) {
  const whole = { model: "v/m", max_tokens: 99, messages: [{ role: "user", content: "Hi" }] };
  const sent = typeof body === "string" ? body : { ...whole, ...body };
  const wire = wireRequest(sent, { headers: new Headers(more), carrier: KEY });
  return messagesServer.decodeRequest(readRequest(wire));
}

/** The field that a request is refused for. */
export function refusedFor(body: JsonObject): readonly [string | undefined, string] {
  try {
    decoded(body);
  } catch (error) {
    if (error instanceof GatewayError) return [error.param, error.message];
    throw error;
  }
  return [undefined, "it was taken"];
}
