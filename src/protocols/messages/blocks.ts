import { BlockSchema } from "../../catalog/parameter-tables/messages.ts";
import { isJsonObject } from "../../core/json-value.ts";
import { compileSchema } from "../../core/schema.ts";
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

/** What a source of each kind must carry. */
const SOURCE_CARRIERS = {
  base64: "data",
  text: "data",
  url: "url",
  file: "file_id",
  content: "content",
} as const;

/** Media types of a source in base64, by the type of its block. */
const MEDIA_TYPES: Readonly<Record<string, RegExp>> = {
  image: /^image\/(jpeg|png|gif|webp)$/i,
  document: /^application\/pdf$/i,
};

/** Checks the blocks at `path`, and those inside them. Throws a 400 that names the field at fault. */
export function checkBlocks(blocks: readonly ContentBlock[], path: string): void {
  blocks.forEach((block, i) => checkBlock(block, `${path}[${i}]`));
}

function checkBlock(block: ContentBlock, path: string): void {
  const carriers = Object.hasOwn(CARRIERS, block.type) ? (CARRIERS[block.type] ?? []) : [];
  for (const name of carriers) {
    if (block[name] !== undefined && block[name] !== null) continue;
    throw invalid(`${path}.${name} is required in a block of type ${block.type}.`, `${path}.${name}`);
  }
  if (block.type === "image" || block.type === "document") checkSource(block, path);
  if (block.type === "tool_addition") checkAddedTool(block, path);
  const inner = innerContent(block);
  if (inner === undefined) return;
  const innerPath = `${path}.${block.type === "document" ? "source.content" : "content"}`;
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

function checkSource({ type, source }: ContentBlock, path: string): void {
  if (typeof source === "string" || source === undefined || source === null)
    throw invalid(`${path}.source must be an object.`, `${path}.source`);
  const carrier = Object.hasOwn(SOURCE_CARRIERS, source.type)
    ? SOURCE_CARRIERS[source.type as keyof typeof SOURCE_CARRIERS]
    : undefined;
  const kinds = type === "image" ? "base64, url, file" : "base64, url, file, text, content";
  if (carrier === undefined || (type === "image" && (carrier === "content" || source.type === "text")))
    throw invalid(`${path}.source.type must be one of ${kinds}.`, `${path}.source.type`);
  const value = source[carrier];
  if (value === undefined || value === null || value === "")
    throw invalid(`${path}.source.${carrier} is required.`, `${path}.source.${carrier}`);
  if (source.type === "base64") checkBase64(type, source, `${path}.source`);
  if (source.type === "url") checkRemote(source.url ?? "", type, `${path}.source.url`);
}

function checkBase64(
  type: string,
  source: { readonly media_type?: string | null; readonly data?: string | null },
  path: string,
): void {
  if (MEDIA_TYPES[type]?.test(source.media_type ?? "") !== true) {
    const wanted = type === "image" ? "image/jpeg, image/png, image/gif or image/webp" : "application/pdf";
    throw invalid(`${path}.media_type must be ${wanted}.`, `${path}.media_type`);
  }
  // A data URL here is a common mistake; what the provider says of it helps nobody.
  if (!/^[A-Za-z0-9+/_-]/.test(source.data ?? "") || source.data?.startsWith("data:") === true)
    throw invalid(`${path}.data must be base64, without the head of a data URL.`, `${path}.data`);
}

/** Links only: what stands in the request itself has a source of its own kind. */
function checkRemote(url: string, type: string, path: string): void {
  if (/^data:/i.test(url))
    throw invalid(`${path} must be a link: send bytes as a source of type base64.`, path);
  checkMediaUrl(url, type, path);
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
