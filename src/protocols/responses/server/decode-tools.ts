import type { ChatRequest, ToolChoice, WebSearch } from "../../../core/chat.ts";
import {
  filledText,
  isJsonObject,
  type JsonObject,
  objectsIn,
  present,
} from "../../../core/json/json-value.ts";
import { printable, printableName } from "../../printable.ts";
import { wrong } from "../../request-json.ts";
import { searchBounds } from "../../search-bounds.ts";
import type { Warn } from "../../warnings.ts";
import { isSearch } from "../hosted-tools.ts";
import { BUILT_IN } from "./built-in-tools.ts";
import { calledAs } from "./echo.ts";
import type { ToolTable } from "./tool-table.ts";

type DecodedTools = Pick<ChatRequest, "tools" | "toolChoice" | "allowedTools" | "webSearch">;

/**
 * The tools that may be called, and how. Throws a 400 for a choice of a tool that is not there, and where the one tool
 * that there is runs at the provider.
 */
export function decodeTools(table: ToolTable, choice: unknown, warn: Warn): DecodedTools {
  const { tools, hosted, webSearch } = table;
  const [only] = hosted;
  if (only !== undefined && tools.length === 0 && webSearch === undefined)
    throw wrong(
      `${only.path}.type`,
      `must not be ${printable(only.type)} alone: this model's provider has no such tool`,
    );
  const { toolChoice, allowed, search } = readChoice(table, choice, warn);
  if (tools.length === 0 && toolChoice?.type === "required" && webSearch === undefined)
    throw wrong("tool_choice", "must be auto or none where there are no tools");
  return {
    tools,
    ...present({
      // Without tools it says nothing.
      toolChoice: tools.length === 0 ? undefined : toolChoice,
      allowedTools: allowed,
      webSearch:
        webSearch === undefined || toolChoice?.type === "none" || search === "excluded"
          ? undefined
          : searchOf(
              webSearch.tool,
              tools.length === 0 && toolChoice?.type === "required" ? "forced" : search,
            ),
    }),
  };
}

interface ReadChoice {
  readonly toolChoice?: ToolChoice;
  readonly allowed?: readonly string[];
  /** The search of the web must be made, or is all that may be called, or may not be made. */
  readonly search?: "forced" | "needed" | "excluded";
}

function readChoice(table: ToolTable, choice: unknown, warn: Warn): ReadChoice {
  if (choice === undefined || choice === null) return {};
  if (choice === "auto" || choice === "none" || choice === "required")
    return { toolChoice: { type: choice } };
  if (!isJsonObject(choice)) throw wrong("tool_choice", "must be none, auto, required or an object");
  const { type, mode } = choice;
  if (type === "auto" || type === "none" || type === "required") return { toolChoice: { type } };
  if (type === "allowed_tools") {
    if (mode !== "auto" && mode !== "required") throw wrong("tool_choice.mode", "must be auto or required");
    return { toolChoice: { type: mode }, ...readAllowed(table, choice, warn) };
  }
  if (isSearch(choice) && table.webSearch !== undefined) return { search: "forced" };
  const name = calledName(table, choice);
  if (name !== undefined) return { toolChoice: { type: "tool", name } };
  if (type === "function" || type === "custom")
    throw wrong("tool_choice.name", "must be the name of one of tools");
  throw wrong(
    "tool_choice.type",
    `must not be ${printableName(type)}: this model's provider has no such tool`,
  );
}

/** The tools that may be called. Throws a 400 where none of them is there. */
function readAllowed(table: ToolTable, { mode, tools }: JsonObject, warn: Warn): ReadChoice {
  const allowed = allowedNames(table, tools, warn);
  const maySearch = table.webSearch !== undefined && objectsIn(tools).some(isSearch);
  if (allowed.length > 0) return maySearch ? { allowed } : { allowed, search: "excluded" };
  if (!maySearch)
    throw wrong("tool_choice.tools", "has no other than tools that this model's provider does not have");
  return { allowed, search: mode === "required" ? "forced" : "needed" };
}

function allowedNames(table: ToolTable, tools: unknown, warn: Warn): readonly string[] {
  const path = "tool_choice.tools";
  if (!Array.isArray(tools) || tools.length === 0) throw wrong(path, "must be a list of tools");
  const names = objectsIn(tools).flatMap((tool, i) => {
    const name = calledName(table, tool);
    if (name !== undefined) return [name];
    if (tool.type === "function" || tool.type === "custom")
      throw wrong(`${path}[${i}].name`, "must be the name of one of tools");
    if (!isSearch(tool)) warn(`${path}[${i}] was left out: this model's provider has no such tool`);
    return [];
  });
  return [...new Set(names)];
}

/** What the model is told a chosen tool by; `undefined` for one that is not there. */
function calledName(table: ToolTable, chosen: JsonObject): string | undefined {
  const { type } = chosen;
  const builtIn =
    typeof type === "string" && Object.hasOwn(BUILT_IN, type) ? BUILT_IN[type]?.name : undefined;
  const inner = typeof type === "string" ? chosen[type] : undefined;
  const name =
    builtIn ?? filledText(chosen.name) ?? (isJsonObject(inner) ? filledText(inner.name) : undefined);
  if (name === undefined) return undefined;
  const namespace = filledText(chosen.namespace);
  if (table.has(name, namespace)) return table.told(name, namespace);
  // A tool of a namespace may be chosen by the name that only it has.
  return namespace === undefined && calledAs(table, name) !== undefined ? name : undefined;
}

function searchOf(
  { filters, search_context_size, user_location }: JsonObject,
  how: "forced" | "needed" | undefined,
): WebSearch {
  const { allowed_domains: allowed, blocked_domains: blocked } = isJsonObject(filters) ? filters : {};
  return {
    ...searchBounds({ allowed, blocked, near: user_location }),
    ...present({ contextSize: filledText(search_context_size) }),
    ...(how === undefined ? {} : { [how]: true as const }),
  };
}
