import { joinBytes } from "../../src/core/bytes/bytes.ts";
import type { ChatRequest } from "../../src/core/chat.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { Model } from "../../src/core/model.ts";
import { PLACE_NAMES } from "../../src/protocols/chat-completions/server/place-names.ts";
import { openLosses } from "../../src/protocols/losses.ts";
import type { RelayTarget } from "../../src/protocols/protocol.ts";
import { responsesClient } from "../../src/protocols/responses/client/index.ts";
import type { Json } from "./chat-events.ts";

const target = (facts: Partial<Model> = {}): RelayTarget => ({
  model: {
    id: "openai/gpt-pro",
    ignoredParameters: [],
    inputModalities: ["text", "image", "pdf"],
    outputModalities: ["text"],
    maxOutput: 100_000,
    prices: {},
    ...facts,
  } as unknown as Model,
  upstreamId: "gpt-pro",
  unknownFields: "remove",
  native: true,
  streamUsageOption: false,
});

/** What becomes of a chat request of an account's at a provider that speaks Responses, and what its caller is told. */
export function sentToResponses(chat: ChatRequest, facts: Partial<Model> = {}, account = "a") {
  const at = target(facts);
  const losses = openLosses(PLACE_NAMES, at.model.id);
  const body = responsesClient.encodeRequest(chat, at, losses);
  const carrier = { secret: "s", account };
  const request = responsesClient.readWritten(body, { model: at.model.id, stream: true }, carrier);
  const up = responsesClient.protocol.upstreamBody(request, at, PLACE_NAMES);
  const read: Json = JSON.parse(new TextDecoder().decode(joinBytes(up.body)));
  return { up: read, warnings: [...losses.warnings, ...up.warnings] };
}

/** The field that a request is refused for, and the sentence. */
export function refusalAtResponses(chat: ChatRequest): readonly [string | undefined, string] {
  try {
    sentToResponses(chat);
  } catch (error) {
    if (error instanceof GatewayError) return [error.param, error.message];
    throw error;
  }
  return [undefined, "it was taken"];
}
