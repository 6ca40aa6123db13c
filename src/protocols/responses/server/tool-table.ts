import type { ToolDefinition } from "../../../core/chat.ts";
import {
  filledText,
  isJsonObject,
  type JsonObject,
  objectsIn,
  present,
} from "../../../core/json/json-value.ts";
import { createMadeOnce, isKept, keep } from "../../../core/json/kept.ts";
import { contentHash } from "../../../runtime/hash.ts";
import { printable } from "../../printable.ts";
import { wrong } from "../../request-json.ts";
import type { Warn } from "../../warnings.ts";
import { isLocalShell, isSearch } from "../hosted-tools.ts";
import { BUILT_IN } from "./built-in-tools.ts";
import type { CalledAs } from "./echo.ts";

/** A list of tools, and where the request has it. */
export interface ToolList {
  readonly tools: unknown;
  readonly path: string;
}

/** The tools of a request, and what the model is told of them. */
export interface ToolTable {
  readonly tools: readonly ToolDefinition[];
  /** The provider's search of the web, if it is among them; the last one. */
  readonly webSearch: SearchTool | undefined;
  /** Hosted tools that were left out: their types and places. */
  readonly hosted: readonly HostedTool[];
  /** Those whose calls the caller knows by another name than the model, by the model's. */
  readonly calls: Readonly<Record<string, CalledAs>>;
  /** The name that the model is told for what the caller calls so. */
  told(name: string, namespace: string | undefined): string;
  has(name: string, namespace: string | undefined): boolean;
}

interface SearchTool {
  readonly tool: JsonObject;
  /** What its caller calls it: its place and its type. */
  readonly called: string;
}

export interface HostedTool {
  readonly type: string;
  readonly path: string;
}

interface Entry {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly tool: Omit<ToolDefinition, "name">;
  readonly item: CalledAs["item"];
}

/** The longest name of a function that every provider takes. */
const LONGEST_NAME = 64;

/**
 * Goes over the tools in their order, those of namespaces one by one; of two that are called alike the later one wins. A
 * tool of a namespace keeps its own name where no other has it, else the namespace stands before it.
 */
export function readTools(lists: readonly ToolList[], warn: Warn): ToolTable {
  const [{ tools: only } = { tools: undefined }, ...others] = lists;
  if (!Array.isArray(only) || others.length > 0) return makeTable(lists, warn);
  const table = keptTables.get(only) ?? makeTable(lists, warn);
  // What was left out is told of each request.
  return table.hosted.length === 0 ? keptTables.add(only, table) : table;
}

/** Tables of lists that come again. */
const keptTables = createMadeOnce<readonly unknown[], ToolTable>();

function makeTable(lists: readonly ToolList[], warn: Warn): ToolTable {
  const entries = new Map<string, Entry>();
  const hosted: HostedTool[] = [];
  let webSearch: SearchTool | undefined;
  const add = (entry: Entry): void => void entries.set(keyOf(entry.name, entry.namespace), entry);
  const read = (tool: JsonObject, path: string, namespace?: string): void => {
    const type = typeof tool.type === "string" ? tool.type : "function";
    if (type === "namespace") return readNamespace(tool, path, read);
    if (isSearch({ type })) webSearch = { tool, called: `${path} (${type})` };
    else if (isBuiltIn(tool, type)) add(builtIn(tool, type, path));
    else if (type === "function" || type === "custom") add(defined(tool, type, path, namespace));
    // With a search of the provider's all tools are loaded.
    else if (type !== "tool_search") hosted.push({ type, path });
  };
  for (const { tools, path } of lists)
    for (const [i, tool] of objectsIn(tools).entries()) read(tool, `${path}[${i}]`);
  for (const { type, path } of hosted)
    warn(`${path} was left out: this model's provider has no tool of type ${printable(type)}`);
  const names = toldNames([...entries.values()]);
  const told = (entry: Entry): string => names.get(keyOf(entry.name, entry.namespace)) ?? entry.name;
  const calls = [...entries.values()]
    .filter(({ namespace, item }) => namespace !== undefined || item !== undefined)
    .map((entry) => [
      told(entry),
      present({ name: entry.name, namespace: entry.namespace, item: entry.item }),
    ]);
  return {
    tools: toldTools([...entries.values()], told, lists),
    webSearch,
    hosted,
    calls: Object.fromEntries(calls) as Record<string, CalledAs>,
    told: (name, namespace) => names.get(keyOf(name, namespace)) ?? joinedName(name, namespace),
    has: (name, namespace) => names.has(keyOf(name, namespace)),
  };
}

/** The definitions; those of a list that comes again come again with it. */
function toldTools(
  entries: readonly Entry[],
  told: (entry: Entry) => string,
  [list, ...others]: readonly ToolList[],
): readonly ToolDefinition[] {
  const tools = entries.map((entry) => Object.assign({ name: told(entry) }, entry.tool));
  const isAgain = others.length === 0 && Array.isArray(list?.tools) && isKept(list.tools);
  return isAgain ? keep(tools.map(keep)) : tools;
}

function keyOf(name: string, namespace: string | undefined): string {
  return `${namespace ?? ""} ${name}`;
}

function readNamespace(
  { name, tools }: JsonObject,
  path: string,
  read: (tool: JsonObject, path: string, namespace?: string) => void,
): void {
  if (typeof name !== "string" || name === "") throw wrong(`${path}.name`, "is required");
  for (const [i, tool] of objectsIn(tools).entries()) read(tool, `${path}.tools[${i}]`, name);
}

/** A shell that is not the caller's own is the provider's, and so is a search among its own tools. */
function isBuiltIn(tool: JsonObject, type: string): boolean {
  if (!Object.hasOwn(BUILT_IN, type)) return false;
  return type === "tool_search" ? tool.execution === "client" : isLocalShell(tool);
}

function builtIn(tool: JsonObject, type: string, path: string): Entry {
  const { name, item, description, parameters } = BUILT_IN[type] as NonNullable<(typeof BUILT_IN)[string]>;
  return {
    name,
    namespace: undefined,
    item,
    tool: {
      at: `${path}.type`,
      description: typeof tool.description === "string" ? tool.description : description,
      parameters: isJsonObject(tool.parameters) ? tool.parameters : parameters,
    },
  };
}

function defined(tool: JsonObject, type: string, path: string, namespace: string | undefined): Entry {
  // Clients of chat completions have these members one level further in.
  const inner = tool[type];
  const { name, description, parameters, strict, format } = isJsonObject(inner)
    ? { ...inner, ...tool }
    : tool;
  if (typeof name !== "string" || name === "") throw wrong(`${path}.name`, "is required");
  const at = `${path}.name`;
  const told = present({ at, description: typeof description === "string" ? description : undefined });
  if (type === "custom") {
    const custom = present({ grammar: grammarOf(format) });
    return { name, namespace, item: undefined, tool: { ...told, custom } };
  }
  return {
    name,
    namespace,
    item: undefined,
    tool: {
      ...told,
      ...present({
        parameters: isJsonObject(parameters) ? parameters : undefined,
        strict: typeof strict === "boolean" ? strict : undefined,
      }),
    },
  };
}

function grammarOf(format: unknown) {
  // Clients of chat completions have its members one level further in.
  const { type, grammar, ...flat } = isJsonObject(format) ? format : {};
  if (type !== "grammar") return undefined;
  const { syntax, definition } = isJsonObject(grammar) ? grammar : flat;
  return { syntax: filledText(syntax) ?? "", definition: filledText(definition) ?? "" };
}

/** The name of each entry, by its key. */
function toldNames(entries: readonly Entry[]): ReadonlyMap<string, string> {
  const count = new Map<string, number>();
  for (const { name } of entries) count.set(name, (count.get(name) ?? 0) + 1);
  const names = new Map<string, string>();
  const taken = new Set<string>();
  const give = ({ name, namespace }: Entry, told: string): void => {
    taken.add(told);
    names.set(keyOf(name, namespace), told);
  };
  const isPlain = ({ name, namespace }: Entry): boolean => namespace === undefined || count.get(name) === 1;
  for (const entry of entries) if (isPlain(entry)) give(entry, entry.name);
  for (const entry of entries) {
    if (isPlain(entry)) continue;
    const joined = joinedName(entry.name, entry.namespace);
    give(entry, taken.has(joined) ? shortened(`${joined}_`, keyOf(entry.name, entry.namespace)) : joined);
  }
  return names;
}

function joinedName(name: string, namespace: string | undefined): string {
  if (namespace === undefined) return name;
  const joined = `${namespace}__${name}`;
  return joined.length <= LONGEST_NAME ? joined : shortened(joined, keyOf(name, namespace));
}

/** A name with its end replaced by what tells it from others. */
function shortened(name: string, key: string): string {
  return `${name.slice(0, LONGEST_NAME - 9)}_${contentHash(key).slice(0, 8)}`;
}
