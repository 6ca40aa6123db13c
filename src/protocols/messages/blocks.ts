import { BlockSchema } from "../../catalog/parameter-tables/messages.ts";
import { isJsonObject } from "../../core/json/json-value.ts";
import { compileSchema } from "../../core/schema.ts";
import { isKept } from "../../core/json/kept.ts";
import { checkMediaUrl } from "../links.ts";
import { invalid } from "../request-json.ts";
import type { ContentBlock } from "./schema.ts";

/** What a block of a known type must carry; the rest of it is the provider's to judge. */
const CARRIERS: Readonly<Record<string, readonly (keyof ContentBlock)[]>> = {
  text: ["text"],
  image: ["source"],
  document: ["source"],
  search_result: ["source", "title", "content"],
  thinking: ["thinking"],
  redacted_thinking: ["data"],
  tool_use: ["id", "name", "input"],
  tool_result: ["tool_use_id"],
};

/** What a source of each kind must carry, by the type of its block. */
const SOURCES = {
  image: { base64: "data", url: "url", file: "file_id" },
  document: { base64: "data", url: "url", file: "file_id", text: "data", content: "content" },
} as const;

/** Media types of a source in base64, by the type of its block, and how a sentence names them. */
const MEDIA_TYPES = {
  image: [/^image\/(jpeg|png|gif|webp)$/i, "image/jpeg, image/png, image/gif or image/webp"],
  document: [/^application\/pdf$/i, "application/pdf"],
} as const;

/** Checks the blocks at `path`, and those inside them. Throws a 400 that names the field at fault. */
export function checkBlocks(blocks: readonly ContentBlock[], path: string): void {
  blocks.forEach((block, i) => checkBlock(block, `${path}[${i}]`));
}

/** Blocks that come again with other requests, and were found good. */
const goodBlocks = new WeakSet<ContentBlock>();

function checkBlock(block: ContentBlock, path: string): void {
  if (goodBlocks.has(block)) return;
  checkAnew(block, path);
  if (isKept(block)) goodBlocks.add(block);
}

function checkAnew(block: ContentBlock, path: string): void {
  const { type } = block;
  const carriers = Object.hasOwn(CARRIERS, type) ? (CARRIERS[type] ?? []) : [];
  const missing = carriers.find((name) => block[name] === undefined || block[name] === null);
  if (missing !== undefined)
    throw invalid(`${path}.${missing} is required in a block of type ${type}.`, `${path}.${missing}`);
  if (type === "image" || type === "document") checkSource(type, block.source, `${path}.source`);
  if (type === "tool_addition") checkAddedTool(block, path);
  const inner = innerContent(block);
  if (inner === undefined) return;
  const innerPath = `${path}.${type === "document" ? "source.content" : "content"}`;
  inner.forEach((value, i) => {
    if (checker.accepts(value)) return checkBlock(value, `${innerPath}[${i}]`);
    const { path: field, problem } = checker.faultOf(value);
    const at = `${innerPath}[${i}]${field === "" ? "" : `.${field}`}`;
    throw invalid(`${at} ${problem}.`, at);
  });
}

const checker = compileSchema(BlockSchema);

/** A tool that comes in mid-conversation must stand in `tools`, where what it costs is looked at. */
function checkAddedTool({ tool }: ContentBlock, path: string): void {
  if (isJsonObject(tool) && tool.type === "tool_reference") return;
  throw invalid(`${path}.tool.type must be tool_reference: define tools in tools.`, `${path}.tool.type`);
}

function checkSource(type: keyof typeof SOURCES, source: ContentBlock["source"], path: string): void {
  if (typeof source !== "object" || source === null) throw invalid(`${path} must be an object.`, path);
  const kinds: Readonly<Record<string, "data" | "url" | "file_id" | "content">> = SOURCES[type];
  const carrier = Object.hasOwn(kinds, source.type) ? kinds[source.type] : undefined;
  if (carrier === undefined)
    throw invalid(`${path}.type must be one of ${Object.keys(kinds).join(", ")}.`, `${path}.type`);
  if ((source[carrier] ?? "") === "") throw invalid(`${path}.${carrier} is required.`, `${path}.${carrier}`);
  if (source.type === "base64") checkBase64(type, source.media_type ?? "", source.data ?? "", path);
  if (source.type !== "url") return;
  // Links only: what stands in the request itself has a source of its own kind.
  const [url, at] = [source.url ?? "", `${path}.url`];
  if (/^data:/i.test(url)) throw invalid(`${at} must be a link: send bytes as a source of type base64.`, at);
  checkMediaUrl(url, type, at);
}

function checkBase64(type: keyof typeof SOURCES, mediaType: string, data: string, path: string): void {
  const [taken, names] = MEDIA_TYPES[type];
  if (!taken.test(mediaType)) throw invalid(`${path}.media_type must be ${names}.`, `${path}.media_type`);
  // A data URL here is a common mistake; what the provider says of it helps nobody.
  if (!/^[A-Za-z0-9+/_-]/.test(data) || data.startsWith("data:"))
    throw invalid(`${path}.data must be base64, without the head of a data URL.`, `${path}.data`);
}

/** The blocks that a checked block holds; `undefined` when it is not of a type that holds blocks. */
export function innerBlocks(block: ContentBlock): readonly ContentBlock[] | undefined {
  return innerContent(block)?.filter((inner) => checker.accepts(inner));
}

function innerContent(block: ContentBlock): readonly unknown[] | undefined {
  const { type, source, content } = block;
  const holds = type === "tool_result" || type === "search_result" ? content : undefined;
  const inner = type === "document" && typeof source === "object" ? source?.content : holds;
  return Array.isArray(inner) ? (inner as readonly unknown[]) : undefined;
}
