import type { ChatRequest, ResponseFormat } from "../../../core/chat.ts";
import { filled, type JsonObject, present } from "../../../core/json/json-value.ts";
import { EFFORTS, type Model } from "../../../core/model.ts";
import { closedSchema } from "../../closed-schema.ts";
import { namesJson, ONE_JSON_OBJECT } from "../../json-words.ts";
import type { Losses } from "../../losses.ts";
import type { RelayTarget } from "../../protocol.ts";
import type { ClientLimits } from "../../translate.ts";
import { takesAllTools } from "../target.ts";
import { encodeThinking } from "./encode-thinking.ts";
import { encodeTools } from "./encode-tools.ts";
import { encodeTurns } from "./encode-turns.ts";

/** Places that the format has no field for, and that only help. */
const HINTS = ["topK", "presencePenalty", "frequencyPenalty", "seed", "image"] as const;

/** What a client end leaves out or refuses. */
export function limits({ thinking }: Model): ClientLimits {
  return { untaken: HINTS, mostChoices: 1, efforts: thinking?.efforts ?? EFFORTS };
}

/** A request as a client of Responses writes it; see `ClientEnd`. */
export function encodeRequest(chat: ChatRequest, target: RelayTarget, losses: Losses): JsonObject {
  if (chat.choices !== 1) throw losses.refusal({ place: "choices", why: "one_answer" });
  if (chat.outputModalities?.includes("image") === true)
    throw losses.refusal({ place: "outputModalities", why: "no_images" });
  for (const place of HINTS) if (chat[place] !== undefined) losses.note({ place, why: "no_field" });
  const { instructions, input } = encodeTurns(chat.turns, target, losses);
  if (input.length === 0) throw losses.refusal({ place: "turns", why: "nothing_to_read" });
  const { responseFormat, verbosity, user = "" } = chat;
  // The provider refuses to give JSON where nobody has named it.
  const isUnnamed =
    responseFormat?.type === "json_object" && !namesJson(instructions) && !input.some(namesJson);
  const asked = isUnnamed ? [{ role: "developer", content: ONE_JSON_OBJECT }] : [];
  return present({
    instructions,
    input: [...asked, ...input],
    ...encodeTools(chat, target, losses),
    max_output_tokens: chat.maxOutputTokens,
    temperature: chat.temperature,
    top_p: chat.topP,
    reasoning: encodeThinking(chat.thinking, target, losses),
    text: filled(
      present({ format: responseFormat && encodeFormat(responseFormat, losses), verbosity: verbosity }),
    ),
    top_logprobs: chat.logprobs?.top || undefined,
    include: chat.logprobs && ["message.output_text.logprobs"],
    // Padding that no caller of another format is given. A plain answer has none, and is asked without.
    stream_options: takesAllTools(target) ? { include_obfuscation: false } : undefined,
    prompt_cache_key: chat.cacheKey,
    safety_identifier: user === "" ? undefined : user,
  });
}

function encodeFormat(wanted: ResponseFormat, losses: Losses): JsonObject {
  if (wanted.type === "json_object") return { type: wanted.type };
  const { type, name, description, schema, strict = false } = wanted;
  const bound = strict ? closedSchema(schema) : undefined;
  if (strict && bound === undefined) losses.note({ place: "jsonSchema", why: "optional_members" });
  return present({ type, name, description, schema: bound ?? schema, strict: bound && true });
}
