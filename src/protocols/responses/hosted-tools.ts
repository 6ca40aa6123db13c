import type { Model } from "../../core/model.ts";
import type { ResponsesRequestBody, ResponsesTool } from "./schema.ts";

/** Tools that run at the caller's, or that only say which there are. All others run at the provider. */
const CLIENT_TOOLS: ReadonlySet<string> = new Set([
  "function",
  "custom",
  "namespace",
  "shell",
  "apply_patch",
  "local_shell",
]);

const SEARCHES = /^web_search(_preview)?(_\d{4}_\d{2}_\d{2})?$/;

/** Searches that one answer is reckoned with where nothing bounds them. */
const MOST_SEARCHES = 10;

/** Whether a tool is a search of the web, in one of its versions. */
export function isSearch({ type }: Pick<ResponsesTool, "type">): boolean {
  return SEARCHES.test(type);
}

/** Whether a tool runs at the provider, which charges for it. */
export function isHosted(tool: ResponsesTool): boolean {
  if (tool.type === "tool_search") return (tool as { readonly execution?: unknown }).execution !== "client";
  return !CLIENT_TOOLS.has(tool.type);
}

/** Whether the model may be offered a tool: one that runs at the provider needs a price. */
export function isServed(tool: ResponsesTool, model: Model): boolean {
  return !isHosted(tool) || (isSearch(tool) && model.prices.web_search !== undefined);
}

/** Web searches that a request leads to at most. */
export function searchesOf({ tools = [], max_tool_calls: most }: ResponsesRequestBody): number {
  return tools.some(isSearch) ? Math.min(most ?? MOST_SEARCHES, MOST_SEARCHES) : 0;
}
