import type { ChatRequest } from "../../core/chat.ts";
import type { RelayTarget } from "../protocol.ts";
import type { EncodedRequest } from "../translate.ts";
import { createWarnings } from "../warnings.ts";
import { encodeConfig } from "./encode-config.ts";
import { encodeTools } from "./encode-tools.ts";
import { encodeTurns } from "./encode-turns.ts";

/**
 * A chat as a body of this format. Throws a 400 that names the caller's field for what would change the answer's
 * meaning; hints that there is no word for are left out, with a sentence that names each.
 */
export function encodeRequest(chat: ChatRequest, target: RelayTarget): EncodedRequest {
  const warnings = createWarnings();
  const warn = (sentence: string): void => void warnings.add(sentence);
  const { systemInstruction, contents } = encodeTurns(chat.turns, target, warn);
  const tools = encodeTools(chat, warn);
  const generationConfig = encodeConfig(chat, target, warn);
  if (chat.user !== undefined)
    warn("user or safety_identifier was left out: this model's provider has no such field");
  return {
    body: {
      ...(systemInstruction === undefined ? {} : { systemInstruction }),
      contents,
      ...tools,
      ...(Object.keys(generationConfig).length === 0 ? {} : { generationConfig }),
    },
    warnings: [...warnings],
  };
}
