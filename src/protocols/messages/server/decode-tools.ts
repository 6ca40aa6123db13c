import type { ChatRequest, ToolChoice, ToolDefinition, WebSearch } from "../../../core/chat.ts";
import { isJsonObject, present } from "../../../core/json/json-value.ts";
import { createMadeOnce } from "../../../core/json/kept.ts";
import { printable } from "../../printable.ts";
import { wrong } from "../../request-json.ts";
import { searchBounds } from "../../search-bounds.ts";
import type { Warn } from "../../warnings.ts";
import type { MessagesRequestBody, MessagesTool } from "../schema.ts";
import { toolKind } from "../tools.ts";
import { cacheOf } from "./decode-blocks.ts";

type DecodedTools = Pick<ChatRequest, "tools" | "toolChoice" | "parallelToolCalls" | "webSearch">;

/** The tools of a request, and what the caller's search of the web is called, if there is one. */
export interface ReadTools extends DecodedTools {
  readonly search?: string;
}

/** Members of a tool that have a place, or nothing to say there. */
const READ = new Set("type name description input_schema strict cache_control".split(" "));

/**
 * The tools that may be called, and how. A tool that runs at the format's own vendor, or that only its models know, is
 * left out with a warning. It is a 400 where it is the only one or the one that must be called. A search of the web
 * goes on: its target knows whether it can be had.
 */
export function decodeTools(
  { tools: written = [], tool_choice: choice }: MessagesRequestBody,
  warn: Warn,
): ReadTools {
  const own = written.filter(isOwn);
  for (const tool of own) warnOfMembers(tool, warn);
  const tools = keptLists.get(written) ?? keptLists.add(written, decodeList(written));
  const search = written.findIndex(isSearch);
  const searchTool = written[search];
  for (const [i, tool] of written.entries()) {
    if (isOwn(tool) || i === search) continue;
    const at = `tools[${i}]`;
    const what = `${printable(tool.name ?? "")}: ${printable(tool.type ?? "")}`;
    const mustBeHad = choice?.type === "tool" && choice.name === tool.name;
    if (mustBeHad || (own.length === 0 && searchTool === undefined))
      throw wrong(`${at}.type`, `cannot be had from this model's provider (${what}): leave it out`);
    warn(`${at} was left out: this model's provider has no such tool (${what})`);
  }
  const named = choice?.type === "tool" ? choice.name : undefined;
  const mustSearch = searchTool !== undefined && named !== undefined && named === searchTool.name;
  if (named !== undefined && !mustSearch && !tools.some(({ name }) => name === named))
    throw wrong("tool_choice.name", "must be the name of one of tools");
  if (choice?.type === "any" && written.length === 0)
    throw wrong("tool_choice.type", "must be auto or none where there are no tools");
  return {
    tools,
    ...present({
      // Without tools it says nothing.
      toolChoice: tools.length === 0 || mustSearch ? undefined : choiceOf(choice),
      parallelToolCalls: tools.length > 0 && choice?.disable_parallel_tool_use === true ? false : undefined,
      webSearch:
        searchTool && choice?.type !== "none"
          ? searchOf(searchTool, mustSearch || (own.length === 0 && choice?.type === "any"))
          : undefined,
      search: searchTool && `tools[${search}] (${printable(searchTool.type ?? "")})`,
    }),
  };
}

/** Whether the client runs a tool, and says itself how it is called. */
function isOwn({ type }: MessagesTool): boolean {
  return (type ?? "custom") === "custom";
}

function isSearch(tool: MessagesTool, i: number): boolean {
  return toolKind(tool, i) === "search";
}

function warnOfMembers(tool: MessagesTool, warn: Warn): void {
  for (const name in tool) {
    const value = (tool as Readonly<Record<string, unknown>>)[name];
    if (!READ.has(name) && value !== null && value !== false)
      warn(`tools[].${printable(name)} was left out: this model's provider has no such field`);
  }
}

const keptLists = createMadeOnce<readonly MessagesTool[], readonly ToolDefinition[]>();
const keptTools = createMadeOnce<MessagesTool, ToolDefinition>();

function decodeList(written: readonly MessagesTool[]): readonly ToolDefinition[] {
  return written.flatMap((tool, i) => (isOwn(tool) ? [decodeTool(tool, `tools[${i}].name`)] : []));
}

function decodeTool(tool: MessagesTool, at: string): ToolDefinition {
  const known = keptTools.get(tool);
  if (known?.at === at) return known;
  const {
    name = "",
    description,
    input_schema: schema,
    strict,
  } = tool as MessagesTool & { readonly strict?: unknown };
  return keptTools.add(tool, {
    name: name ?? "",
    at,
    ...present({
      description: description ?? undefined,
      parameters: isJsonObject(schema) ? schema : undefined,
      strict: typeof strict === "boolean" ? strict : undefined,
      cache: cacheOf(tool),
    }),
  });
}

const CHOICES = { auto: "auto", any: "required", none: "none" } as const;

function choiceOf(choice: MessagesRequestBody["tool_choice"]): ToolChoice | undefined {
  if (choice === undefined) return undefined;
  if (choice.type === "tool") return { type: "tool", name: choice.name ?? "" };
  return { type: CHOICES[choice.type] };
}

function searchOf(tool: MessagesTool, isForced: boolean): WebSearch {
  const { max_uses: mostUses, ...more } = tool;
  const { allowed_domains, blocked_domains, user_location } = more as Readonly<Record<string, unknown>>;
  return {
    ...searchBounds({ allowed: allowed_domains, blocked: blocked_domains, near: user_location }),
    ...present({ forced: isForced || undefined, mostUses: mostUses ?? undefined }),
  };
}
