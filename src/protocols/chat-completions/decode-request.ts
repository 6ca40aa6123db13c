import { CHAT } from "../../catalog/parameter-tables/chat-completions.ts";
import { type Field, fieldOf } from "../../catalog/parameter-tables/field.ts";
import type {
  ChatRequest as Chat,
  ResponseFormat,
  ThinkingWish,
  ToolChoice,
  ToolDefinition,
} from "../../core/chat.ts";
import { isJsonObject, type JsonObject, present } from "../../core/json-value.ts";
import { EFFORTS } from "../../core/model.ts";
import { invalid } from "../request-json.ts";
import { unknownField } from "../meant-field.ts";
import { printable } from "../printable.ts";
import type { DecodedRequest } from "../translate.ts";
import { createWarnings } from "../warnings.ts";
import { decodeMessages } from "./decode-messages.ts";
import { decodeToolChoice, decodeTools } from "./decode-tools.ts";
import { namesIn } from "./place-names.ts";
import type { ChatRequest } from "./request.ts";
import { CHAT_FIELDS, type ChatRequestBody } from "./schema.ts";
import { readWish } from "./thinking.ts";

type Fields = Readonly<Record<string, unknown>>;

/**
 * A checked request in no format. What only helps and has no place elsewhere is left out with a warning; throws a 400
 * that names the field for what would change the answer.
 */
export function decodeRequest({ body, stream }: ChatRequest): DecodedRequest {
  const warnings = createWarnings();
  const warn = (sentence: string): void => void warnings.add(sentence);
  const fields: Fields = body;
  leaveRest(fields, warn);
  const { tools, choice } = chooseTools(body);
  const chat: Chat = {
    turns: decodeMessages(body.messages, warn),
    tools,
    ...present({
      toolChoice: choice,
      // Without tools it says nothing.
      parallelToolCalls: tools.length === 0 ? undefined : body.parallel_tool_calls,
      maxOutputTokens: body.max_completion_tokens ?? body.max_tokens,
      temperature: body.temperature,
      topP: body.top_p,
      presencePenalty: body.presence_penalty,
      frequencyPenalty: body.frequency_penalty,
      seed: readSeed(fields.seed),
      thinking: decodeWish(body, warn),
      outputModalities: decodeModalities(body),
      image: decodeImageConfig(body, warn),
      responseFormat: decodeResponseFormat(body.response_format),
      user: readUser(fields),
    }),
    stop: typeof body.stop === "string" ? [body.stop] : (body.stop ?? []),
    choices: body.n ?? 1,
  };
  return { chat, names: namesIn(fields), stream, warnings: [...warnings] };
}

/** Goes over the fields that have no place: those that cost or change the answer are refused. */
function leaveRest(fields: Fields, warn: (sentence: string) => void): void {
  for (const [name, value] of Object.entries(fields)) {
    const field = fieldOf(CHAT, name);
    if (field === undefined) warn(unknownField(name, CHAT_FIELDS.format, CHAT_FIELDS.meant(name)));
    else if (field.place !== undefined || asksNothing(field, value)) continue;
    else if (field.meaning === undefined && field.rule !== "priced")
      warn(`${name} was left out: this model's provider has no such field`);
    else {
      const instead = field.meaning?.instead ?? "leave it out";
      throw invalid(`${name} cannot be had from this model's provider: ${instead}.`, name);
    }
  }
}

function asksNothing(field: Field, value: unknown): boolean {
  const { meaning } = field;
  if (field.rule === "priced") return field.freeValues.includes(value);
  if (meaning === undefined) return value === false;
  return meaning.asksNothing?.(value) ?? meaning.asks?.(value) === false;
}

/** The tools that may be called and how. A choice that allows some of them leaves the others out. */
function chooseTools(body: ChatRequestBody): {
  readonly tools: readonly ToolDefinition[];
  readonly choice: ToolChoice | undefined;
} {
  const tools = decodeTools(body.tools ?? []);
  const { choice, allowed } = decodeToolChoice(body.tool_choice, tools);
  return { tools: allowed === undefined ? tools : tools.filter(({ name }) => allowed.has(name)), choice };
}

function readSeed(seed: unknown): number | undefined {
  if (seed === undefined || Number.isSafeInteger(seed)) return seed as number | undefined;
  throw invalid("seed must be an integer.", "seed");
}

function readUser(fields: Fields): string | undefined {
  for (const name of ["user", "safety_identifier"] as const) {
    const value = fields[name];
    if (value !== undefined && typeof value !== "string") throw invalid(`${name} must be a string.`, name);
    if (value !== undefined && value !== "") return value;
  }
  return undefined;
}

function decodeWish(body: ChatRequestBody, warn: (sentence: string) => void): ThinkingWish | undefined {
  const { reasoning, reasoning_effort: effort } = body;
  for (const [path, word] of [
    ["reasoning_effort", effort],
    ["reasoning.effort", reasoning?.effort],
  ] as const) {
    if (typeof word === "string" && !(EFFORTS as readonly string[]).includes(word))
      throw invalid(`${path} must be one of ${EFFORTS.join(", ")}.`, path);
  }
  if (typeof effort === "string" && typeof reasoning?.effort === "string" && reasoning.effort !== effort)
    warn("reasoning was left out: reasoning_effort says otherwise");
  const wish = readWish(body);
  return wish === undefined || Object.keys(wish).length === 0 ? undefined : wish;
}

function decodeModalities({ modalities }: ChatRequestBody): readonly ("text" | "image")[] | undefined {
  return modalities?.map((kind) => {
    if (kind !== "audio") return kind;
    throw invalid("modalities must be text or image: this model's provider gives no audio.", "modalities");
  });
}

function decodeImageConfig(body: ChatRequestBody, warn: (sentence: string) => void): Chat["image"] {
  if (body.image_config === undefined) return undefined;
  const { aspect_ratio: ratio, image_size: size, ...rest } = body.image_config as JsonObject;
  for (const [name, value] of [
    ["aspect_ratio", ratio],
    ["image_size", size],
  ] as const) {
    if (value !== undefined && value !== null && typeof value !== "string")
      throw invalid(`image_config.${name} must be a string.`, `image_config.${name}`);
  }
  for (const name of Object.keys(rest))
    warn(`image_config.${printable(name)} was left out: this model's provider has no such field`);
  const said = {
    ...(typeof ratio === "string" ? { aspectRatio: ratio } : {}),
    ...(typeof size === "string" ? { size } : {}),
  };
  return Object.keys(said).length === 0 ? undefined : said;
}

function decodeResponseFormat(format: ChatRequestBody["response_format"]): ResponseFormat | undefined {
  if (format === undefined || format.type === "text") return undefined;
  if (format.type === "json_object") return { type: "json_object" };
  const path = "response_format.json_schema";
  const { json_schema: said } = format as JsonObject;
  if (!isJsonObject(said)) throw invalid(`${path} must be an object with a schema.`, path);
  const { name, schema, description, strict } = said;
  if (!isJsonObject(schema)) throw invalid(`${path}.schema must be a JSON schema.`, `${path}.schema`);
  return {
    type: "json_schema",
    name: typeof name === "string" && name !== "" ? name : "response",
    schema,
    ...(typeof description === "string" ? { description } : {}),
    ...(typeof strict === "boolean" ? { strict } : {}),
  };
}
