import { quoted } from "../../core/errors.ts";
import { invalid } from "../request-json.ts";
import type { MessagesTool } from "./schema.ts";

/**
 * What a tool means for the bill.
 *
 * - `client`: the client runs it, or the provider for nothing; its definition and results are plain tokens.
 * - `search`: the provider searches the web, at a price for each search, and reads what it finds.
 * - `fetch`: the provider reads pages, at the price of their tokens.
 */
export type ToolKind = "client" | "search" | "fetch";

/** Tools by the start of their type. Source: `ToolUnion` of @anthropic-ai/sdk 1.12 and the pricing page of platform.claude.com. */
const KINDS: readonly (readonly [type: RegExp, kind: ToolKind])[] = [
  [/^(bash|text_editor|computer|memory)_\d+$/, "client"],
  [/^(computer|browser)_toolset_\d+$/, "client"],
  [/^tool_search_tool(_[a-z0-9]+)*$/, "client"],
  [/^web_search_\d+$/, "search"],
  [/^web_fetch_\d+$/, "fetch"],
];

/** Tools that are known, and that no answer tells the price of. */
const UNTOLD: readonly (readonly [type: RegExp, why: string])[] = [
  [/^code_execution_\d+$/, "it is billed by the hour of a machine, which no answer tells"],
  [/^advisor_\d+$/, "it is billed by the prices of another model"],
  [/^mcp_toolset/, "it needs mcp_servers, which are not relayed"],
];

/** How often the provider may search or read for one tool that sets no bound of its own. */
export const DEFAULT_MAX_USES = 10;

/** How much of a page may be read for a tool that sets no bound of its own: a long article. */
export const DEFAULT_PAGE_TOKENS = 20_000;

/** The bounds that a tool of each kind must go up with, by the name of the field. */
export const BOUNDS: Readonly<
  Record<ToolKind, Readonly<Partial<Record<"max_uses" | "max_content_tokens", number>>>>
> = {
  client: {},
  search: { max_uses: DEFAULT_MAX_USES },
  fetch: { max_uses: DEFAULT_MAX_USES, max_content_tokens: DEFAULT_PAGE_TOKENS },
};

/** The kind of `tools[i]`. Throws a 400 that says why a tool cannot be used. */
export function toolKind(tool: MessagesTool, i: number): ToolKind {
  const type = tool.type ?? "custom";
  if (type === "custom") return "client";
  const kind = KINDS.find(([pattern]) => pattern.test(type))?.[1];
  if (kind !== undefined) return kind;
  const why = UNTOLD.find(([pattern]) => pattern.test(type))?.[1] ?? "its price is not known";
  throw invalid(`tools[${i}].type ${quoted(type)} cannot be used here: ${why}.`, `tools[${i}].type`);
}

/** The tools of one kind. */
function toolsOf(tools: readonly MessagesTool[] | undefined, kind: ToolKind): readonly MessagesTool[] {
  return (tools ?? []).filter((tool, i) => toolKind(tool, i) === kind);
}

/** How often the provider may use the tools of one kind. */
export function usesOf(tools: readonly MessagesTool[] | undefined, kind: ToolKind): number {
  return toolsOf(tools, kind).reduce((sum, { max_uses }) => sum + (max_uses ?? DEFAULT_MAX_USES), 0);
}

/** The most tokens of a page that any of the tools may read; 0 where none reads pages. */
export function pageTokensOf(tools: readonly MessagesTool[] | undefined): number {
  const most = toolsOf(tools, "fetch").map((tool) => tool.max_content_tokens ?? DEFAULT_PAGE_TOKENS);
  return Math.max(0, ...most);
}
