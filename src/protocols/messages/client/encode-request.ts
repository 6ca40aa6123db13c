import type { ChatRequest, Turn } from "../../../core/chat.ts";
import { filled, type JsonObject, present } from "../../../core/json/json-value.ts";
import { createSeenLists } from "../../../core/json/kept.ts";
import type { Losses } from "../../losses.ts";
import type { RelayTarget } from "../../protocol.ts";
import { encodeThinking } from "./encode-thinking.ts";
import { encodeTools } from "./encode-tools.ts";
import { encodeTurns } from "./encode-turns.ts";
import { markedIn } from "./marks.ts";
import { strictSchema } from "./strict-schema.ts";

/** The format wants a bound: this one where neither the caller nor the model has any. */
const BOUND_OF_UNKNOWN = 32_768;

/** The longest user id that the provider takes. */
const LONGEST_USER = 256;

/** Breakpoints of the prompt cache. Source: the provider's refusal, "A maximum of 4 blocks with cache_control may be provided". */
const MOST_MARKS = 4;

/** Answers that the format gives to a request. */
export const ONE_ANSWER = 1;

/** What the format has no field for and only helps. */
export const UNTAKEN = [
  "presencePenalty",
  "frequencyPenalty",
  "seed",
  "image",
  "verbosity",
  "cacheKey",
] as const;

/** The sentence of the system prompt that any JSON is asked for by. */
export const ONE_JSON_OBJECT =
  "Answer with one valid JSON object and nothing else: no words around it and no code fence.";

/** A request as a client of messages writes it; see `ClientEnd`. */
export function encodeRequest(chat: ChatRequest, target: RelayTarget, losses: Losses): JsonObject {
  if (chat.choices !== ONE_ANSWER) throw losses.refusal({ place: "choices", why: "one_answer" });
  if (chat.outputModalities?.includes("image") === true)
    throw losses.refusal({ place: "outputModalities", why: "no_images" });
  if (chat.logprobs !== undefined) throw losses.refusal({ place: "logprobs", why: "no_logprobs" });
  const { model } = target;
  const turns = encodeTurns(chat.turns, model.systemTurns === true, losses);
  const maxTokens = chat.maxOutputTokens ?? target.outputBound ?? model.maxOutput ?? BOUND_OF_UNKNOWN;
  const { hasLostThinking } = turns;
  const { thinking, effort } = encodeThinking(
    chat.thinking ?? {},
    { model, maxTokens, hasLostThinking },
    losses,
  );
  const thinks = thinking !== undefined && thinking.type !== "disabled";
  const system = [...turns.system, ...instructions(chat, losses)];
  const body: JsonObject = present({
    max_tokens: maxTokens,
    ...encodeTools(chat, thinks, losses),
    system: filled(system),
    messages: turns.messages,
    ...encodeSampling(chat, losses),
    thinking,
    output_config: filled(present({ effort, format: encodeFormat(chat, losses) })),
    metadata: encodeUser(chat, losses),
  });
  limitMarks(body, losses);
  return body;
}

function encodeSampling(chat: ChatRequest, losses: Losses): JsonObject {
  const stop = chat.stop.filter((sequence) => sequence.trim() !== "");
  if (stop.length < chat.stop.length) losses.note({ place: "stop", why: "blank" });
  for (const place of UNTAKEN)
    if (chat[place] !== undefined && chat[place] !== 0) losses.note({ place, why: "untaken" });
  if (asksForDetail(chat.turns)) losses.note({ place: "detail", why: "untaken" });
  const { temperature, topP: top_p, topK: top_k } = chat;
  return { temperature, top_p, top_k, stop_sequences: filled(stop) };
}

const withoutDetail = createSeenLists();

function asksForDetail(turns: readonly Turn[]): boolean {
  for (let i = withoutDetail.count(turns); i < turns.length; i += 1)
    if (turns[i]?.parts.some((part) => part.type === "image" && (part.detail ?? "auto") !== "auto"))
      return true;
  withoutDetail.add(turns);
  return false;
}

function encodeFormat({ responseFormat }: ChatRequest, losses: Losses): JsonObject | undefined {
  if (responseFormat?.type !== "json_schema") return undefined;
  const { schema, description } = responseFormat;
  const told = schema.description === undefined ? present({ description }) : {};
  const lost = new Set<string>();
  const bound = strictSchema({ ...schema, ...told }, lost);
  if (lost.size > 0) losses.note({ place: "jsonSchema", why: "told_in_words", keywords: [...lost] });
  return { type: "json_schema", schema: bound };
}

/** The format has schemas only, so any JSON at all is asked for in words. */
function instructions({ responseFormat }: ChatRequest, losses: Losses): readonly JsonObject[] {
  if (responseFormat?.type !== "json_object") return [];
  losses.note({ place: "jsonObject", why: "instruction" });
  return [{ type: "text", text: ONE_JSON_OBJECT }];
}

function encodeUser({ user = "" }: ChatRequest, losses: Losses): JsonObject | undefined {
  if (user === "") return undefined;
  if (user.length <= LONGEST_USER) return { user_id: user };
  losses.note({ place: "user", why: "too_long", most: LONGEST_USER });
  return undefined;
}

/**
 * Takes away breakpoints of the prompt cache that are too many. The last ones stay: each covers all that stands before
 * it, in the order of tools, system and messages. The body is one that was just made, and is changed in place.
 */
function limitMarks(body: JsonObject, losses: Losses): void {
  const marked = [body.tools, body.system, body.messages].flatMap(markedIn);
  if (marked.length <= MOST_MARKS) return;
  for (const block of marked.slice(0, -MOST_MARKS)) delete block.cache_control;
  losses.note({ place: "cache", why: "too_many_marks", most: MOST_MARKS });
}
