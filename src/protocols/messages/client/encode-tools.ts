import type { ChatRequest, ToolChoice, ToolDefinition, WebSearch } from "../../../core/chat.ts";
import { type JsonObject, present } from "../../../core/json/json-value.ts";
import { createMadeOnce } from "../../../core/json/kept.ts";
import type { Losses } from "../../losses.ts";
import { checkNames } from "../../told-tools.ts";
import { DEFAULT_MAX_USES } from "../tools.ts";
import { strictSchema } from "./strict-schema.ts";

/** `tools` and `tool_choice`, where there are tools. `thinks`: the model is asked to think, so no call can be forced. */
export function encodeTools(chat: ChatRequest, thinks: boolean, losses: Losses): JsonObject {
  const { tools, webSearch } = chat;
  if (tools.length === 0 && webSearch === undefined) return {};
  checkNames(tools, NAMES, losses);
  const lost = new Set(tools.flatMap(lostKeywords));
  if (lost.size > 0) losses.note({ place: "strict", why: "told_in_words", keywords: [...lost] });
  const own = encodeList(tools);
  return {
    tools: webSearch === undefined ? own : [...own, encodeSearch(webSearch, losses)],
    tool_choice: encodeChoice(chat, thinks, losses),
  };
}

/** Source: `name` of a tool, https://docs.claude.com/en/docs/agents-and-tools/tool-use/implement-tool-use */
const NAMES = /^[a-zA-Z0-9_-]{1,128}$/;

/** What the provider calls its search, and wants it called. */
const SEARCH = "web_search";

/** No tool of the caller's may have the search's name, and somewhere must be left to search in. */
export function canSearch(search: WebSearch, { tools }: Pick<ChatRequest, "tools">): boolean {
  return !tools.some(({ name }) => name === SEARCH) && allowedDomains(search)?.length !== 0;
}

/** The provider takes domains that are allowed or that are not, never both. */
function allowedDomains({ allowedDomains: allowed, blockedDomains: blocked }: WebSearch) {
  return allowed?.filter((domain) => blocked?.includes(domain) !== true);
}

/**
 * Source: `WebSearchTool20250305` of @anthropic-ai/sdk 1.12. A bound goes up with it always, as credit is held for so many
 * searches.
 */
function encodeSearch(search: WebSearch, losses: Losses): JsonObject {
  const { mostUses, blockedDomains, location, contextSize } = search;
  const allowed = allowedDomains(search);
  if (contextSize !== undefined)
    losses.note({ place: "webSearch", why: "search_in_part", detail: "contextSize" });
  return present({
    type: "web_search_20250305",
    name: SEARCH,
    max_uses: Math.min(mostUses ?? DEFAULT_MAX_USES, DEFAULT_MAX_USES),
    allowed_domains: allowed,
    blocked_domains: allowed === undefined ? blockedDomains : undefined,
    user_location: location && { type: "approximate", ...location },
  });
}

const keptLists = createMadeOnce<readonly ToolDefinition[], readonly JsonObject[]>();

function encodeList(tools: readonly ToolDefinition[]): readonly JsonObject[] {
  const known = keptLists.get(tools);
  if (known !== undefined) return known;
  const written = tools.map(encodeTool);
  // A mark may have to go.
  return tools.every(({ cache }) => cache === undefined) ? keptLists.add(tools, written) : written;
}

const keptTools = createMadeOnce<ToolDefinition, JsonObject>();

function encodeTool(tool: ToolDefinition): JsonObject {
  const known = keptTools.get(tool);
  if (known !== undefined) return known;
  const written = writeTool(tool);
  // A mark may have to go.
  return tool.cache === undefined ? keptTools.add(tool, written) : written;
}

function writeTool({ name, description, parameters, strict, cache }: ToolDefinition): JsonObject {
  const schema = { type: "object", ...(parameters ?? { properties: {} }) };
  const isStrict = strict === true;
  return {
    name,
    description,
    input_schema: isStrict ? strictSchema(schema) : schema,
    strict: isStrict || undefined,
    cache_control: cache,
  };
}

const keptLost = createMadeOnce<ToolDefinition, readonly string[]>();

/** The keywords of a strict tool's schema that do not bind the model. */
function lostKeywords(tool: ToolDefinition): readonly string[] {
  if (tool.strict !== true || tool.parameters === undefined) return [];
  const known = keptLost.get(tool);
  if (known !== undefined) return known;
  const lost = new Set<string>();
  strictSchema(tool.parameters, lost);
  return keptLost.add(tool, [...lost]);
}

const CHOICES = { none: "none", auto: "auto", required: "any", tool: "tool" } as const;

function encodeChoice(chat: ChatRequest, thinks: boolean, losses: Losses): JsonObject | undefined {
  const isSingle = chat.parallelToolCalls === false;
  const searches = chat.webSearch?.forced === true;
  const called: ToolChoice | undefined = searches ? { type: "tool", name: SEARCH } : chat.toolChoice;
  const choice = called ?? (isSingle ? { type: "auto" } : undefined);
  if (choice === undefined || choice.type === "none") return choice;
  const mustCall = choice.type !== "auto";
  if (mustCall && thinks) losses.note({ place: "toolChoice", why: "not_forced" });
  return {
    type: mustCall && thinks ? "auto" : CHOICES[choice.type],
    name: choice.type === "tool" && !thinks ? choice.name : undefined,
    disable_parallel_tool_use: isSingle || undefined,
  };
}
