import { TOOL_NAME } from "../../../catalog/parameter-tables/chat-completions.ts";
import type { ChatRequest, ToolChoice, ToolDefinition } from "../../../core/chat.ts";
import { type JsonObject, present } from "../../../core/json/json-value.ts";
import { makeOnce } from "../../../core/json/kept.ts";
import { customNames } from "../../custom-tools.ts";
import type { Losses } from "../../losses.ts";
import type { RelayTarget } from "../../protocol.ts";
import { checkNames, schemaOf, toldTools } from "../../told-tools.ts";

/** `tools` and what is said of them, where there are any. */
export function encodeTools(chat: ChatRequest, target: RelayTarget, losses: Losses): JsonObject {
  const { tools, allowed } = toldTools(chat, target.native, losses);
  if (tools.length === 0) return {};
  checkNames(tools, NAMES, losses);
  return present({
    tools: encodeList(tools),
    tool_choice: encodeChoice(tools, chat.toolChoice, allowed),
    parallel_tool_calls: chat.parallelToolCalls,
  });
}

const NAMES = new RegExp(TOOL_NAME);

const encodeTool = makeOnce(writeTool);
const encodeList = makeOnce((tools: readonly ToolDefinition[]): readonly JsonObject[] =>
  tools.map(encodeTool),
);

function writeTool(tool: ToolDefinition): JsonObject {
  const { name, description, custom } = tool;
  if (custom !== undefined) {
    const format = custom.grammar && { type: "grammar", grammar: custom.grammar };
    return { type: "custom", custom: present({ name, description, format }) };
  }
  const { parameters, isBound } = schemaOf(tool);
  const called = { name, description, parameters, strict: isBound || undefined };
  return { type: "function", function: present(called) };
}

function encodeChoice(
  tools: readonly ToolDefinition[],
  choice: ToolChoice | undefined,
  allowed: readonly string[] | undefined,
): unknown {
  const customs = new Set(customNames({ tools }));
  const named = (wanted: string): JsonObject => {
    const type = customs.has(wanted) ? "custom" : "function";
    return { type, [type]: { name: wanted } };
  };
  if (choice?.type === "tool") return named(choice.name);
  if (allowed === undefined || choice?.type === "none") return choice?.type;
  const mode = choice?.type ?? "auto";
  return { type: "allowed_tools", allowed_tools: { mode, tools: allowed.map(named) } };
}
