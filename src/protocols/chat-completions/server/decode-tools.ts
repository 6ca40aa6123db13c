import type { ChatRequest, CustomInput, ToolDefinition } from "../../../core/chat.ts";
import { filledText, isJsonObject, type JsonObject, present } from "../../../core/json/json-value.ts";
import { createMadeOnce } from "../../../core/json/kept.ts";
import { wrong } from "../../request-json.ts";
import { cacheOf } from "./decode-parts.ts";
import type { ChatRequestBody, Open } from "../schema.ts";

type WireTool = NonNullable<ChatRequestBody["tools"]>[number];
type DecodedTools = Pick<ChatRequest, "tools" | "toolChoice" | "allowedTools">;

/**
 * The tools that may be called, and how. A choice that asks for a tool which is not there is a 400; without tools the
 * others say nothing.
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
    case "custom":
      return { tools, toolChoice: { type: "tool", name: nameOf(named, "tool_choice", namesOf(tools)) } };
    case "allowed_tools":
      return { tools, ...allowedOf(tools, named.allowed_tools) };
    default:
      throw wrong(
        "tool_choice.type",
        "must be function, custom or allowed_tools: this model's provider has no other",
      );
  }
}

const keptTools = createMadeOnce<WireTool, ToolDefinition>();
const keptLists = createMadeOnce<readonly WireTool[], readonly ToolDefinition[]>();

function decodeTool(tool: WireTool, path: string): ToolDefinition {
  const known = keptTools.get(tool);
  const name = `${path}.${tool.type === "custom" ? "custom" : "function"}.name`;
  return known?.at === name ? known : keptTools.add(tool, readTool(tool, name));
}

/** `at`: where its name stands. The schema sees to it that a tool has the member of its type. */
function readTool(tool: WireTool, at: string): ToolDefinition {
  if (tool.type === "custom") return readCustom(tool, at);
  const { name = "", description, parameters, strict }: Called = tool.function ?? {};
  return {
    name,
    at,
    ...present({
      description: description ?? undefined,
      parameters: isJsonObject(parameters) ? parameters : undefined,
      strict: typeof strict === "boolean" ? strict : undefined,
      cache: cacheOf(tool) ?? cacheOf(tool.function ?? {}),
    }),
  };
}

type Called = Partial<Open<NonNullable<WireTool["function"]>>>;

function readCustom(tool: WireTool, at: string): ToolDefinition {
  const {
    name = "",
    description,
    format,
  }: Partial<Open<NonNullable<WireTool["custom"]>>> = tool.custom ?? {};
  return {
    name,
    at,
    custom: present({ grammar: grammarOf(format, at.replace(/name$/, "format")) }),
    ...present({ description: filledText(description), cache: cacheOf(tool) }),
  };
}

function grammarOf(format: unknown, path: string): CustomInput["grammar"] {
  if (!isJsonObject(format) || format.type === "text") return undefined;
  if (format.type !== "grammar") throw wrong(`${path}.type`, "must be text or grammar");
  const { grammar } = format;
  const { syntax, definition }: JsonObject = isJsonObject(grammar) ? grammar : {};
  if (typeof definition !== "string") throw wrong(`${path}.grammar.definition`, "must be a string");
  return { syntax: filledText(syntax) ?? "", definition };
}

function allowedOf(
  tools: readonly ToolDefinition[],
  said: unknown,
): Pick<ChatRequest, "toolChoice" | "allowedTools"> {
  const path = "tool_choice.allowed_tools";
  const { mode, tools: list } = isJsonObject(said) ? said : {};
  if (mode !== "auto" && mode !== "required") throw wrong(`${path}.mode`, "must be auto or required");
  if (!Array.isArray(list) || list.length === 0) throw wrong(`${path}.tools`, "must be a list of tools");
  const known = namesOf(tools);
  const allowed = new Set(list.map((tool: unknown, i) => nameOf(tool, `${path}.tools[${i}]`, known)));
  return { allowedTools: [...allowed], toolChoice: { type: mode } };
}

function namesOf(tools: readonly ToolDefinition[]): ReadonlySet<unknown> {
  return new Set(tools.map(({ name }) => name));
}

/** The name in a choice, in the member that its type names. */
function nameOf(holder: unknown, path: string, known: ReadonlySet<unknown>): string {
  const kind = isJsonObject(holder) && holder.type === "custom" ? "custom" : "function";
  const called = isJsonObject(holder) ? holder[kind] : undefined;
  const name = isJsonObject(called) ? called.name : undefined;
  if (typeof name === "string" && known.has(name)) return name;
  throw wrong(`${path}.${kind}.name`, "must be the name of one of tools");
}
