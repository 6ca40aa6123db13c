import { rawImageSizeOf } from "../../core/image-size.ts";
import { isJsonObject } from "../../core/json-value.ts";
import { measureText } from "../../core/token-estimate.ts";
import {
  addImage,
  addMedium,
  asksForLongCache,
  type Found as AnyFound,
  inputOf,
  openFound,
  PER_TOOL,
  type Tokens,
} from "../demand.ts";
import type { Demand } from "../protocol.ts";
import { type RequestJson, spanLength } from "../request-json.ts";
import { innerBlocks } from "./blocks.ts";
import type { ContentBlock, MessagesInput } from "./schema.ts";
import { pageTokensOf, usesOf } from "./tools.ts";

/** Tokens around a message (role, separators), and around the whole. */
const PER_MESSAGE = { expected: 4, ceiling: 12 };
const PER_REQUEST = { expected: 3, ceiling: 96 };

/**
 * What the provider puts before the tools unseen: 290 to 804 tokens by model and tool choice for plain ones
 * (platform.claude.com, "Tool use", pricing; recorded are 290 to 640), and the definitions of the tools that it knows
 * itself.
 */
const ANY_TOOL = { expected: 450, ceiling: 1_200 };
const PER_BUILT_IN_TOOL = { expected: 700, ceiling: 4_000 };

/** What the provider says of thinking where it is asked for: 16 to 56 tokens recorded. */
const THINKING = { expected: 25, ceiling: 100 };

/** What a demand for a schema of the answer adds to the schema itself. */
const ANY_SCHEMA = { expected: 150, ceiling: 1_000 };

/** What the provider puts before documents that are to be cited. */
const CITATIONS = { expected: 550, ceiling: 1_500 };

interface Found extends AnyFound {
  cites: boolean;
}

/** What `body` asks for. */
export function readDemand(
  body: MessagesInput & { readonly max_tokens?: number | undefined },
  json: RequestJson,
): Demand {
  const schemaBytes =
    spanLength(json, "tools") + spanLength(json, "output_config") + spanLength(json, "output_format");
  const found: Found = { ...openFound(schemaBytes), cites: false };
  measureContent(body.system, found);
  const asked = lastAsked(body);
  body.messages.forEach(({ content }, i) =>
    measureContent(i < asked ? withoutThinking(content) : content, found),
  );
  const webSearches = usesOf(body.tools, "search");
  const pageTokens = pageTokensOf(body.tools);
  return {
    ...inputOf(found, json.bytes.length, around(body, found.cites)),
    ...(body.max_tokens === undefined ? {} : { maxOutputTokens: body.max_tokens }),
    choices: 1,
    webSearches,
    rereads: webSearches + usesOf(body.tools, "fetch"),
    ...(pageTokens === 0 ? {} : { pageTokens }),
    buckets: [
      ...(webSearches > 0 ? (["web_search"] as const) : []),
      ...(asksForLongCache(body) ? (["cache_write_1h"] as const) : []),
    ],
    outputModalities: ["text"],
  };
}

/** What stands around the text that was sent. */
function around(body: MessagesInput, cites: boolean): readonly (readonly [Tokens, number])[] {
  const tools = body.tools ?? [];
  const builtIn = tools.filter((tool) => (tool.type ?? "custom") !== "custom").length;
  const thinks = body.thinking !== undefined && body.thinking.type !== "disabled";
  const hasSchema = body.output_config?.format !== undefined || "output_format" in body;
  return [
    [PER_REQUEST, 1],
    [PER_MESSAGE, body.messages.length],
    [ANY_TOOL, tools.length === 0 ? 0 : 1],
    [PER_TOOL, tools.length],
    [PER_BUILT_IN_TOOL, builtIn],
    [THINKING, thinks ? 1 : 0],
    [ANY_SCHEMA, hasSchema ? 1 : 0],
    [CITATIONS, cites ? 1 : 0],
  ];
}

/** The last message in which the user says something, and does not only give results of tools. */
function lastAsked({ messages }: MessagesInput): number {
  return messages.findLastIndex(
    ({ role, content }) =>
      role === "user" && (typeof content === "string" || content.some(({ type }) => type !== "tool_result")),
  );
}

/**
 * What counts of an earlier turn: its thinking does not
 * (https://platform.claude.com/docs/en/build-with-claude/extended-thinking). The bound has its bytes.
 */
function withoutThinking(content: string | readonly ContentBlock[]): string | readonly ContentBlock[] {
  if (typeof content === "string") return content;
  return content.filter(({ type }) => type !== "thinking" && type !== "redacted_thinking");
}

function measureContent(content: string | readonly ContentBlock[] | undefined, found: Found): void {
  if (typeof content === "string") measureText(content, found.size);
  else for (const block of content ?? []) measureBlock(block, found);
}

/** Blocks whose tokens are those of the text that they hold. Source: `BetaContentBlockParam` of @anthropic-ai/sdk 1.12. */
const TEXT_BLOCKS: ReadonlySet<string> = new Set([
  "text",
  "search_result",
  "thinking",
  "redacted_thinking",
  "tool_use",
  "tool_result",
  "tool_reference",
  "browser_state",
  "tool_addition",
  "tool_removal",
  "server_tool_use",
  "web_search_tool_result",
  "web_fetch_tool_result",
  "advisor_tool_result",
  "code_execution_tool_result",
  "bash_code_execution_tool_result",
  "text_editor_code_execution_tool_result",
  "tool_search_tool_result",
  "mcp_tool_use",
  "mcp_tool_result",
  "mcp_tool_listing",
  "compaction",
  "fallback",
]);

function measureBlock(block: ContentBlock, found: Found): void {
  if (isJsonObject(block.citations) && block.citations.enabled === true) found.cites = true;
  for (const text of [block.text, block.thinking, block.title, block.context]) {
    if (typeof text === "string") measureText(text, found.size);
  }
  if (block.type === "image") return measureImage(block, found);
  if (block.type === "document") return measureDocument(block, found);
  // What only its provider knows is taken for a document: the dearest kind of input text.
  if (!TEXT_BLOCKS.has(block.type)) addMedium("pdf", found);
  if (typeof block.source === "string") measureText(block.source, found.size);
  if (block.input !== undefined && block.input !== null)
    measureText(`${block.name ?? ""}${JSON.stringify(block.input)}`, found.size);
  const inner = innerBlocks(block);
  if (inner !== undefined) return measureContent(inner, found);
  // Results of the provider's own tools come back as objects of their own kinds.
  if (typeof block.content === "string") measureText(block.content, found.size);
  else if (block.content !== undefined && block.content !== null)
    measureText(JSON.stringify(block.content), found.size);
}

function measureImage({ source }: ContentBlock, found: Found): void {
  const data = typeof source === "object" && source?.type === "base64" ? (source.data ?? "") : "";
  addImage(found, data.length, () => rawImageSizeOf(data));
}

function measureDocument(block: ContentBlock, found: Found): void {
  const { source } = block;
  if (typeof source !== "object" || source === null) return;
  if (source.type === "text") return measureText(source.data ?? "", found.size);
  if (source.type === "content") {
    if (typeof source.content === "string") measureText(source.content, found.size);
    return measureContent(innerBlocks(block), found);
  }
  addMedium("pdf", found, source.type === "base64" ? (source.data?.length ?? 0) : 0);
}
