import type { ChatRequest } from "../../core/chat.ts";
import { type JsonObject, present } from "../../core/json-value.ts";
import type { Losses } from "../losses.ts";
import type { RelayTarget } from "../protocol.ts";
import { limitMarks } from "./cache-marks.ts";
import { ONE_ANSWER, untakenOf } from "./chat-limits.ts";
import { encodeThinking } from "./encode-thinking.ts";
import { encodeTools } from "./encode-tools.ts";
import { encodeTurns } from "./encode-turns.ts";
import { strictSchema } from "./strict-schema.ts";

/** The format wants a bound: this one where neither the caller nor the model has any. */
const BOUND_OF_UNKNOWN = 32_768;

/** The longest user id that the provider takes. */
const LONGEST_USER = 256;

/** The sentence of the system prompt that any JSON is asked for by. */
export const ONE_JSON_OBJECT =
  "Answer with one valid JSON object and nothing else: no words around it and no code fence.";

/** A request as a client of messages writes it; see `ClientEnd`. */
export function encodeRequest(chat: ChatRequest, target: RelayTarget, losses: Losses): JsonObject {
  refuseUnsayable(chat, losses);
  const turns = encodeTurns(chat.turns, target.model.systemTurns === true, losses);
  const maxTokens = chat.maxOutputTokens ?? target.outputBound ?? target.model.maxOutput ?? BOUND_OF_UNKNOWN;
  const { thinking, effort } = encodeThinking(
    chat.thinking,
    { model: target.model, maxTokens, hasLostThinking: turns.hasLostThinking },
    losses,
  );
  const thinks = thinking !== undefined && thinking.type !== "disabled";
  const config = { ...(effort === undefined ? {} : { effort }), ...encodeFormat(chat) };
  const system = [...turns.system, ...instructions(chat, losses)];
  const body: JsonObject = {
    max_tokens: maxTokens,
    ...encodeTools(chat, thinks, losses),
    ...(system.length === 0 ? {} : { system }),
    messages: turns.messages,
    ...encodeSampling(chat, losses),
    ...(thinking === undefined ? {} : { thinking }),
    ...(Object.keys(config).length === 0 ? {} : { output_config: config }),
    ...encodeUser(chat, losses),
  };
  limitMarks(body, losses);
  return body;
}

/** What would be another answer without it. */
function refuseUnsayable(chat: ChatRequest, losses: Losses): void {
  if (chat.choices !== ONE_ANSWER) throw losses.refusal({ place: "choices", why: "one_answer" });
  if (chat.outputModalities?.includes("image") === true)
    throw losses.refusal({ place: "outputModalities", why: "no_images" });
}

function encodeSampling(chat: ChatRequest, losses: Losses): JsonObject {
  const stop = chat.stop.filter((sequence) => sequence.trim() !== "");
  if (stop.length < chat.stop.length) losses.note({ place: "stop", why: "blank" });
  for (const place of untakenOf(chat)) losses.note({ place, why: "untaken" });
  return present({
    temperature: chat.temperature,
    top_p: chat.topP,
    stop_sequences: stop.length === 0 ? undefined : stop,
  });
}

function encodeFormat({ responseFormat }: ChatRequest): JsonObject {
  if (responseFormat?.type !== "json_schema") return {};
  const { schema, description } = responseFormat;
  const told = schema.description === undefined && description !== undefined ? { description } : {};
  return { format: { type: "json_schema", schema: strictSchema({ ...schema, ...told }) } };
}

/** The format has schemas only, so any JSON at all is asked for in words. */
function instructions({ responseFormat }: ChatRequest, losses: Losses): readonly JsonObject[] {
  if (responseFormat?.type !== "json_object") return [];
  losses.note({ place: "jsonObject", why: "instruction" });
  return [{ type: "text", text: ONE_JSON_OBJECT }];
}

function encodeUser({ user }: ChatRequest, losses: Losses): JsonObject {
  if (user === undefined || user === "") return {};
  if (user.length <= LONGEST_USER) return { metadata: { user_id: user } };
  losses.note({ place: "user", why: "too_long", most: LONGEST_USER });
  return {};
}
