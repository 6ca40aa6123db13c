import type { ChatRequest } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json-value.ts";
import type { Losses } from "../losses.ts";

/** Names of functions that the format takes: https://ai.google.dev/api/caching#FunctionDeclaration */
const NAME = /^[a-zA-Z_][\w.:-]{0,127}$/;

/**
 * `tools` and `toolConfig`. Schemas go in the member that takes JSON Schema whole. Throws a 400 for a name that cannot be
 * said, and for a choice among tools that are not there.
 */
export function encodeTools(chat: ChatRequest, losses: Losses): JsonObject {
  const { tools, toolChoice } = chat;
  checkChoice(chat, losses);
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

function checkChoice({ tools, toolChoice }: ChatRequest, losses: Losses): void {
  if (toolChoice?.type === "required" && tools.length === 0)
    throw losses.refusal({ place: "toolChoice", why: "no_tools" });
  if (toolChoice?.type !== "tool" || tools.some(({ name }) => name === toolChoice.name)) return;
  throw losses.refusal({ place: "toolChoice", why: "no_such_tool", name: toolChoice.name });
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
