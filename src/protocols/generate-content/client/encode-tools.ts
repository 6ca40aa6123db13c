import type { ChatRequest, ToolChoice, WebSearch } from "../../../core/chat.ts";
import type { JsonObject } from "../../../core/json/json-value.ts";
import type { Losses } from "../../losses.ts";
import { checkNames } from "../../told-tools.ts";

/** Names of functions that the format takes: https://ai.google.dev/api/caching#FunctionDeclaration */
const NAMES = /^[a-zA-Z_][\w.:-]{0,127}$/;

const MODES = { none: "NONE", auto: "AUTO", required: "ANY", tool: "ANY" } as const;

/**
 * `tools` and `toolConfig`: a search, or functions. Schemas go in the member that takes JSON Schema whole. Refuses a name that cannot be said.
 */
export function encodeTools(chat: ChatRequest, losses: Losses): JsonObject {
  const { tools, toolChoice, webSearch } = chat;
  if (webSearch !== undefined) return { tools: [encodeSearch(webSearch, losses)] };
  if (tools.length === 0) return {};
  checkNames(tools, NAMES, losses);
  if (tools.some(({ strict }) => strict === true)) losses.note({ place: "strict", why: "no_switch" });
  if (tools.some(({ cache }) => cache !== undefined)) losses.note({ place: "cache", why: "caches_itself" });
  if (chat.parallelToolCalls === false) losses.note({ place: "parallelToolCalls", why: "not_single" });
  const functionDeclarations = tools.map(({ name, description, parameters }) => ({
    name,
    description,
    parametersJsonSchema: parameters,
  }));
  return {
    tools: [{ functionDeclarations }],
    toolConfig: toolChoice === undefined ? undefined : { functionCallingConfig: choiceOf(toolChoice) },
  };
}

/**
 * The search takes no domains, and stands alone: beside functions the models want back what it did, which callers of
 * other formats do not have.
 */
export function canSearch(
  { allowedDomains, blockedDomains }: WebSearch,
  { tools }: Pick<ChatRequest, "tools">,
): boolean {
  return tools.length === 0 && allowedDomains === undefined && blockedDomains === undefined;
}

/** Source: "Grounding with Google Search" of https://ai.google.dev/gemini-api/docs/google-search: the tool has no members. */
function encodeSearch(search: WebSearch, losses: Losses): JsonObject {
  for (const detail of ["mostUses", "contextSize", "location"] as const)
    if (search[detail] !== undefined) losses.note({ place: "webSearch", why: "search_in_part", detail });
  if (search.forced === true) losses.note({ place: "webSearch", why: "search_in_part", detail: "choice" });
  return { googleSearch: {} };
}

function choiceOf(choice: ToolChoice): JsonObject {
  const allowedFunctionNames = choice.type === "tool" ? [choice.name] : undefined;
  return { mode: MODES[choice.type], allowedFunctionNames };
}
