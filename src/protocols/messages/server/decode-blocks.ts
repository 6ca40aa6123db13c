import type { CacheMark, DocumentPart, ImagePart, Part, Source } from "../../../core/chat.ts";
import { filledText, isJsonObject, present } from "../../../core/json/json-value.ts";
import { plainMediaType } from "../../media-type.ts";
import { printable } from "../../printable.ts";
import { wrong } from "../../request-json.ts";
import type { Warn } from "../../warnings.ts";
import { innerBlocks } from "../blocks.ts";
import type { ContentBlock } from "../schema.ts";

/**
 * Blocks that only their own provider can read, or that only steer it: what its own tools did, and what they found. What
 * the model said of that stands beside them as text.
 */
const PROVIDERS_OWN: ReadonlySet<string> = new Set(
  `server_tool_use web_search_tool_result web_fetch_tool_result code_execution_tool_result
   bash_code_execution_tool_result text_editor_code_execution_tool_result tool_search_tool_result
   advisor_tool_result mcp_tool_use mcp_tool_result mcp_tool_listing tool_reference tool_addition tool_removal
   fallback`.match(/\S+/g),
);

/** The parts of what a message or the system says. Throws a 400 that names the block for what no other format has. */
export function decodeContent(
  content: string | readonly ContentBlock[],
  path: string,
  warn: Warn,
): readonly Part[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return content.flatMap((block, i) => decodeBlock(block, `${path}[${i}]`, warn));
}

/** The parts of one block; none of an empty text. */
export function decodeBlock(block: ContentBlock, path: string, warn: Warn): readonly Part[] {
  const cache = cacheOf(block);
  switch (block.type) {
    case "text":
      return textParts(block.text, cache);
    case "image":
      return [{ ...decodeImage(block, path), ...present({ cache }) }];
    case "document":
      return decodeDocument(block, path, warn);
    case "search_result":
      return searchResult(block, cache);
    // What a conversation came to stands for all of it.
    case "compaction":
      return textParts(block.content, cache);
    default:
      if (!PROVIDERS_OWN.has(block.type))
        throw wrong(
          `${path}.type`,
          `must not be ${printable(block.type)}: this model's provider has no such`,
        );
      warn(`blocks of type ${block.type} were left out: only their own provider can read them`);
      return [];
  }
}

function textParts(text: unknown, cache: CacheMark | undefined): readonly Part[] {
  return typeof text === "string" && text !== "" ? [{ type: "text", text, ...present({ cache }) }] : [];
}

function decodeImage({ source }: ContentBlock, path: string): ImagePart {
  return { type: "image", source: sourceOf(source), at: placeOf(source, path) };
}

type BlockSource = ContentBlock["source"];

/** What an image or a document was found to have when the request was read. */
function sourceOf(source: BlockSource): Source {
  const {
    type,
    url,
    file_id: id,
    media_type: mediaType,
    data,
  } = typeof source === "object" && source ? source : {};
  if (type === "url") return { kind: "url", url: url ?? "" };
  if (type === "file") return { kind: "file", id: id ?? "" };
  return { kind: "data", mediaType: plainMediaType(mediaType ?? ""), data: data ?? "" };
}

/** The member of a source that has its bytes or says where they are. */
function placeOf(source: BlockSource, path: string): string {
  const type = typeof source === "object" ? source?.type : undefined;
  if (type === "url") return `${path}.source.url`;
  return type === "file" ? `${path}.source.file_id` : `${path}.source`;
}

function decodeDocument(block: ContentBlock, path: string, warn: Warn): readonly Part[] {
  const { source, title, context, citations } = block;
  if (isJsonObject(citations) && citations.enabled === true)
    warn("citations of documents were left out: this model's provider does not cite them");
  const cache = cacheOf(block);
  const about = textParts(context, undefined);
  if (typeof source === "object" && source?.type === "content") {
    const inner = typeof source.content === "string" ? source.content : (innerBlocks(block) ?? []);
    const parts = [
      ...textParts(title, undefined),
      ...about,
      ...decodeContent(inner, `${path}.source.content`, warn),
    ];
    return marked(parts, cache);
  }
  const part: DocumentPart = {
    type: "document",
    source: documentSource(source),
    at: placeOf(source, path),
    ...present({ name: filledText(title), cache }),
  };
  return [...about, part];
}

function documentSource(source: BlockSource): Source {
  if (typeof source !== "object" || source?.type !== "text") return sourceOf(source);
  const data = new TextEncoder().encode(source.data ?? "").toBase64();
  return { kind: "data", mediaType: "text/plain", data };
}

/** What a search of the caller's own has found: where, and the text. */
function searchResult(block: ContentBlock, cache: CacheMark | undefined): readonly Part[] {
  const { source, title } = block;
  const texts = (innerBlocks(block) ?? []).map(({ text }) => text);
  const said = [title, typeof source === "string" ? source : undefined, ...texts];
  return textParts(said.flatMap((text) => filledText(text) ?? []).join("\n"), cache);
}

/** A mark on what became several parts is one on the last that can have it. */
function marked(parts: readonly Part[], cache: CacheMark | undefined): readonly Part[] {
  if (cache === undefined) return parts;
  const last = parts.findLastIndex(({ type }) => type === "text" || type === "image" || type === "document");
  return parts.map((part, i) => (i === last ? { ...part, cache } : part) as Part);
}

/** The breakpoint of the prompt cache on a block or a tool. */
export function cacheOf(holder: object): CacheMark | undefined {
  const { cache_control: control } = holder as { readonly cache_control?: unknown };
  if (!isJsonObject(control) || typeof control.type !== "string") return undefined;
  return { type: control.type, ...present({ ttl: filledText(control.ttl) }) };
}
