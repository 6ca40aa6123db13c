import type { ChatRequest, ResponseFormat, ThinkingWish, Turn } from "../../../core/chat.ts";
import {
  filledText,
  isJsonObject,
  type JsonObject,
  objectsIn,
  present,
} from "../../../core/json/json-value.ts";
import { EFFORTS } from "../../../core/model.ts";
import { wrong } from "../../request-json.ts";
import type { DecodedRequest } from "../../translate.ts";
import { createWarnings, type Warn } from "../../warnings.ts";
import { ownName } from "../own-name.ts";
import type { ResponsesRequest } from "../request.ts";
import { askForSummary, asksToCompact } from "./compaction.ts";
import { decodeItems } from "./decode-items.ts";
import { decodeTools } from "./decode-tools.ts";
import { type Echo, echoOf } from "./echo.ts";
import { namesIn } from "./place-names.ts";
import { leaveRest } from "./leave-rest.ts";
import { readTools, type ToolList } from "./tool-table.ts";

/**
 * A checked request in no format. The decoder leaves out with a warning what only helps and has no place elsewhere.
 * Throws a 400 that names the field for what would change the answer.
 */
export function decodeRequest({
  body: sent,
  stream,
  carrier,
}: Pick<ResponsesRequest, "body" | "stream" | "carrier">): DecodedRequest {
  const warnings = createWarnings();
  const warn: Warn = (sentence) => void warnings.add(sentence);
  leaveRest(sent, warn);
  const all = itemsIn(sent.input);
  const compacts = asksToCompact(all);
  const items = compacts ? all.slice(0, -1) : all;
  const body = updated(sent, items);
  const table = readTools(toolLists(body, items), warn);
  const { tools, toolChoice, allowedTools, webSearch } = decodeTools(table, body.tool_choice, warn);
  const turns = [...instructionsOf(body), ...decodeItems(items, { table, carrier, warn })];
  if (turns.length === 0) throw wrong("input", "must have an item that is not empty");
  const { verbosity } = isJsonObject(body.text) ? body.text : {};
  const named = (name: unknown): string | undefined =>
    filledText(name) === undefined ? undefined : ownName(carrier, name);
  const chat: ChatRequest = {
    turns,
    tools,
    ...present({
      toolChoice,
      allowedTools,
      webSearch,
      // Without tools it says nothing.
      parallelToolCalls: tools.length === 0 ? undefined : booleanIn(body.parallel_tool_calls),
      maxOutputTokens: numberIn(body.max_output_tokens),
      temperature: numberIn(body.temperature),
      topP: numberIn(body.top_p),
      thinking: decodeWish(body),
      responseFormat: decodeFormat(body),
      logprobs: readLogprobs(body),
      verbosity: filledText(verbosity),
      cacheKey: named(body.prompt_cache_key),
      user: named(body.user) ?? named(body.safety_identifier),
    }),
    stop: [],
    choices: 1,
  };
  const echo: Echo = { asked: echoOf(sent), calls: table.calls, compacts };
  return {
    chat: compacts ? askForSummary(chat) : chat,
    names: namesIn(body, table.webSearch?.called),
    // No field hides thinking: it is hidden where no summary is asked for.
    unsaid: ["hidden"],
    stream,
    warnings: [...warnings],
    echo: { ...echo },
  };
}

/** They are asked for by a number of others, or by name. */
function readLogprobs({ top_logprobs: top, include }: Readonly<JsonObject>): ChatRequest["logprobs"] {
  const isNamed = Array.isArray(include) && include.includes("message.output_text.logprobs");
  const others = numberIn(top) ?? 0;
  return others > 0 || isNamed ? { top: others } : undefined;
}

/** The items of an input, which may be a text. */
export function itemsIn(input: unknown): readonly JsonObject[] {
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
  return objectsIn(input);
}

/** The body with what its items change of it, the last one last. */
function updated(body: Readonly<JsonObject>, items: readonly JsonObject[]): Readonly<JsonObject> {
  const updates = items.filter(({ type }) => type === "configuration_update");
  if (updates.length === 0) return body;
  const merged = (name: "reasoning" | "text"): JsonObject =>
    Object.assign({}, ...[body, ...updates].map((one) => (isJsonObject(one[name]) ? one[name] : {})));
  return { ...body, reasoning: merged("reasoning"), text: merged("text") };
}

/** The tools of the request, and those that its items bring in. */
function toolLists({ tools }: Readonly<JsonObject>, items: readonly JsonObject[]): readonly ToolList[] {
  const brought = items.flatMap(({ type, tools: more }, i) =>
    type === "additional_tools" || type === "tool_search_output"
      ? [{ tools: more, path: `input[${i}].tools` }]
      : [],
  );
  return [{ tools, path: "tools" }, ...brought];
}

function instructionsOf({ instructions }: Readonly<JsonObject>): readonly Turn[] {
  const text = filledText(instructions);
  return text === undefined ? [] : [{ role: "system", parts: [{ type: "text", text }] }];
}

function decodeWish({ reasoning }: Readonly<JsonObject>): ThinkingWish | undefined {
  if (!isJsonObject(reasoning)) return undefined;
  const effort = filledText(reasoning.effort);
  const summary = filledText(reasoning.summary) ?? filledText(reasoning.generate_summary);
  if (effort === undefined) return summary === undefined ? undefined : { mode: "auto" };
  if (!(EFFORTS as readonly string[]).includes(effort))
    throw wrong("reasoning.effort", `must be one of ${EFFORTS.join(", ")}`);
  if (effort === "none") return { mode: "off" };
  return summary === undefined ? { effort, hidden: true } : { effort };
}

function decodeFormat({ text }: Readonly<JsonObject>): ResponseFormat | undefined {
  const format = isJsonObject(text) ? text.format : undefined;
  if (!isJsonObject(format) || format.type === "text") return undefined;
  if (format.type === "json_object") return { type: "json_object" };
  const path = "text.format";
  if (format.type !== "json_schema") throw wrong(`${path}.type`, "must be text, json_object or json_schema");
  // Clients of chat completions have its members one level further in.
  const { json_schema: nested } = format;
  const { name, schema, description, strict } = isJsonObject(nested) ? { ...format, ...nested } : format;
  if (!isJsonObject(schema)) throw wrong(`${path}.schema`, "must be a JSON schema");
  return {
    type: "json_schema",
    name: filledText(name) ?? "response",
    schema,
    ...(typeof description === "string" ? { description } : {}),
    ...(typeof strict === "boolean" ? { strict } : {}),
  };
}

function numberIn(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function booleanIn(value: unknown): boolean | undefined {
  return typeof value === "boolean" ? value : undefined;
}
