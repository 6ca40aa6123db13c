import type { ChatRequest } from "../../core/chat.ts";
import { quoted } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json-value.ts";
import { invalid } from "../request-json.ts";
import type { Warn } from "./warn.ts";

/** Names of functions that the format takes: https://ai.google.dev/api/caching#FunctionDeclaration */
const NAME = /^[a-zA-Z_][\w.:-]{0,127}$/;

/**
 * `tools` and `toolConfig`. Schemas go in the member that takes JSON Schema whole. Throws a 400 for a name that cannot be
 * said, and for a choice among tools that are not there.
 */
export function encodeTools(chat: ChatRequest, warn: Warn): JsonObject {
  const { tools, toolChoice } = chat;
  checkChoice(chat);
  if (tools.length === 0) return {};
  for (const [i, { name }] of tools.entries()) {
    if (!NAME.test(name))
      throw invalid(
        `tools[${i}].function.name must begin with a letter or an underscore for this model.`,
        `tools[${i}].function.name`,
      );
  }
  if (tools.some(({ strict }) => strict === true))
    warn("tools[].function.strict was left out: this model has no such switch");
  if (tools.some(({ cache }) => cache !== undefined))
    warn("cache_control was left out: this model's provider caches by itself");
  if (chat.parallelToolCalls === false)
    warn("parallel_tool_calls was left out: this model may call more than one tool at once");
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

function checkChoice({ tools, toolChoice }: ChatRequest): void {
  if (toolChoice?.type === "required" && tools.length === 0)
    throw invalid("tool_choice asks for a call, and there are no tools.", "tool_choice");
  if (toolChoice?.type !== "tool" || tools.some(({ name }) => name === toolChoice.name)) return;
  throw invalid(`tool_choice names ${quoted(toolChoice.name)}, which is none of the tools.`, "tool_choice");
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
