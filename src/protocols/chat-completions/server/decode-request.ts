import { CHAT } from "../../../catalog/parameter-tables/chat-completions.ts";
import { type Field, fieldOf } from "../../../catalog/parameter-tables/field.ts";
import type { ChatRequest as Chat, ResponseFormat, ThinkingWish, WebSearch } from "../../../core/chat.ts";
import { filled, isJsonObject, type JsonObject, present } from "../../../core/json/json-value.ts";
import { EFFORTS } from "../../../core/model.ts";
import { wrong } from "../../request-json.ts";
import { unknownField } from "../../meant-field.ts";
import { printable } from "../../printable.ts";
import type { DecodedRequest } from "../../translate.ts";
import { createWarnings, type Warn } from "../../warnings.ts";
import { decodeMessages } from "./decode-messages.ts";
import { decodeTools } from "./decode-tools.ts";
import { namesIn } from "./place-names.ts";
import { type ChatRequest, refuseUnknownParts } from "../request.ts";
import { CHAT_FIELDS, type ChatRequestBody, type Open } from "../schema.ts";
import { readWish } from "../thinking.ts";

type Body = Open<ChatRequestBody>;

/**
 * A checked request in no format. The decoder leaves out with a warning what only helps and has no place elsewhere.
 * Throws a 400 that names the field for what would change the answer.
 */
export function decodeRequest({ body, stream }: ChatRequest): DecodedRequest {
  const warnings = createWarnings();
  const warn: Warn = (sentence) => void warnings.add(sentence);
  leaveRest(body, warn);
  refuseUnknownParts(body);
  const { tools, toolChoice, allowedTools } = decodeTools(body);
  const chat: Chat = {
    turns: decodeMessages(body.messages, warn),
    tools,
    ...present({
      toolChoice,
      allowedTools,
      webSearch: decodeSearch(body),
      // Without tools it says nothing.
      parallelToolCalls: tools.length === 0 ? undefined : body.parallel_tool_calls,
      maxOutputTokens: body.max_completion_tokens ?? body.max_tokens,
      temperature: body.temperature,
      topP: body.top_p,
      presencePenalty: body.presence_penalty,
      frequencyPenalty: body.frequency_penalty,
      seed: readSeed(body),
      thinking: decodeWish(body, warn),
      outputModalities: decodeModalities(body),
      image: decodeImageConfig(body, warn),
      responseFormat: decodeResponseFormat(body),
      logprobs: readLogprobs(body),
      ...readHints(body),
      user: readUser(body),
    }),
    stop: typeof body.stop === "string" ? [body.stop] : (body.stop ?? []),
    choices: body.n ?? 1,
  };
  return { chat, names: namesIn(body), stream, warnings: [...warnings] };
}

/** Goes over the fields that have no place: those that cost or change the answer are refused. */
function leaveRest(body: Body, warn: Warn): void {
  for (const [name, value] of Object.entries(body)) {
    const field = fieldOf(CHAT, name);
    if (field === undefined) warn(unknownField(name, CHAT_FIELDS.format, CHAT_FIELDS.meant(name)));
    else if (field.place !== undefined || asksNothing(field, value)) continue;
    else if (field.meaning === undefined && field.rule !== "priced")
      warn(`${name} was left out: this model's provider has no such field`);
    else {
      const instead = field.meaning?.instead ?? "leave it out";
      throw wrong(name, `cannot be had from this model's provider: ${instead}`);
    }
  }
}

function asksNothing(field: Field, value: unknown): boolean {
  const { meaning } = field;
  if (field.rule === "priced") return field.freeValues.includes(value);
  if (meaning === undefined) return value === false;
  return meaning.asksNothing?.(value) ?? meaning.asks?.(value) === false;
}

/** Who asks like this wants an answer that rests on a search. */
function decodeSearch({ web_search_options: options }: Body): WebSearch | undefined {
  if (options === undefined || options === null) return undefined;
  if (!isJsonObject(options)) throw wrong("web_search_options", "must be an object");
  const { search_context_size: size, user_location: near } = options;
  const place = isJsonObject(near) && isJsonObject(near.approximate) ? near.approximate : {};
  const at = (name: string): string | undefined =>
    readText(place[name], `web_search_options.user_location.approximate.${name}`);
  const location = present({
    city: at("city"),
    region: at("region"),
    country: at("country"),
    timezone: at("timezone"),
  });
  const contextSize = readText(size, "web_search_options.search_context_size");
  return { needed: true, ...present({ contextSize, location: filled(location) }) };
}

function readSeed({ seed }: Body): number | undefined {
  if (seed === undefined || Number.isSafeInteger(seed)) return seed as number | undefined;
  throw wrong("seed", "must be an integer");
}

function readUser(body: Body): string | undefined {
  return readText(body.user, "user") ?? readText(body.safety_identifier, "safety_identifier");
}

function readLogprobs({ logprobs, top_logprobs: top = 0 }: Body): Chat["logprobs"] {
  if (logprobs !== undefined && typeof logprobs !== "boolean")
    throw wrong("logprobs", "must be true or false");
  if (!Number.isInteger(top) || Number(top) < 0 || Number(top) > MOST_TOP_LOGPROBS)
    throw wrong("top_logprobs", `must be an integer from 0 to ${MOST_TOP_LOGPROBS}`);
  if (logprobs === true) return { top: Number(top) };
  if (top !== 0) throw wrong("top_logprobs", "needs logprobs to be true");
  return undefined;
}

/** Source: `top_logprobs` of openai-node 7.55. */
const MOST_TOP_LOGPROBS = 20;

function readHints({ verbosity, prompt_cache_key: key }: Body) {
  return { verbosity: readText(verbosity, "verbosity"), cacheKey: readText(key, "prompt_cache_key") };
}

/** A text; `undefined` where it says nothing. */
function readText(value: unknown, path: string): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "string") return value;
  throw wrong(path, "must be a string");
}

function decodeWish(body: Body, warn: Warn): ThinkingWish | undefined {
  const words = { reasoning_effort: body.reasoning_effort, "reasoning.effort": body.reasoning?.effort };
  for (const [path, word] of Object.entries(words)) {
    if (typeof word === "string" && !(EFFORTS as readonly string[]).includes(word))
      throw wrong(path, `must be one of ${EFFORTS.join(", ")}`);
  }
  return readWish(body, warn);
}

function decodeModalities({ modalities }: Body): readonly ("text" | "image")[] | undefined {
  return modalities?.map((kind) => {
    if (kind !== "audio") return kind;
    throw wrong("modalities", "must be text or image: this model's provider gives no audio");
  });
}

function decodeImageConfig({ image_config: config }: Body, warn: Warn): Chat["image"] {
  const { aspect_ratio: ratio, image_size: size, ...rest } = (config ?? {}) as JsonObject;
  const said = present({
    aspectRatio: readText(ratio, "image_config.aspect_ratio"),
    size: readText(size, "image_config.image_size"),
  });
  for (const name of Object.keys(rest))
    warn(`image_config.${printable(name)} was left out: this model's provider has no such field`);
  return Object.keys(said).length === 0 ? undefined : said;
}

function decodeResponseFormat({ response_format: format }: Body): ResponseFormat | undefined {
  if (format === undefined || format.type === "text") return undefined;
  if (format.type === "json_object") return { type: "json_object" };
  const path = "response_format.json_schema";
  const { json_schema: said } = format as JsonObject;
  if (!isJsonObject(said)) throw wrong(path, "must be an object with a schema");
  const { name, schema, description, strict } = said;
  if (!isJsonObject(schema)) throw wrong(`${path}.schema`, "must be a JSON schema");
  return {
    type: "json_schema",
    name: typeof name === "string" && name !== "" ? name : "response",
    schema,
    ...(typeof description === "string" ? { description } : {}),
    ...(typeof strict === "boolean" ? { strict } : {}),
  };
}
