import type { ToolChoice, ToolDefinition } from "../../core/chat.ts";
import { type GatewayError, quoted } from "../../core/errors.ts";
import { isJsonObject } from "../../core/json-value.ts";
import { invalid } from "../request-json.ts";
import { cacheOf, memberOf } from "./decode-parts.ts";
import type { ChatRequestBody } from "./schema.ts";

type WireTool = NonNullable<ChatRequestBody["tools"]>[number];

/** Tools in no format. Throws a 400 that names one which is no function: no other format has such. */
export function decodeTools(tools: readonly WireTool[]): readonly ToolDefinition[] {
  return tools.map((tool, i) => {
    const called = tool.function;
    if (tool.type === "custom" || !called) {
      const path = `tools[${i}].type`;
      const name = tool.custom?.name ?? "";
      throw invalid(
        `${path} must be function: ${quoted(name)} is a custom tool, which this model's provider has not.`,
        path,
      );
    }
    const cache = cacheOf(tool) ?? cacheOf(called);
    const strict = memberOf(called, "strict");
    return {
      name: called.name,
      at: `tools[${i}].function.name`,
      ...(typeof called.description === "string" ? { description: called.description } : {}),
      ...(isJsonObject(called.parameters) ? { parameters: called.parameters } : {}),
      ...(typeof strict === "boolean" ? { strict } : {}),
      ...(cache === undefined ? {} : { cache }),
    };
  });
}

/** A choice, and where it is one among some of the tools, their names. */
export interface DecodedChoice {
  readonly choice: ToolChoice | undefined;
  readonly allowed?: ReadonlySet<string>;
}

/** The choice of tools. One that asks for a tool which is not there is a 400; without tools the others say nothing. */
export function decodeToolChoice(
  choice: ChatRequestBody["tool_choice"],
  tools: readonly ToolDefinition[],
): DecodedChoice {
  if (choice === undefined) return { choice: undefined };
  if (typeof choice === "string") return { choice: wordChoice(choice, tools) };
  switch (choice.type) {
    case "function":
      return { choice: { type: "tool", name: nameOf(choice, "tool_choice", namesOf(tools)) } };
    case "allowed_tools":
      return allowedTools(memberOf(choice, "allowed_tools"), tools);
    case "auto":
    case "none":
    case "required":
      return { choice: wordChoice(choice.type, tools) };
    default:
      throw refused("tool_choice.type", "function or allowed_tools: this model's provider has no other");
  }
}

function wordChoice(
  word: "none" | "auto" | "required",
  tools: readonly ToolDefinition[],
): ToolChoice | undefined {
  if (tools.length > 0) return { type: word };
  if (word === "required") throw refused("tool_choice", "auto or none where there are no tools");
  return undefined;
}

function allowedTools(said: unknown, tools: readonly ToolDefinition[]): DecodedChoice {
  const path = "tool_choice.allowed_tools";
  const mode = isJsonObject(said) ? said.mode : undefined;
  if (mode !== "auto" && mode !== "required") throw refused(`${path}.mode`, "auto or required");
  const list: unknown = isJsonObject(said) ? said.tools : undefined;
  if (!Array.isArray(list) || list.length === 0) throw refused(`${path}.tools`, "a list of tools");
  const known = namesOf(tools);
  const names = list.map((tool: unknown, i) => nameOf(tool, `${path}.tools[${i}]`, known));
  return { choice: { type: mode }, allowed: new Set(names) };
}

function namesOf(tools: readonly ToolDefinition[]): ReadonlySet<unknown> {
  return new Set(tools.map(({ name }) => name));
}

function nameOf(holder: unknown, path: string, known: ReadonlySet<unknown>): string {
  const called = isJsonObject(holder) ? holder.function : undefined;
  const name = isJsonObject(called) ? called.name : undefined;
  if (typeof name === "string" && known.has(name)) return name;
  throw refused(`${path}.function.name`, "the name of one of tools");
}

function refused(path: string, wanted: string): GatewayError {
  return invalid(`${path} must be ${wanted}.`, path);
}
