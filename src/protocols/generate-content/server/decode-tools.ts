import type { ChatRequest, ToolDefinition } from "../../../core/chat.ts";
import {
  filledText,
  isJsonObject,
  type JsonObject,
  objectsIn,
  present,
} from "../../../core/json/json-value.ts";
import { type GenerateContentRequest, refusal } from "../request.ts";
import { jsonSchemaOf } from "./json-schema.ts";

type DecodedTools = Pick<ChatRequest, "tools" | "toolChoice" | "allowedTools" | "webSearch">;

/** Searches of the web, under both names that the format has had for them. */
const SEARCHES = ["googleSearch", "googleSearchRetrieval"] as const;

/** The functions that may be called, and how. Throws a 400 for tools that run at the format's own provider. */
export function decodeTools({ body, json }: GenerateContentRequest): DecodedTools {
  const written = body.tools ?? [];
  const functions = written.flatMap((tool, i) =>
    objectsIn(tool.functionDeclarations).map((declaration, j) => {
      const at = `tools[${i}].functionDeclarations[${j}].name`;
      const name = filledText(declaration.name);
      if (name === undefined) throw refusal(at, "is required.", json.value);
      return decodeFunction(declaration, name, at);
    }),
  );
  written.forEach((tool, i) => {
    const name = Object.keys(tool).find(
      (known) => known !== "functionDeclarations" && !SEARCHES.some((search) => search === known),
    );
    if (name === undefined) return;
    throw refusal(
      `tools[${i}].${name}`,
      "cannot be had from this model's provider: leave it out.",
      json.value,
    );
  });
  const searches = written.some((tool) => SEARCHES.some((name) => (tool as JsonObject)[name] !== undefined));
  return {
    tools: functions,
    ...choiceOf(body.toolConfig, functions),
    ...(searches ? { webSearch: {} } : {}),
  };
}

function decodeFunction(declaration: JsonObject, name: string, at: string): ToolDefinition {
  const { description, parametersJsonSchema: schema, parameters } = declaration;
  const old = isJsonObject(parameters) ? jsonSchemaOf(parameters) : undefined;
  return {
    name,
    at,
    ...present({ description: filledText(description), parameters: isJsonObject(schema) ? schema : old }),
  };
}

function choiceOf(
  config: unknown,
  tools: readonly ToolDefinition[],
): Pick<ChatRequest, "toolChoice" | "allowedTools"> {
  const calling = isJsonObject(config) ? config.functionCallingConfig : undefined;
  if (!isJsonObject(calling) || tools.length === 0) return {};
  const { mode, allowedFunctionNames: names } = calling;
  const allowed = Array.isArray(names)
    ? names.filter((name): name is string => typeof name === "string")
    : [];
  const [only, other] = allowed;
  const some = allowed.length === 0 ? {} : { allowedTools: allowed };
  switch (filledText(mode)?.toUpperCase()) {
    case "NONE":
      return { toolChoice: { type: "none" } };
    case "ANY":
      if (only !== undefined && other === undefined) return { toolChoice: { type: "tool", name: only } };
      return { toolChoice: { type: "required" }, ...some };
    case "AUTO":
    case "VALIDATED":
      return { toolChoice: { type: "auto" }, ...some };
    default:
      return {};
  }
}
