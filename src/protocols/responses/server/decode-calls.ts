import type { Part, ToolCallPart, ToolResultPart } from "../../../core/chat.ts";
import { filledText, isJsonObject, type JsonObject, objectsIn } from "../../../core/json/json-value.ts";
import { createMadeOnce, isKept, keep } from "../../../core/json/kept.ts";
import { readArguments } from "../../call-input.ts";
import { markedResult } from "../../call-results.ts";
import type { EmbeddedJson } from "../../embedded-json.ts";
import { wrong } from "../../request-json.ts";
import { ownId } from "../../wire-ids.ts";
import { decodeContent, markOf } from "./decode-parts.ts";
import type { ToolTable } from "./tool-table.ts";

/** What decodes the calls of one request. */
export interface CallReading {
  readonly table: ToolTable;
  readonly json: EmbeddedJson;
}

/** Types of items that are calls, and of those that answer them. */
const CALLS: ReadonlySet<unknown> = new Set([
  "function_call",
  "custom_tool_call",
  "tool_search_call",
  "shell_call",
  "local_shell_call",
  "apply_patch_call",
]);
const OUTPUTS: ReadonlySet<unknown> = new Set([
  "function_call_output",
  "custom_tool_call_output",
  "tool_search_output",
  "shell_call_output",
  "local_shell_call_output",
  "apply_patch_call_output",
]);

/** Whether an item is a call that its output has to follow. */
export function isCall({ type }: JsonObject): boolean {
  return CALLS.has(type);
}

/** Whether an item is what a call gave back. */
export function isOutput({ type }: JsonObject): boolean {
  return OUTPUTS.has(type);
}

/** The id by which an output names its call; a local shell's has it as its own. */
export function calledId({ type, call_id: callId, id }: JsonObject): string | undefined {
  const called = filledText(callId) ?? (type === "local_shell_call_output" ? filledText(id) : undefined);
  return called && ownId(called);
}

/** Calls that come again, and how many values their arguments have. */
const keptCalls = new WeakMap<JsonObject, { readonly part: ToolCallPart; readonly values: number }>();

/** A call as its item has it; `undefined` for one that the provider answered itself. Throws a 400 for one that is none. */
export function decodeCall(item: JsonObject, path: string, reading: CallReading): ToolCallPart | undefined {
  const { json, table } = reading;
  const known = keptCalls.get(item);
  const told = known && table.told(String(item.name), filledText(item.namespace));
  if (known?.part.name === told && known !== undefined && json.take(known.values)) return known.part;
  const before = json.taken;
  const part = readCall(item, path, reading);
  const isPlain = item.type === "function_call" || item.type === "custom_tool_call";
  if (part !== undefined && isPlain && isKept(item))
    keptCalls.set(item, { part: keep(part), values: json.taken - before });
  return part;
}

function readCall(item: JsonObject, path: string, reading: CallReading): ToolCallPart | undefined {
  const id = filledText(item.call_id);
  if (item.type === "tool_search_call" && (id === undefined || item.execution === "server")) return undefined;
  if (id === undefined) throw wrong(`${path}.call_id`, "is required");
  if (item.async === true) throw wrong(`${path}.async`, "must not be set: this model waits for its calls");
  if (isJsonObject(item.caller) && item.caller.type !== "direct")
    throw wrong(`${path}.caller`, "must be direct: this model's provider runs no programs");
  const call = { type: "tool_call", id: ownId(id) } as const;
  switch (item.type) {
    case "function_call":
      return {
        ...call,
        name: nameOf(item, path, reading),
        input: readArguments(item.arguments, `${path}.arguments`, reading.json),
      };
    case "custom_tool_call": {
      const input = typeof item.input === "string" ? item.input : "";
      return { ...call, name: nameOf(item, path, reading), input, custom: true };
    }
    case "tool_search_call": {
      const { arguments: said } = item;
      const input =
        typeof said === "string"
          ? readArguments(said, `${path}.arguments`, reading.json)
          : JSON.stringify(said ?? {});
      return { ...call, name: "tool_search", input };
    }
    case "apply_patch_call":
      return { ...call, name: "apply_patch", input: inputOf(item.operation) };
    default: {
      const { type: _exec, ...action } = isJsonObject(item.action) ? item.action : {};
      return { ...call, name: item.type === "shell_call" ? "shell" : "local_shell", input: inputOf(action) };
    }
  }
}

/** A call's input, without what is not said. */
function inputOf(members: unknown): string {
  const said = Object.entries(isJsonObject(members) ? members : {}).filter(([, value]) => value !== null);
  return JSON.stringify(Object.fromEntries(said));
}

function nameOf({ name, namespace }: JsonObject, path: string, { table }: CallReading): string {
  const called = filledText(name);
  if (called === undefined) throw wrong(`${path}.name`, "is required");
  return table.told(called, filledText(namespace));
}

const keptResults = createMadeOnce<JsonObject, ToolResultPart>();

/** What a call gave back. */
export function decodeOutput(
  item: JsonObject,
  callId: string,
  path: string,
  table: ToolTable,
): ToolResultPart {
  const known = keptResults.get(item);
  if (known?.callId === callId) return known;
  const result = readOutput(item, callId, path, table);
  // What is no text names its place in the request, and tools that were found are told by their names of now.
  const isPlain = item.type !== "tool_search_output" && result.parts.every(({ type }) => type === "text");
  return isPlain ? keptResults.add(item, result) : result;
}

function readOutput(item: JsonObject, callId: string, path: string, table: ToolTable): ToolResultPart {
  return markedResult(callId, outputParts(item, path, table), markOf(item));
}

/** The content of an output: what is structured there is the model's to read as text. */
export function outputParts(item: JsonObject, path: string, table: ToolTable): Part[] {
  const { type, output, status, tools } = item;
  switch (type) {
    case "tool_search_output": {
      const names = objectsIn(tools).flatMap((tool) => toolNames(tool, table));
      const found =
        names.length === 0 ? "No tools were found." : `These tools can be called now: ${names.join(", ")}`;
      return [{ type: "text", text: found }];
    }
    case "shell_call_output":
      return Array.isArray(output)
        ? [{ type: "text", text: JSON.stringify(output) }]
        : decodeContent(output, `${path}.output`);
    case "apply_patch_call_output": {
      const text = [status, output].flatMap((said) => filledText(said) ?? []).join(": ");
      return text === "" ? [] : [{ type: "text", text }];
    }
    default:
      return decodeContent(output, `${path}.output`);
  }
}

function toolNames(tool: JsonObject, table: ToolTable): readonly string[] {
  const name = filledText(tool.name);
  if (name === undefined) return [];
  if (tool.type !== "namespace") return [table.told(name, undefined)];
  return objectsIn(tool.tools).flatMap((inner) => {
    const own = filledText(inner.name);
    return own === undefined ? [] : [table.told(own, name)];
  });
}
