import { MAX_SIZED_IMAGES, rawImageSizeOf } from "../../core/image-size.ts";
import { isJsonObject } from "../../core/json-value.ts";
import type { PriceBucket } from "../../core/price.ts";
import { estimateTokens, measureText, type TextSize } from "../../core/token-estimate.ts";
import type { Demand, ImageInput } from "../protocol.ts";
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
const PER_TOOL = { expected: 8, ceiling: 200 };
const PER_BUILT_IN_TOOL = { expected: 700, ceiling: 4_000 };

/** What the provider says of thinking where it is asked for: 16 to 56 tokens recorded. */
const THINKING = { expected: 25, ceiling: 100 };

/** What a demand for a schema of the answer adds to the schema itself. */
const ANY_SCHEMA = { expected: 150, ceiling: 1_000 };

/** What the provider puts before documents that are to be cited. */
const CITATIONS = { expected: 550, ceiling: 1_500 };

/** What has been found in a request so far. Bytes are of media that stand in the body itself. */
interface Found {
  readonly size: TextSize;
  readonly images: ImageInput[];
  documents: number;
  cites: boolean;
  imageBytes: number;
  documentBytes: number;
}

/**
 * What `body` asks for. The guess measures what models read; the bound counts every byte that goes up but those of
 * media, so that text in a field that nobody thought of is held for too.
 */
export function readDemand(
  body: MessagesInput & { readonly max_tokens?: number | undefined },
  json: RequestJson,
): Demand {
  const schemaBytes =
    spanLength(json, "tools") + spanLength(json, "output_config") + spanLength(json, "output_format");
  const found: Found = {
    size: { ascii: schemaBytes, alphabetic: 0, ideographic: 0 },
    images: [],
    documents: 0,
    cites: false,
    imageBytes: 0,
    documentBytes: 0,
  };
  measureContent(body.system, found);
  const asked = lastAsked(body);
  body.messages.forEach(({ content }, i) =>
    measureContent(i < asked ? withoutThinking(content) : content, found),
  );
  const text = estimateTokens(found.size);
  const textBytes = json.bytes.length - found.imageBytes - found.documentBytes;
  const around = addedTokens(body);
  const webSearches = usesOf(body.tools, "search");
  const pageTokens = pageTokensOf(body.tools);
  return {
    textTokens: {
      expected: text.expected + around.expected + (found.cites ? CITATIONS.expected : 0),
      ceiling:
        Math.max(text.ceiling, Math.ceil(textBytes / 2)) +
        around.ceiling +
        (found.cites ? CITATIONS.ceiling : 0),
    },
    media: {
      ...(found.images.length === 0 ? {} : { image: found.images.length }),
      ...(found.documents === 0 ? {} : { pdf: found.documents }),
    },
    images: found.images,
    mediaBytes: found.documentBytes,
    ...(body.max_tokens === undefined ? {} : { maxOutputTokens: body.max_tokens }),
    choices: 1,
    webSearches,
    rereads: webSearches + usesOf(body.tools, "fetch"),
    ...(pageTokens === 0 ? {} : { pageTokens }),
    buckets: pricedBuckets(body, webSearches),
    outputModalities: ["text"],
  };
}

/** What stands around the text that was sent. */
function addedTokens(body: MessagesInput): { readonly expected: number; readonly ceiling: number } {
  const tools = body.tools ?? [];
  const builtIn = tools.filter((tool) => (tool.type ?? "custom") !== "custom").length;
  const thinks = body.thinking !== undefined && body.thinking.type !== "disabled";
  const hasSchema = body.output_config?.format !== undefined || "output_format" in body;
  const sum = (part: "expected" | "ceiling"): number =>
    PER_REQUEST[part] +
    body.messages.length * PER_MESSAGE[part] +
    (tools.length === 0 ? 0 : ANY_TOOL[part]) +
    tools.length * PER_TOOL[part] +
    builtIn * PER_BUILT_IN_TOOL[part] +
    (thinks ? THINKING[part] : 0) +
    (hasSchema ? ANY_SCHEMA[part] : 0);
  return { expected: sum("expected"), ceiling: sum("ceiling") };
}

function pricedBuckets(body: MessagesInput, webSearches: number): PriceBucket[] {
  const buckets: PriceBucket[] = [];
  if (webSearches > 0) buckets.push("web_search");
  if (asksForLongCache(body)) buckets.push("cache_write_1h");
  return buckets;
}

/** Whether a `cache_control` anywhere asks for more than the usual five minutes. */
function asksForLongCache(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(asksForLongCache);
  if (!isJsonObject(value)) return false;
  const control = value.cache_control;
  if (isJsonObject(control) && control.ttl !== undefined && control.ttl !== null && control.ttl !== "5m")
    return true;
  return Object.values(value).some(asksForLongCache);
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
  if (!TEXT_BLOCKS.has(block.type)) found.documents += 1;
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
  found.imageBytes += data.length;
  const size = found.images.length < MAX_SIZED_IMAGES ? rawImageSizeOf(data) : undefined;
  found.images.push(size === undefined ? {} : { size });
}

function measureDocument(block: ContentBlock, found: Found): void {
  const { source } = block;
  if (typeof source !== "object" || source === null) return;
  if (source.type === "text") return measureText(source.data ?? "", found.size);
  if (source.type === "content") {
    if (typeof source.content === "string") measureText(source.content, found.size);
    return measureContent(innerBlocks(block), found);
  }
  found.documents += 1;
  if (source.type === "base64") found.documentBytes += source.data?.length ?? 0;
}
