import type { ChatRequest, ToolChoice } from "../../../core/chat.ts";
import type { JsonObject } from "../../../core/json/json-value.ts";
import type { Losses } from "../../losses.ts";

/** Names of functions that the format takes: https://ai.google.dev/api/caching#FunctionDeclaration */
const NAME = /^[a-zA-Z_][\w.:-]{0,127}$/;

const MODES = { none: "NONE", auto: "AUTO", required: "ANY", tool: "ANY" } as const;

/**
 * `tools` and `toolConfig`. Schemas go in the member that takes JSON Schema whole. Refuses a name that cannot be said.
 */
export function encodeTools(chat: ChatRequest, losses: Losses): JsonObject {
  const { tools, toolChoice } = chat;
  if (tools.length === 0) return {};
  const unsayable = tools.find(({ name }) => !NAME.test(name));
  if (unsayable !== undefined)
    throw losses.refusal({ place: "toolName", at: unsayable.at, why: "tool_name" });
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

function choiceOf(choice: ToolChoice): JsonObject {
  const allowedFunctionNames = choice.type === "tool" ? [choice.name] : undefined;
  return { mode: MODES[choice.type], allowedFunctionNames };
}
