import type { ChatRequest } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json-value.ts";
import type { Losses } from "../losses.ts";

/** Names of functions that the format takes: https://ai.google.dev/api/caching#FunctionDeclaration */
const NAME = /^[a-zA-Z_][\w.:-]{0,127}$/;

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
  const declarations = tools.map(declarationOf);
  return {
    tools: [{ functionDeclarations: declarations }],
    ...(toolChoice === undefined ? {} : { toolConfig: { functionCallingConfig: choiceOf(toolChoice) } }),
  };
}

function declarationOf({ name, description, parameters }: ChatRequest["tools"][number]): JsonObject {
  return {
    name,
    ...(description === undefined ? {} : { description }),
    ...(parameters === undefined ? {} : { parametersJsonSchema: parameters }),
  };
}

function choiceOf(choice: NonNullable<ChatRequest["toolChoice"]>): JsonObject {
  switch (choice.type) {
    case "none":
      return { mode: "NONE" };
    case "auto":
      return { mode: "AUTO" };
    case "required":
      return { mode: "ANY" };
    case "tool":
      return { mode: "ANY", allowedFunctionNames: [choice.name] };
  }
}
