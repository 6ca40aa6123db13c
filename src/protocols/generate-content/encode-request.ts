import type { ChatRequest } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json-value.ts";
import type { Losses } from "../losses.ts";
import type { RelayTarget } from "../protocol.ts";
import { encodeConfig } from "./encode-config.ts";
import { encodeTools } from "./encode-tools.ts";
import { encodeTurns } from "./encode-turns.ts";

/** A request as a client of generateContent writes it; see `ClientEnd`. */
export function encodeRequest(chat: ChatRequest, target: RelayTarget, losses: Losses): JsonObject {
  const { systemInstruction, contents } = encodeTurns(chat.turns, target, losses);
  const tools = encodeTools(chat, losses);
  const generationConfig = encodeConfig(chat, target, losses);
  if (chat.user !== undefined) losses.note({ place: "user", why: "no_field" });
  return {
    ...(systemInstruction === undefined ? {} : { systemInstruction }),
    contents,
    ...tools,
    ...(Object.keys(generationConfig).length === 0 ? {} : { generationConfig }),
  };
}
