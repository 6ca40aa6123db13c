import type { ChatRequest, ToolDefinition } from "../../../core/chat.ts";
import type { JsonObject } from "../../../core/json/json-value.ts";
import { createMadeOnce } from "../../../core/json/kept.ts";
import type { Losses } from "../../losses.ts";
import { strictSchema } from "./strict-schema.ts";

/** `tools` and `tool_choice`, where there are tools. `thinks`: the model is asked to think, so no call can be forced. */
export function encodeTools(chat: ChatRequest, thinks: boolean, losses: Losses): JsonObject {
  if (chat.tools.length === 0) return {};
  return { tools: encodeList(chat.tools), tool_choice: encodeChoice(chat, thinks, losses) };
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

const CHOICES = { none: "none", auto: "auto", required: "any", tool: "tool" } as const;

function encodeChoice(chat: ChatRequest, thinks: boolean, losses: Losses): JsonObject | undefined {
  const isSingle = chat.parallelToolCalls === false;
  const choice = chat.toolChoice ?? (isSingle ? { type: "auto" } : undefined);
  if (choice === undefined || choice.type === "none") return choice;
  const mustCall = choice.type !== "auto";
  if (mustCall && thinks) losses.note({ place: "toolChoice", why: "not_forced" });
  return {
    type: mustCall && thinks ? "auto" : CHOICES[choice.type],
    name: choice.type === "tool" && !thinks ? choice.name : undefined,
    disable_parallel_tool_use: isSingle || undefined,
  };
}
