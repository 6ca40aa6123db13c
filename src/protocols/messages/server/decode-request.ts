import { fieldOf } from "../../../catalog/parameter-tables/field.ts";
import { MESSAGES } from "../../../catalog/parameter-tables/messages.ts";
import type { ChatRequest, ResponseFormat, ThinkingWish } from "../../../core/chat.ts";
import { filled, filledText, isJsonObject, present } from "../../../core/json/json-value.ts";
import { unknownField } from "../../meant-field.ts";
import { printable } from "../../printable.ts";
import { wrong } from "../../request-json.ts";
import type { DecodedRequest } from "../../translate.ts";
import { createWarnings, type Warn } from "../../warnings.ts";
import type { MessagesRequest } from "../request.ts";
import { MESSAGES_FIELDS, type MessagesRequestBody } from "../schema.ts";
import { decodeTools } from "./decode-tools.ts";
import { decodeTurns } from "./decode-turns.ts";
import { namesIn } from "./place-names.ts";

/** Fields that have a place in a request of no format. */
const READ = new Set(
  `model max_tokens messages system stream temperature top_p top_k stop_sequences tools tool_choice thinking
   output_config output_format metadata`.match(/\S+/g),
);

/** Fields of previews without which the answer would be another one. */
const MEANT = new Set(["container", "mcp_servers", "thread"]);

/**
 * A checked request in no format. The decoder leaves out with a warning what only helps and has no place elsewhere.
 * Throws a 400 that names the field for what would change the answer.
 */
export function decodeRequest(request: MessagesRequest): DecodedRequest {
  const { body, stream, betas } = request;
  const warnings = createWarnings();
  const warn: Warn = (sentence) => void warnings.add(sentence);
  leaveRest(body, warn);
  if (betas.length > 0) warn("anthropic-beta was left out: this model's provider has no such previews");
  if (body.max_tokens === 0)
    throw wrong(
      "max_tokens",
      "must be at least 1: this model's provider does not warm a cache without an answer",
    );
  const { tools, search, ...choice } = decodeTools(body, warn);
  const thinking = decodeWish(body);
  const chat: ChatRequest = {
    turns: decodeTurns(request, warn),
    tools,
    ...choice,
    ...present({
      maxOutputTokens: body.max_tokens,
      temperature: body.temperature,
      topP: body.top_p,
      topK: body.top_k,
      thinking,
      responseFormat: decodeFormat(body, warn),
      user: filledText(body.metadata?.user_id),
    }),
    stop: body.stop_sequences ?? [],
    choices: 1,
  };
  const names = namesIn(body, search);
  const echo = thinking?.hidden === true ? { echo: { hidden: true } } : {};
  return { chat, names, stream, warnings: [...warnings], ...echo };
}

/** Goes over the fields that have no place: those that cost or change the answer are refused. */
function leaveRest(body: MessagesRequestBody, warn: Warn): void {
  for (const [name, value] of Object.entries(body)) {
    if (READ.has(name)) continue;
    const field = fieldOf(MESSAGES, name);
    if (field === undefined) warn(unknownField(name, MESSAGES_FIELDS.format, MESSAGES_FIELDS.meant(name)));
    else if (field.rule === "priced") {
      if (!field.freeValues.includes(value))
        throw wrong(name, "cannot be had from this model's provider: leave it out");
    } else if (isNothing(value)) continue;
    else if (MEANT.has(name)) throw wrong(name, "cannot be had from this model's provider: leave it out");
    else warn(`${name} was left out: this model's provider has no such field`);
  }
}

function isNothing(value: unknown): boolean {
  return value === null || value === undefined || (typeof value === "object" && filled(value) === undefined);
}

function decodeWish({ thinking, output_config: config }: MessagesRequestBody): ThinkingWish | undefined {
  if (thinking?.type === "disabled") return { mode: "off" };
  const wish: ThinkingWish = present({
    mode: thinking && (thinking.type === "enabled" ? "on" : "auto"),
    budgetTokens: thinking?.type === "enabled" ? (thinking.budget_tokens ?? undefined) : undefined,
    effort: config?.effort ?? undefined,
    hidden: thinking?.display === "omitted" || undefined,
  }) as ThinkingWish;
  return filled(wish);
}

function decodeFormat(body: MessagesRequestBody, warn: Warn): ResponseFormat | undefined {
  const { format, effort: _effort, ...rest } = { ...body.output_config };
  for (const [name, value] of Object.entries(rest))
    if (!isNothing(value))
      warn(`output_config.${printable(name)} was left out: this model's provider has no such field`);
  const { output_format: old } = body as { readonly output_format?: unknown };
  const [said, path] = format ? [format, "output_config.format"] : [old ?? undefined, "output_format"];
  if (said === undefined) return undefined;
  if (!isJsonObject(said) || said.type !== "json_schema") throw wrong(`${path}.type`, "must be json_schema");
  if (!isJsonObject(said.schema)) throw wrong(`${path}.schema`, "must be a JSON schema");
  return { type: "json_schema", name: "response", schema: said.schema, strict: true };
}
