import type { ChatRequest, ToolDefinition } from "../../../core/chat.ts";
import { quoted } from "../../../core/errors.ts";
import { isJsonObject, present } from "../../../core/json/json-value.ts";
import { createMadeOnce } from "../../../core/json/kept.ts";
import { wrong } from "../../request-json.ts";
import { cacheOf } from "./decode-parts.ts";
import type { ChatRequestBody, Open } from "../schema.ts";

type WireTool = NonNullable<ChatRequestBody["tools"]>[number];
type DecodedTools = Pick<ChatRequest, "tools" | "toolChoice">;

/**
 * The tools that may be called, and how: a choice that allows some of them leaves the others out. A choice that asks for
 * a tool which is not there is a 400; without tools the others say nothing.
 */
export function decodeTools({ tools: written = [], tool_choice: choice }: ChatRequestBody): DecodedTools {
  const tools =
    keptLists.get(written) ??
    keptLists.add(
      written,
      written.map((tool, i) => decodeTool(tool, `tools[${i}]`)),
    );
  const named = typeof choice === "object" ? (choice as Open<typeof choice>) : { type: choice };
  const type = named.type;
  switch (type) {
    case undefined:
      return { tools };
    case "auto":
    case "none":
    case "required":
      if (tools.length > 0) return { tools, toolChoice: { type } };
      if (type !== "required") return { tools };
      throw wrong("tool_choice", "must be auto or none where there are no tools");
    case "function":
      return { tools, toolChoice: { type: "tool", name: nameOf(named, "tool_choice", namesOf(tools)) } };
    case "allowed_tools":
      return allowTools(tools, named.allowed_tools);
    default:
      throw wrong(
        "tool_choice.type",
        "must be function or allowed_tools: this model's provider has no other",
      );
  }
}

const keptTools = createMadeOnce<WireTool, ToolDefinition>();
const keptLists = createMadeOnce<readonly WireTool[], readonly ToolDefinition[]>();

/** Throws a 400 for a tool that is no function: no other format has such. */
function decodeTool(tool: WireTool, path: string): ToolDefinition {
  const known = keptTools.get(tool);
  return known?.at === placeOfName(path) ? known : keptTools.add(tool, readTool(tool, path));
}

function placeOfName(path: string): string {
  return `${path}.function.name`;
}

function readTool(tool: WireTool, path: string): ToolDefinition {
  const called: Open<NonNullable<WireTool["function"]>> | null | undefined = tool.function;
  if (tool.type === "custom" || !called) {
    const name = quoted(tool.custom?.name ?? "");
    throw wrong(
      `${path}.type`,
      `must be function: ${name} is a custom tool, which this model's provider has not`,
    );
  }
  const { name, description, parameters, strict } = called;
  return {
    name,
    at: placeOfName(path),
    ...present({
      description: description ?? undefined,
      parameters: isJsonObject(parameters) ? parameters : undefined,
      strict: typeof strict === "boolean" ? strict : undefined,
      cache: cacheOf(tool) ?? cacheOf(called),
    }),
  };
}

function allowTools(tools: readonly ToolDefinition[], said: unknown): DecodedTools {
  const path = "tool_choice.allowed_tools";
  const { mode, tools: list } = isJsonObject(said) ? said : {};
  if (mode !== "auto" && mode !== "required") throw wrong(`${path}.mode`, "must be auto or required");
  if (!Array.isArray(list) || list.length === 0) throw wrong(`${path}.tools`, "must be a list of tools");
  const known = namesOf(tools);
  const allowed = new Set(list.map((tool: unknown, i) => nameOf(tool, `${path}.tools[${i}]`, known)));
  return { tools: tools.filter(({ name }) => allowed.has(name)), toolChoice: { type: mode } };
}

function namesOf(tools: readonly ToolDefinition[]): ReadonlySet<unknown> {
  return new Set(tools.map(({ name }) => name));
}

function nameOf(holder: unknown, path: string, known: ReadonlySet<unknown>): string {
  const called = isJsonObject(holder) ? holder.function : undefined;
  const name = isJsonObject(called) ? called.name : undefined;
  if (typeof name === "string" && known.has(name)) return name;
  throw wrong(`${path}.function.name`, "must be the name of one of tools");
}
