import type { ChatRequest, ToolDefinition } from "../../../core/chat.ts";
import { type JsonObject, present } from "../../../core/json/json-value.ts";
import { createMadeOnce } from "../../../core/json/kept.ts";
import type { Losses } from "../../losses.ts";
import type { RelayTarget } from "../../protocol.ts";

/** `tools` and what is said of them, where there are any. */
export function encodeTools(chat: ChatRequest, target: RelayTarget, losses: Losses): JsonObject {
  if (chat.tools.some(({ cache }) => cache !== undefined))
    losses.note({ place: "cache", why: "caches_itself" });
  const { tools, allowedTools } = target.native ? chat : narrowed(chat);
  if (tools.length === 0) return {};
  return present({
    tools: encodeList(tools),
    tool_choice: encodeChoice({ ...chat, tools, allowedTools }),
    parallel_tool_calls: chat.parallelToolCalls,
  });
}

type Offered = Pick<ChatRequest, "tools"> & { readonly allowedTools: ChatRequest["allowedTools"] };

/** Only the reference knows tools that are there and may not be called now: elsewhere they are not there. */
function narrowed({ tools, allowedTools }: ChatRequest): Offered {
  const isAllowed = ({ name }: ToolDefinition): boolean => allowedTools?.includes(name) ?? true;
  return { tools: allowedTools === undefined ? tools : tools.filter(isAllowed), allowedTools: undefined };
}

const keptLists = createMadeOnce<readonly ToolDefinition[], readonly JsonObject[]>();
const keptTools = createMadeOnce<ToolDefinition, JsonObject>();

function encodeList(tools: readonly ToolDefinition[]): readonly JsonObject[] {
  return keptLists.get(tools) ?? keptLists.add(tools, tools.map(encodeTool));
}

function encodeTool(tool: ToolDefinition): JsonObject {
  return keptTools.get(tool) ?? keptTools.add(tool, writeTool(tool));
}

function writeTool({ name, description, parameters, strict }: ToolDefinition): JsonObject {
  const schema = { type: "object", ...(parameters ?? { properties: {} }) };
  const called = { name, description, parameters: schema, strict: strict === true ? strict : undefined };
  return { type: "function", function: present(called) };
}

function encodeChoice({
  toolChoice: choice,
  allowedTools,
}: Omit<ChatRequest, "allowedTools"> & Offered): unknown {
  const named = (name: string): JsonObject => ({ type: "function", function: { name } });
  if (choice?.type === "tool") return named(choice.name);
  if (allowedTools === undefined || choice?.type === "none") return choice?.type;
  const mode = choice?.type ?? "auto";
  return { type: "allowed_tools", allowed_tools: { mode, tools: allowedTools.map(named) } };
}
