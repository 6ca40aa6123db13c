import type { ChatRequest, ToolChoice, ToolDefinition, WebSearch } from "../../../core/chat.ts";
import { filled, type JsonObject, present } from "../../../core/json/json-value.ts";
import { createMadeOnce } from "../../../core/json/kept.ts";
import { closedSchema } from "../../closed-schema.ts";
import type { Losses } from "../../losses.ts";
import type { RelayTarget } from "../../protocol.ts";

/** `tools` and what is said of them, where there are any. */
export function encodeTools(
  chat: ChatRequest,
  { model }: Pick<RelayTarget, "model">,
  losses: Losses,
): JsonObject {
  for (const { cache, strict, parameters } of chat.tools) {
    if (cache !== undefined) losses.note({ place: "cache", why: "caches_itself" });
    if (strict === true && parameters !== undefined && closedSchema(parameters) === undefined)
      losses.note({ place: "strict", why: "optional_members" });
  }
  // Only the reference knows tools that are there and may not be called now: elsewhere they are not there.
  const allowed = model.id.startsWith("openai/") ? chat.allowedTools : undefined;
  const here = new Set(chat.allowedTools);
  const called = allowed === chat.allowedTools ? chat.tools : chat.tools.filter(({ name }) => here.has(name));
  const { webSearch } = chat;
  if (called.length === 0 && webSearch === undefined) return {};
  const functions = encodeList(called);
  return present({
    tools: webSearch === undefined ? functions : [...functions, encodeSearch(webSearch)],
    tool_choice:
      webSearch?.forced === true ? { type: SEARCH } : encodeChoice(called, chat.toolChoice, allowed),
    parallel_tool_calls: chat.parallelToolCalls,
    max_tool_calls: webSearch?.mostUses,
  });
}

const SEARCH = "web_search";

/** Source: `WebSearchTool` of openai-node 7.57. */
function encodeSearch({ allowedDomains, blockedDomains, contextSize, location }: WebSearch): JsonObject {
  return present({
    type: SEARCH,
    filters: filled(present({ allowed_domains: allowedDomains, blocked_domains: blockedDomains })),
    search_context_size: contextSize,
    user_location: location && { type: "approximate", ...location },
  });
}

const keptLists = createMadeOnce<readonly ToolDefinition[], readonly JsonObject[]>();
const keptTools = createMadeOnce<ToolDefinition, JsonObject>();

function encodeList(tools: readonly ToolDefinition[]): readonly JsonObject[] {
  return keptLists.get(tools) ?? keptLists.add(tools, tools.map(encodeTool));
}

function encodeTool(tool: ToolDefinition): JsonObject {
  return keptTools.get(tool) ?? keptTools.add(tool, writeTool(tool));
}

/** A function is strict in this format where nothing is said of it, so that something always is. */
function writeTool({ name, description, parameters, strict, custom }: ToolDefinition): JsonObject {
  if (custom !== undefined) {
    const format = custom.grammar && { type: "grammar", ...custom.grammar };
    return present({ type: "custom", name, description, format });
  }
  const schema = { type: "object", ...(parameters ?? { properties: {} }) };
  const bound = strict === true ? closedSchema(schema) : undefined;
  const called = { name, description, parameters: bound ?? schema, strict: bound !== undefined };
  return present({ type: "function", ...called });
}

function encodeChoice(
  tools: readonly ToolDefinition[],
  choice: ToolChoice | undefined,
  allowed: readonly string[] | undefined,
): unknown {
  const customs = new Set(tools.filter(({ custom }) => custom !== undefined).map(({ name }) => name));
  const named = (name: string): JsonObject => ({ type: customs.has(name) ? "custom" : "function", name });
  if (choice?.type === "tool") return named(choice.name);
  if (allowed === undefined || choice?.type === "none") return choice?.type;
  return { type: "allowed_tools", mode: choice?.type ?? "auto", tools: allowed.map(named) };
}
