import { CHAT } from "../../../catalog/parameter-tables/chat-completions.ts";
import { fieldsAt } from "../../../catalog/parameter-tables/field.ts";
import type { ChatRequest } from "../../../core/chat.ts";
import { filled, type JsonObject, present } from "../../../core/json/json-value.ts";
import { type Model, MOST_CHAT_CHOICES, MOST_CHAT_STOPS } from "../../../core/model.ts";
import { contentHash } from "../../../runtime/hash.ts";
import { OPEN_CHAT } from "../../chat-dialect.ts";
import { namesJson, ONE_JSON_OBJECT } from "../../json-words.ts";
import type { Losses } from "../../losses.ts";
import type { RelayTarget } from "../../protocol.ts";
import type { ClientLimits } from "../../translate.ts";
import { takesField } from "../server-limits.ts";
import { closedSchema } from "../../closed-schema.ts";
import { encodeThinking } from "./encode-thinking.ts";
import { encodeTools } from "./encode-tools.ts";
import { encodeTurns } from "./encode-turns.ts";

/** The longest user id that the reference takes. */
const LONGEST_USER = 64;

/** What a client end leaves out; what one server more or less takes, its dialect says when it is called. */
export function limits({ thinking }: Model): ClientLimits {
  return {
    untaken: [],
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
  const format = formatAt(chat, target);
  const said = instruction(format, messages, losses);
  return present({
    messages: said === undefined ? messages : [{ role: "system", content: said }, ...messages],
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
    logprobs: chat.logprobs && true,
    // No more is said where none are wanted: some servers take no 0.
    top_logprobs: chat.logprobs?.top || undefined,
    modalities: chat.outputModalities,
    image_config: chat.image && {
      aspect_ratio: chat.image.aspectRatio,
      image_size: chat.image.size,
    },
    response_format: encodeFormat(format, losses),
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

/** The form that the answer is given, and a schema that the server cannot bind it by. */
interface Format {
  readonly wanted: ChatRequest["responseFormat"];
  readonly told?: Readonly<JsonObject>;
}

/** A server without schemas is asked for any JSON, and the model is told the schema. */
function formatAt(
  { responseFormat: wanted }: ChatRequest,
  { chat: dialect = OPEN_CHAT }: RelayTarget,
): Format {
  const isBound = wanted?.type !== "json_schema" || dialect.jsonSchema || !dialect.jsonObject;
  return isBound ? { wanted } : { wanted: { type: "json_object" }, told: wanted.schema };
}

function encodeFormat({ wanted }: Format, losses: Losses): JsonObject | undefined {
  if (wanted?.type !== "json_schema") return wanted;
  const { type, name, description, schema, strict = false } = wanted;
  const bound = strict ? closedSchema(schema) : undefined;
  if (strict && bound === undefined) losses.note({ place: "jsonSchema", why: "optional_members" });
  const held = { name, description, schema: bound ?? schema, strict: bound && true };
  return { type, json_schema: present(held) };
}

/** What is said of a form in words: a schema that cannot bind, or that it is JSON where no message says so. */
function instruction(
  { wanted, told }: Format,
  messages: readonly JsonObject[],
  losses: Losses,
): string | undefined {
  if (told === undefined)
    return wanted?.type !== "json_object" || messages.some(({ content }) => namesJson(content))
      ? undefined
      : ONE_JSON_OBJECT;
  losses.note({ place: "jsonSchema", why: "schema_told" });
  return `${ONE_JSON_OBJECT} It must fit this JSON Schema: ${JSON.stringify(told)}`;
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
