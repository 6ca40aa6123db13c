import type { ChatRequest } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json-value.ts";
import type { RelayTarget } from "../protocol.ts";
import { invalid } from "../request-json.ts";
import type { EncodedRequest } from "../translate.ts";
import { createWarnings } from "../warnings.ts";
import { limitMarks } from "./cache-marks.ts";
import { ONE_ANSWER, UNTAKEN } from "./chat-limits.ts";
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
export function encodeRequest(chat: ChatRequest, target: RelayTarget): EncodedRequest {
  refuseUnsayable(chat, target);
  const warnings = createWarnings();
  const turns = encodeTurns(chat.turns, target.model.systemTurns === true, warnings);
  const maxTokens = chat.maxOutputTokens ?? target.outputBound ?? target.model.maxOutput ?? BOUND_OF_UNKNOWN;
  const { thinking, effort } = encodeThinking(
    chat.thinking,
    { model: target.model, maxTokens, hasLostThinking: turns.hasLostThinking },
    warnings,
  );
  const thinks = thinking !== undefined && thinking.type !== "disabled";
  const config = { ...(effort === undefined ? {} : { effort }), ...encodeFormat(chat) };
  const system = [...turns.system, ...instructions(chat, warnings)];
  const body: JsonObject = {
    max_tokens: maxTokens,
    ...encodeTools(chat, thinks, warnings),
    ...(system.length === 0 ? {} : { system }),
    messages: turns.messages,
    ...encodeSampling(chat, warnings),
    ...(thinking === undefined ? {} : { thinking }),
    ...(Object.keys(config).length === 0 ? {} : { output_config: config }),
    ...encodeUser(chat, warnings),
  };
  limitMarks(body, warnings);
  return { body, warnings: [...warnings] };
}

/** What would be another answer without it. */
function refuseUnsayable(chat: ChatRequest, { model }: RelayTarget): void {
  if (chat.choices !== ONE_ANSWER) throw invalid(`n must be 1: ${model.id} gives one answer.`, "n");
  if (chat.outputModalities?.includes("image") === true)
    throw invalid(`modalities must be text: ${model.id} puts out no images.`, "modalities");
}

function encodeSampling(chat: ChatRequest, warnings: Set<string>): JsonObject {
  const stop = chat.stop.filter((sequence) => sequence.trim() !== "");
  if (stop.length < chat.stop.length)
    warnings.add("stop was left out where it is white space only: it is not taken");
  for (const [name, valueIn] of Object.entries(UNTAKEN)) {
    const value = valueIn(chat);
    if (value !== undefined && value !== 0)
      warnings.add(`${name} was left out: the provider does not take it`);
  }
  return {
    ...(chat.temperature === undefined ? {} : { temperature: chat.temperature }),
    ...(chat.topP === undefined ? {} : { top_p: chat.topP }),
    ...(stop.length === 0 ? {} : { stop_sequences: stop }),
  };
}

function encodeFormat({ responseFormat }: ChatRequest): JsonObject {
  if (responseFormat?.type !== "json_schema") return {};
  const { schema, description } = responseFormat;
  const told = schema.description === undefined && description !== undefined ? { description } : {};
  return { format: { type: "json_schema", schema: strictSchema({ ...schema, ...told }) } };
}

/** The format has schemas only, so any JSON at all is asked for in words. */
function instructions({ responseFormat }: ChatRequest, warnings: Set<string>): readonly JsonObject[] {
  if (responseFormat?.type !== "json_object") return [];
  warnings.add(
    "response_format json_object became an instruction: the provider binds its models by json_schema only",
  );
  return [{ type: "text", text: ONE_JSON_OBJECT }];
}

function encodeUser({ user }: ChatRequest, warnings: Set<string>): JsonObject {
  if (user === undefined || user === "") return {};
  if (user.length <= LONGEST_USER) return { metadata: { user_id: user } };
  warnings.add(`user or safety_identifier was left out: the provider takes ${LONGEST_USER} characters`);
  return {};
}
