import { joinBytes } from "../../src/core/bytes/bytes.ts";
import type { ChatRequest, Turn } from "../../src/core/chat.ts";
import type { Model } from "../../src/core/model.ts";
import { PLACE_NAMES } from "../../src/protocols/chat-completions/server/place-names.ts";
import { openLosses } from "../../src/protocols/losses.ts";
import { generateContentClient } from "../../src/protocols/generate-content/client/index.ts";
import type { RelayTarget } from "../../src/protocols/protocol.ts";
import { toBytes, toText } from "../upstream/bytes.ts";
import { createRecord } from "../upstream/seen-request.ts";
import { strictGenerateContent } from "../upstream/strict-gemini.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- wire data of a test
type Json = any;

/** A model of text that thinks by levels, and one that makes images. */
export const FLASH = gemini("google/gemini-3.8-flash", ["text"]);
export const IMAGE = gemini("google/gemini-3-pro-image", ["text", "image"]);

/** A model with what the client reads of one. */
export function gemini(id: string, outputModalities: readonly string[], more: object = {}): Model {
  return { id, outputModalities, maxOutput: 65_536, ignoredParameters: [], ...more } as unknown as Model;
}

/** A chat of these turns that asks for nothing else. */
export function chatOf(turns: readonly Turn[], more: Partial<ChatRequest> = {}): ChatRequest {
  return { turns, tools: [], stop: [], choices: 1, ...more };
}

/** What a request looks like where it arrives. */
export interface Sent {
  readonly body: Json;
  /** The same as it was written. */
  readonly text: string;
  readonly warnings: readonly string[];
}

/**
 * Sends a chat to a strict Gemini by the way that a translated request takes: through the format's own reader and
 * rewriter. Throws what it refuses, as the gateway or as the double.
 */
export function sentToGemini(chat: ChatRequest, model: Model = FLASH): Sent {
  const target: RelayTarget = {
    model,
    upstreamId: "gemini",
    unknownFields: "remove",
    native: true,
    streamUsageOption: false,
  };
  const { protocol, encodeRequest, readWritten } = generateContentClient;
  const losses = openLosses(PLACE_NAMES, model.id);
  const encoded = encodeRequest(chat, target, losses);
  const written = readWritten(encoded, { model: model.id, stream: false });
  const { body: pieces, warnings } = protocol.upstreamBody(written, target, PLACE_NAMES);
  const body = joinBytes(pieces);
  const headers = [["content-type", "application/json"] as const, ["x-goog-api-key", "AIza-good"] as const];
  const record = createRecord(
    { method: "POST", target: "/v1beta/models/gemini:generateContent", headers },
    { id: 1, connection: 1, nthOnConnection: 1, nowMs: 0 },
  );
  record.take(body);
  const refused = strictGenerateContent()(record);
  if (refused !== undefined)
    throw new Error(`The strict double refused: ${toText(toBytes(refused.body ?? ""))}`);
  const text = new TextDecoder().decode(body);
  return { body: JSON.parse(text), text, warnings: [...losses.warnings, ...warnings] };
}
