import { CHAT } from "../../../catalog/parameter-tables/chat-completions.ts";
import { fieldsAt } from "../../../catalog/parameter-tables/field.ts";
import type { ChatRequest } from "../../../core/chat.ts";
import { filled, type JsonObject, present } from "../../../core/json/json-value.ts";
import { type Model, MOST_CHAT_CHOICES, MOST_CHAT_STOPS } from "../../../core/model.ts";
import { contentHash } from "../../../runtime/hash.ts";
import { OPEN_CHAT } from "../../chat-dialect.ts";
import type { Losses } from "../../losses.ts";
import type { RelayTarget } from "../../protocol.ts";
import type { ClientLimits } from "../../translate.ts";
import { takesField } from "../server-limits.ts";
import { closedSchema } from "./closed-schema.ts";
import { encodeThinking } from "./encode-thinking.ts";
import { encodeTools } from "./encode-tools.ts";
import { encodeTurns } from "./encode-turns.ts";

/** The longest user id that the reference takes. */
const LONGEST_USER = 64;

/** What is said where JSON is asked for and nobody has named it: vendors refuse that. */
const ONE_JSON_OBJECT = "Answer with one JSON object and nothing else.";

/** What a client end leaves out; what one server more or less takes, its dialect says when it is called. */
export function limits({ thinking }: Model): ClientLimits {
  return {
    untaken: ["webSearch"],
    mostChoices: MOST_CHAT_CHOICES,
    mostStops: MOST_CHAT_STOPS,
    efforts: thinking?.efforts ?? ["none", "low", "medium", "high"],
  };
}

/**
 * A request as a client of chat completions writes it; see `ClientEnd`. Fields that only some servers take are in it
 * where `upstreamBody` tells of their loss.
 */
export function encodeRequest(chat: ChatRequest, target: RelayTarget, losses: Losses): JsonObject {
  checkCounts(chat, losses);
  const messages = encodeTurns(chat.turns, target, losses);
  if (messages.length === 0) throw losses.refusal({ place: "turns", why: "nothing_to_read" });
  return present({
    messages: namesJson(chat, messages) ? messages : [INSTRUCTION, ...messages],
    ...encodeTools(chat, target, losses),
    max_completion_tokens: chat.maxOutputTokens,
    temperature: chat.temperature,
    top_p: chat.topP,
    presence_penalty: chat.presencePenalty,
    frequency_penalty: chat.frequencyPenalty,
    seed: chat.seed,
    stop: filled(chat.stop.filter((sequence) => sequence !== "")),
    n: chat.choices === 1 ? undefined : chat.choices,
    ...encodeThinking(chat.thinking, target, losses),
    modalities: chat.outputModalities,
    image_config: chat.image && {
      aspect_ratio: chat.image.aspectRatio,
      image_size: chat.image.size,
    },
    response_format: encodeFormat(chat, losses),
    ...encodeHints(chat, target, losses),
  });
}

function checkCounts({ stop, choices }: ChatRequest, losses: Losses): void {
  if (stop.length > MOST_CHAT_STOPS) {
    const counted = { count: stop.length, most: MOST_CHAT_STOPS };
    throw losses.refusal({ place: "stop", why: "too_many_stops", ...counted });
  }
  if (choices <= MOST_CHAT_CHOICES) return;
  const counted = { count: choices, most: MOST_CHAT_CHOICES };
  throw losses.refusal({ place: "choices", why: "too_many_answers", ...counted });
}

function encodeFormat({ responseFormat: format }: ChatRequest, losses: Losses): JsonObject | undefined {
  if (format?.type !== "json_schema") return format;
  const { type, name, description, schema, strict = false } = format;
  const bound = strict ? closedSchema(schema) : undefined;
  if (strict && bound === undefined) losses.note({ place: "jsonSchema", why: "optional_members" });
  const told = { name, description, schema: bound ?? schema, strict: bound && true };
  return { type, json_schema: present(told) };
}

const INSTRUCTION = { role: "system", content: ONE_JSON_OBJECT };

/** Whether a message has the word that vendors look for before they give JSON without a schema, or no such is asked. */
function namesJson({ responseFormat }: ChatRequest, messages: readonly JsonObject[]): boolean {
  return (
    responseFormat?.type !== "json_object" ||
    messages.some(({ content }) =>
      /json/i.test(typeof content === "string" ? content : JSON.stringify(content ?? "")),
    )
  );
}

/** Fields that have more than one name, or none at most servers. */
function encodeHints(chat: ChatRequest, { chat: dialect = OPEN_CHAT }: RelayTarget, losses: Losses) {
  const { user = "", topK, cacheKey, verbosity } = chat;
  const hints: JsonObject = {};
  const say = (
    place: "user" | "topK" | "cacheKey" | "verbosity",
    name: string | undefined,
    value: unknown,
  ) => {
    if (name === undefined) losses.note({ place, why: "untaken" });
    else hints[name] = value;
  };
  const takes = (name: string): boolean => takesField(dialect, name);
  if (user !== "") say("user", fieldsAt(CHAT, "user").find(takes), shortUser(user));
  if (topK !== undefined) say("topK", dialect.takes?.includes("top_k") === true ? "top_k" : undefined, topK);
  if (cacheKey !== undefined) say("cacheKey", ["prompt_cache_key"].find(takes), cacheKey);
  if (verbosity !== undefined) say("verbosity", ["verbosity"].find(takes), verbosity);
  return hints;
}

/** An id that is too long as another one that stands for it alone. */
function shortUser(user: string): string {
  return user.length <= LONGEST_USER ? user : contentHash(user);
}
