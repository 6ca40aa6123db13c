import type { ChatRequest, ToolDefinition } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json-value.ts";
import type { Losses } from "../losses.ts";
import { cacheControl } from "./encode-media.ts";
import { strictSchema } from "./strict-schema.ts";

/** `tools` and `tool_choice`, where there are tools. `thinks`: the model is asked to think, so no call can be forced. */
export function encodeTools(chat: ChatRequest, thinks: boolean, losses: Losses): JsonObject {
  if (chat.tools.length === 0) return {};
  const choice = encodeChoice(chat, thinks, losses);
  return {
    tools: chat.tools.map((tool) => encodeTool(tool)),
    ...(choice === undefined ? {} : { tool_choice: choice }),
  };
}

function encodeTool({ name, description, parameters, strict, cache }: ToolDefinition): JsonObject {
  const schema = { type: "object", ...(parameters ?? { properties: {} }) };
  return {
    name,
    ...(description === undefined ? {} : { description }),
    input_schema: strict === true ? strictSchema(schema) : schema,
    ...(strict === true ? { strict } : {}),
    ...cacheControl(cache),
  };
}

function encodeChoice(chat: ChatRequest, thinks: boolean, losses: Losses): JsonObject | undefined {
  const { toolChoice, parallelToolCalls } = chat;
  const single = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  if (toolChoice === undefined) return parallelToolCalls === false ? { type: "auto", ...single } : undefined;
  switch (toolChoice.type) {
    case "none":
      return { type: "none" };
    case "auto":
      return { type: "auto", ...single };
    case "required":
    case "tool": {
      if (!thinks)
        return toolChoice.type === "tool"
          ? { type: "tool", name: toolChoice.name, ...single }
          : { type: "any", ...single };
      losses.note({ place: "toolChoice", why: "not_forced" });
      return { type: "auto", ...single };
    }
  }
}
