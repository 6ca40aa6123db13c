import type { ChatRequest, ToolChoice, ToolDefinition, WebSearch } from "../../../core/chat.ts";
import { filled, type JsonObject, present } from "../../../core/json/json-value.ts";
import { makeOnce } from "../../../core/json/kept.ts";
import { customNames } from "../../custom-tools.ts";
import type { Losses } from "../../losses.ts";
import type { RelayTarget } from "../../protocol.ts";
import { checkNames, schemaOf, toldTools } from "../../told-tools.ts";

/** `tools` and what is said of them, where there are any. */
export function encodeTools(
  chat: ChatRequest,
  { model }: Pick<RelayTarget, "model">,
  losses: Losses,
): JsonObject {
  const { tools: called, allowed } = toldTools(chat, model.id.startsWith("openai/"), losses);
  const { webSearch } = chat;
  if (called.length === 0 && webSearch === undefined) return {};
  checkNames(called, NAMES, losses);
  const functions = encodeList(called);
  return present({
    tools: webSearch === undefined ? functions : [...functions, encodeSearch(webSearch)],
    tool_choice:
      webSearch?.forced === true ? { type: SEARCH } : encodeChoice(called, chat.toolChoice, allowed),
    parallel_tool_calls: chat.parallelToolCalls,
    max_tool_calls: webSearch?.mostUses,
  });
}

/** Source: `name` of a function, https://platform.openai.com/docs/api-reference/responses/create */
const NAMES = /^[a-zA-Z0-9_-]{1,128}$/;

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

const encodeTool = makeOnce(writeTool);
const encodeList = makeOnce((tools: readonly ToolDefinition[]): readonly JsonObject[] =>
  tools.map(encodeTool),
);

/** A function is strict in this format where nothing is said of it, so that something always is. */
function writeTool(tool: ToolDefinition): JsonObject {
  const { name, description, custom } = tool;
  if (custom !== undefined) {
    const format = custom.grammar && { type: "grammar", ...custom.grammar };
    return present({ type: "custom", name, description, format });
  }
  const { parameters, isBound } = schemaOf(tool);
  return present({ type: "function", name, description, parameters, strict: isBound });
}

function encodeChoice(
  tools: readonly ToolDefinition[],
  choice: ToolChoice | undefined,
  allowed: readonly string[] | undefined,
): unknown {
  const customs = new Set(customNames({ tools }));
  const named = (name: string): JsonObject => ({ type: customs.has(name) ? "custom" : "function", name });
  if (choice?.type === "tool") return named(choice.name);
  if (allowed === undefined || choice?.type === "none") return choice?.type;
  return { type: "allowed_tools", mode: choice?.type ?? "auto", tools: allowed.map(named) };
}
