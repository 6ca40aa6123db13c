import { joinBytes } from "../../src/core/bytes/bytes.ts";
import type { ChatRequest } from "../../src/core/chat.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { Model } from "../../src/core/model.ts";
import { chatCompletionsClient } from "../../src/protocols/chat-completions/client/index.ts";
import { PLACE_NAMES } from "../../src/protocols/chat-completions/server/place-names.ts";
import { openLosses } from "../../src/protocols/losses.ts";
import type { PlaceNames, RelayTarget } from "../../src/protocols/protocol.ts";
import { dialectLike } from "../../src/providers/likeness.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import type { SeenRequest } from "../upstream/seen-request.ts";
import { strictChatCompletions } from "../upstream/strict.ts";
import { STRICT } from "../upstream/strict-profiles.ts";
import type { Body } from "./messages-client.ts";

/** Vendors by the names of their providers, each with one of its models, and the double that is as strict as it is. */
const VENDORS = {
  openai: {
    id: "openai/gpt-4.9",
    upstreamId: "gpt-4.9",
    strict: STRICT.openai,
    field: "max_completion_tokens",
  },
  deepseek: {
    id: "deepseek/deepseek-v4",
    upstreamId: "deepseek-v4",
    strict: STRICT.deepseek,
    field: "max_tokens",
  },
  moonshot: {
    id: "moonshotai/kimi-k2.9",
    upstreamId: "kimi-k2.9",
    strict: STRICT.moonshot,
    field: "max_tokens",
  },
  zai: { id: "zhipu/glm-5", upstreamId: "glm-5", strict: STRICT.zhipu, field: "max_tokens" },
  dashscope: { id: "alibaba/qwen4", upstreamId: "qwen4-max", strict: STRICT.dashscope, field: "max_tokens" },
  mistral: { id: "mistral/m", upstreamId: "mistral-large", strict: STRICT.mistral, field: "max_tokens" },
  groq: { id: "openai/gpt-oss", upstreamId: "gpt-oss", strict: STRICT.groq, field: "max_completion_tokens" },
  xai: { id: "xai/grok-5", upstreamId: "grok-5", strict: STRICT.xai, field: "max_completion_tokens" },
  openrouter: {
    id: "anthropic/claude-opus-5.5",
    upstreamId: "anthropic/claude-opus-5.5",
    strict: STRICT.openrouter,
    field: "max_tokens",
  },
  "lm-studio": { id: "local/m", upstreamId: "m", strict: STRICT["lm-studio"], field: "max_tokens" },
} as const;

export type Vendor = keyof typeof VENDORS;
export const VENDOR_NAMES = Object.keys(VENDORS) as readonly Vendor[];

/** A model at a vendor of chat completions; `facts` are the model's. */
export function chatTarget(
  vendor: Vendor,
  facts: Partial<Model> = {},
  more: Partial<RelayTarget> = {},
): RelayTarget {
  const { id, upstreamId, field } = VENDORS[vendor];
  const dialect = dialectLike(vendor, PROVIDERS);
  if (dialect === undefined) throw new Error(`There is no dialect of ${vendor}.`);
  const { kind, unknownFields, streamUsageOption, chat } = dialect;
  const model = {
    id,
    ignoredParameters: [],
    inputModalities: ["text", "image", "pdf"],
    outputModalities: ["text"],
    maxTokensField: field,
    maxOutput: 100_000,
    ...facts,
  } as unknown as Model;
  const base = { model, upstreamId, unknownFields, streamUsageOption, native: kind === "native" };
  return { ...base, ...(chat === undefined ? {} : { chat }), ...more };
}

/** What becomes of a request at a vendor: as the client end writes it, as it goes up, and what the strict double says. */
export function sentToChat(
  vendor: Vendor,
  chat: ChatRequest,
  target: RelayTarget = chatTarget(vendor),
  names: PlaceNames = PLACE_NAMES,
) {
  const losses = openLosses(names, target.model.id);
  const body = chatCompletionsClient.encodeRequest(chat, target, losses);
  const { protocol, readWritten } = chatCompletionsClient;
  const up = protocol.upstreamBody(
    readWritten(body, { model: target.model.id, stream: true }),
    target,
    names,
  );
  const bytes = joinBytes(up.body);
  const headers: Record<string, string> = { authorization: "Bearer k", "content-type": "application/json" };
  const seen = { header: (name: string) => headers[name], body: bytes } as unknown as SeenRequest;
  const refusal = strictChatCompletions(VENDORS[vendor].strict)(seen);
  const read = (text: string): Body => JSON.parse(text);
  return {
    body: read(JSON.stringify(body)),
    up: read(new TextDecoder().decode(bytes)),
    warnings: [...losses.warnings, ...up.warnings],
    refused: refusal === undefined ? undefined : String(refusal.body),
  };
}

/** The field that a request is refused for, and the sentence. */
export function refusalAtChat(
  ...request: Parameters<typeof sentToChat>
): readonly [string | undefined, string] {
  try {
    sentToChat(...request);
  } catch (error) {
    if (error instanceof GatewayError) return [error.param, error.message];
    throw error;
  }
  return [undefined, "it was taken"];
}
