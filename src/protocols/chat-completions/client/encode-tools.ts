import type { ChatRequest, ToolChoice, ToolDefinition } from "../../../core/chat.ts";
import { type JsonObject, present } from "../../../core/json/json-value.ts";
import { createMadeOnce } from "../../../core/json/kept.ts";
import type { Losses } from "../../losses.ts";
import type { RelayTarget } from "../../protocol.ts";
import { closedSchema } from "../../closed-schema.ts";

/** `tools` and what is said of them, where there are any. */
export function encodeTools(chat: ChatRequest, target: RelayTarget, losses: Losses): JsonObject {
  for (const { cache, strict, parameters } of chat.tools) {
    if (cache !== undefined) losses.note({ place: "cache", why: "caches_itself" });
    if (strict === true && parameters !== undefined && closedSchema(parameters) === undefined)
      losses.note({ place: "strict", why: "optional_members" });
  }
  // Only the reference knows tools that are there and may not be called now: elsewhere they are not there.
  const allowed = target.native ? chat.allowedTools : undefined;
  const here = new Set(chat.allowedTools);
  const tools = allowed === chat.allowedTools ? chat.tools : chat.tools.filter(({ name }) => here.has(name));
  if (tools.length === 0) return {};
  return present({
    tools: encodeList(tools),
    tool_choice: encodeChoice(tools, chat.toolChoice, allowed),
    parallel_tool_calls: chat.parallelToolCalls,
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

function writeTool({ name, description, parameters, strict, custom }: ToolDefinition): JsonObject {
  if (custom !== undefined) {
    const format = custom.grammar && { type: "grammar", grammar: custom.grammar };
    return { type: "custom", custom: present({ name, description, format }) };
  }
  const schema = { type: "object", ...(parameters ?? { properties: {} }) };
  const bound = strict === true ? closedSchema(schema) : undefined;
  const called = { name, description, parameters: bound ?? schema, strict: bound && true };
  return { type: "function", function: present(called) };
}

function encodeChoice(
  tools: readonly ToolDefinition[],
  choice: ToolChoice | undefined,
  allowed: readonly string[] | undefined,
): unknown {
  const customs = new Set(tools.filter(({ custom }) => custom !== undefined).map(({ name }) => name));
  const named = (wanted: string): JsonObject => {
    const type = customs.has(wanted) ? "custom" : "function";
    return { type, [type]: { name: wanted } };
  };
  if (choice?.type === "tool") return named(choice.name);
  if (allowed === undefined || choice?.type === "none") return choice?.type;
  const mode = choice?.type ?? "auto";
  return { type: "allowed_tools", allowed_tools: { mode, tools: allowed.map(named) } };
}
