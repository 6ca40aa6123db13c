import { joinBytes } from "../../src/core/bytes/bytes.ts";
import type { ChatRequest, Part, Turn } from "../../src/core/chat.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { Model } from "../../src/core/model.ts";
import { PLACE_NAMES } from "../../src/protocols/chat-completions/server/place-names.ts";
import { openLosses } from "../../src/protocols/losses.ts";
import { messagesClient } from "../../src/protocols/messages/client/index.ts";
import type { RelayTarget } from "../../src/protocols/protocol.ts";
import type { SeenRequest } from "../upstream/seen-request.ts";
import { strictMessages } from "../upstream/strict-messages-format.ts";

/** A body in the messages format, read back. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests look into it freely
export type Body = any;

const SAMPLING = ["temperature", "top_p", "top_k"];
const MODELS = {
  haiku: {
    id: "anthropic/claude-haiku-4.5",
    maxOutput: 64_000,
    thinking: { style: "budget", canBeOff: true },
    sampling: { maxTemperature: 1, eitherTemperatureOrTopP: true, fixedWhileThinking: true },
  },
  opus: {
    id: "anthropic/claude-opus-5.5",
    maxOutput: 128_000,
    ignoredParameters: SAMPLING,
    thinking: { style: "adaptive", canBeOff: true },
  },
  sonnet: {
    id: "anthropic/claude-sonnet-5.5",
    maxOutput: 128_000,
    ignoredParameters: SAMPLING,
    thinking: { style: "adaptive", canBeOff: false },
  },
} as const satisfies Record<string, Partial<Model>>;
const UPSTREAM = { haiku: "claude-haiku-4-5", opus: "claude-opus-5-5", sonnet: "claude-sonnet-5-5" };

export type Name = keyof typeof MODELS;

/** One of the catalogue's models of this format, with other facts where a test needs them. */
export function messagesTarget(
  name: Name,
  facts: Partial<Model> = {},
  more: Partial<RelayTarget> = {},
): RelayTarget {
  const model = { ignoredParameters: [], ...MODELS[name], ...facts } as unknown as Model;
  return {
    model,
    upstreamId: UPSTREAM[name],
    unknownFields: "remove",
    native: true,
    streamUsageOption: false,
    ...more,
  };
}

/** A request with these turns and nothing else said, but for `more`. */
export function chatOf(turns: readonly Turn[], more: Partial<ChatRequest> = {}): ChatRequest {
  return { turns, tools: [], stop: [], choices: 1, ...more };
}

export const said = (text: string): Part => ({ type: "text", text });
export const turn = (role: Turn["role"], ...parts: (Part | string)[]): Turn => ({
  role,
  parts: parts.map((part) => (typeof part === "string" ? said(part) : part)),
});
export const called = (id: string, input = "{}", name = "f"): Part => ({
  type: "tool_call",
  id,
  name,
  input,
});
export const answered = (callId: string, ...parts: (Part | string)[]): Part => ({
  type: "tool_result",
  callId,
  parts: parts.map((part) => (typeof part === "string" ? said(part) : part)),
  isError: false,
});

const strict = strictMessages();

/** What becomes of a request: as the client end writes it, and as it goes up; `refused` is what the strict double says of that. */
export function encoded(chat: ChatRequest, target: RelayTarget = messagesTarget("haiku")) {
  const losses = openLosses(PLACE_NAMES, target.model.id);
  const body = messagesClient.encodeRequest(chat, target, losses);
  const address = { model: target.model.id, stream: true };
  const { protocol, readWritten } = messagesClient;
  const up = protocol.upstreamBody(readWritten(body, address), target, PLACE_NAMES);
  const text = new TextDecoder().decode(joinBytes(up.body));
  const headers: Record<string, string> = {
    "x-api-key": "k",
    "anthropic-version": "2023-06-01",
    ...up.headers,
  };
  const seen = {
    header: (name: string) => headers[name],
    target: "/v1/messages",
    bodyText: text,
    json: () => JSON.parse(text) as unknown,
  } as unknown as SeenRequest;
  const refusal = strict(seen);
  return {
    body: readBody(JSON.stringify(body)),
    text: JSON.stringify({ ...body, ...address }),
    up: readBody(text),
    warnings: [...losses.warnings, ...up.warnings],
    refused: refusal === undefined ? undefined : String(refusal.body),
  };
}

function readBody(text: string): Body {
  return JSON.parse(text);
}

/** The field that a request is refused for, and the sentence. */
export function refusalOf(chat: ChatRequest, target?: RelayTarget): readonly [string | undefined, string] {
  try {
    encoded(chat, target);
  } catch (error) {
    if (error instanceof GatewayError) return [error.param, error.message];
    throw error;
  }
  return [undefined, "it was taken"];
}
