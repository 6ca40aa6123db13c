import { isJsonObject, type JsonObject } from "../../core/json/json-value.ts";
import type { Model } from "../../core/model.ts";
import type { ResponsesRequestBody, ResponsesTool } from "./schema.ts";

/** Tools that run at the caller's, or that only say which there are. All others run at the provider. */
const CLIENT_TOOLS: ReadonlySet<string> = new Set([
  "function",
  "custom",
  "namespace",
  "tool_search",
  "apply_patch",
  "local_shell",
]);

const SEARCHES = /^web_search(_preview)?(_\d{4}_\d{2}_\d{2})?$/;

/** Searches that one answer is reckoned with where nothing bounds them. */
const MOST_SEARCHES = 10;

/** Whether a tool is a search of the web, in one of its versions. */
export function isSearch({ type }: { readonly type?: unknown }): boolean {
  return typeof type === "string" && SEARCHES.test(type);
}

/** Whether a tool runs at the provider, which charges for it. A search among tools costs nothing but their tokens. */
export function isHosted(tool: ResponsesTool): boolean {
  return tool.type === "shell" ? !isLocalShell(tool) : !CLIENT_TOOLS.has(tool.type);
}

/** Whether the commands of a shell run at the caller's: its environment may be a container of the provider's. */
export function isLocalShell({ environment }: Readonly<JsonObject>): boolean {
  return !isJsonObject(environment) || environment.type === "local";
}

/** Whether the model may be offered a tool: one that runs at the provider needs a price. */
export function isServed(tool: ResponsesTool, model: Model): boolean {
  return !isHosted(tool) || (isSearch(tool) && model.prices.web_search !== undefined);
}

/** Web searches that a request leads to at most. */
export function searchesOf({ tools = [], max_tool_calls: most }: ResponsesRequestBody): number {
  return tools.some(isSearch) ? Math.min(most ?? MOST_SEARCHES, MOST_SEARCHES) : 0;
}
