import { createParser } from "eventsource-parser";
import { joinBytes } from "../../src/core/bytes/bytes.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { JsonObject } from "../../src/core/json/json-value.ts";
import type { Model, ProtocolId } from "../../src/core/model.ts";
import { servedBy } from "../../src/protocols/index.ts";
import type { AnswerContext, RelayProtocol, RelayTarget } from "../../src/protocols/protocol.ts";
import { toBytes, toText } from "../upstream/bytes.ts";
import { sse } from "../upstream/sse-bytes.ts";
import { ANSWER_CONTEXT } from "./answer-context.ts";
import { type Json } from "./chat-events.ts";
import { chatTarget, type Vendor } from "./chat-client.ts";
import { FLASH } from "./gemini-sent.ts";
import { messagesTarget, type Name } from "./messages-client.ts";
import { wireRequest } from "./wire-request.ts";

// What clients of one format send and are sent where the model's provider speaks another one, from end to end.

const KEY = { secret: "s", account: "a" };
const CONTEXT_OF_CALL: AnswerContext = { ...ANSWER_CONTEXT, carrier: KEY, expectedInput: 42 };

const GEMINI: RelayTarget = {
  model: { ...FLASH, prices: {} },
  upstreamId: "gemini",
  unknownFields: "remove",
  native: true,
  streamUsageOption: false,
};

const RESPONSES: RelayTarget = {
  model: {
    id: "openai/gpt-pro",
    ignoredParameters: [],
    inputModalities: ["text", "image"],
    outputModalities: ["text"],
    maxOutput: 100_000,
    prices: {},
  } as unknown as Model,
  upstreamId: "gpt-pro",
  unknownFields: "remove",
  native: true,
  streamUsageOption: false,
};

/** Providers by what they speak: one of Claude's models, Gemini, a vendor of chat completions, or one of Responses. */
export const PROVIDER = {
  claude: (name: Name = "haiku") => ["compat_messages", messagesTarget(name, { prices: {} })],
  gemini: () => ["compat_generate_content", GEMINI],
  responses: () => ["compat_responses", RESPONSES],
  chat: (vendor: Vendor = "openai") => ["compat_chat_completions", chatTarget(vendor, { prices: {} })],
} as const satisfies Record<string, (...args: never[]) => readonly [ProtocolId, RelayTarget]>;

/** What a provider is sent, and what the caller is told of it. */
export interface SentUp {
  readonly up: Json;
  readonly json: string;
  readonly warnings: readonly string[];
  readonly context: AnswerContext;
}

/** The way of a caller's requests and of their answers. */
export class TranslatedWay {
  readonly #way: RelayProtocol;
  readonly #target: RelayTarget;

  constructor(from: ProtocolId, [spoken, target]: readonly [ProtocolId, RelayTarget]) {
    const way = servedBy(from, spoken);
    if (way === undefined) throw new Error(`There is no way from ${from} to ${spoken}.`);
    this.#way = way;
    this.#target = target;
  }

  /** Throws the 400 of a request that cannot be said. */
  sent(body: JsonObject, account = KEY.account): SentUp {
    const carrier = { ...KEY, account };
    const model = this.#target.model.id;
    const wire = wireRequest(
      { model, ...body },
      { carrier, address: { model, stream: body.stream === true } },
    );
    const up = this.#way.upstreamBody(this.#way.readRequest(wire), this.#target);
    const json = toText(joinBytes(up.body));
    const { warnings, echo } = up;
    const context = { ...CONTEXT_OF_CALL, ...(echo === undefined ? {} : { echo }) };
    return { up: JSON.parse(json), json, warnings, context };
  }

  /** The field that a request is refused for, and the sentence. */
  refusalOf(body: JsonObject): readonly [string | undefined, string] {
    try {
      this.sent(body);
    } catch (error) {
      if (error instanceof GatewayError) return [error.param, error.message];
      throw error;
    }
    return [undefined, "it was taken"];
  }

  /** A provider's plain answer, as the caller gets it. */
  plain(answer: object, context: AnswerContext = CONTEXT_OF_CALL): Json {
    const read = this.#way.readAnswer(toBytes(JSON.stringify(answer)), context);
    return JSON.parse(toText(read.encode(1_000_000n)));
  }

  /** A provider's stream, as the caller gets its events; `cut` bytes of it never come. */
  streamed(
    events: readonly (JsonObject | "[DONE]")[],
    { cut = 0, context = CONTEXT_OF_CALL }: { readonly cut?: number; readonly context?: AnswerContext } = {},
  ): Json[] {
    const stream = this.#way.openStream(context);
    const whole = sse(events);
    const bytes = whole.subarray(0, whole.length - cut);
    const pieces: string[] = [];
    const take = (out: Uint8Array | undefined): void => {
      if (out !== undefined) pieces.push(toText(out));
    };
    for (let at = 0; at < bytes.length; at += 7) take(stream.push(bytes.subarray(at, at + 7)));
    take(stream.end(cut === 0));
    // As the gateway judges it.
    const cutOff = stream.isComplete ? undefined : new GatewayError("upstream_error", "It was cut.");
    const failure = stream.failure ?? cutOff;
    take(
      failure === undefined
        ? stream.tail(stream.metered(), 1_000_000n)
        : stream.failureTail(failure, stream.metered(), 1_000_000n),
    );
    return dataIn(pieces.join(""));
  }
}

function dataIn(stream: string): Json[] {
  const seen: Json[] = [];
  createParser({
    onEvent: ({ data }) => void seen.push(data === "[DONE]" ? data : JSON.parse(data)),
  }).feed(stream);
  return seen;
}
