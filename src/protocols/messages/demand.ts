import { rawImageSizeOf } from "../../core/media/image-size.ts";
import { isJsonObject, type JsonObject, present } from "../../core/json/json-value.ts";
import { createListFacts, isKept } from "../../core/json/kept.ts";
import type { TextSize } from "../../core/money/token-estimate.ts";
import {
  asksForLongCache,
  createKeptAnswers,
  type Found,
  type KeptSizes,
  openFound,
  PER_TOOL,
  textSizeOf,
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
 * What the provider puts before the tools unseen. For plain ones it is 290 to 804 tokens by model and tool choice
 * (platform.claude.com, "Tool use", pricing; recorded are 290 to 640). The definitions of the tools that the provider
 * knows itself come on top.
 */
const ANY_TOOL = { expected: 450, ceiling: 1_200 };
const PER_BUILT_IN_TOOL = { expected: 700, ceiling: 4_000 };

/** What the provider says of thinking where it is asked for: 16 to 56 tokens recorded. */
const THINKING = { expected: 25, ceiling: 100 };

/** What a demand for a schema of the answer adds to the schema itself. */
const ANY_SCHEMA = { expected: 150, ceiling: 1_000 };

/** What the provider puts before documents that are to be cited. */
const CITATIONS = { expected: 550, ceiling: 1_500 };

/** Sizes of messages, of those of earlier turns and of others: see `measureEarlier`. */
const keptSizes = {
  earlier: new WeakMap(),
  later: new WeakMap(),
  block: new WeakMap(),
} satisfies Record<string, KeptSizes>;
const keptMarks = createKeptAnswers();

/** What `body` asks for. */
export function readDemand(
  body: MessagesInput & { readonly max_tokens?: number | undefined },
  json: RequestJson,
): Demand {
  const tools = body.tools ?? [];
  const thinks = body.thinking !== undefined && body.thinking.type !== "disabled";
  const hasSchema = body.output_config?.format !== undefined || "output_format" in body;
  const schemas = ["tools", "output_config", "output_format"].map((name) => spanLength(json, name));
  const found = openFound(
    schemas.reduce((sum, length) => sum + length),
    [
      [PER_REQUEST, 1],
      [PER_MESSAGE, body.messages.length],
      [ANY_TOOL, tools.length === 0 ? 0 : 1],
      [PER_TOOL, tools.length],
      [PER_BUILT_IN_TOOL, tools.filter(({ type }) => (type ?? "custom") !== "custom").length],
      [THINKING, thinks ? 1 : 0],
      [ANY_SCHEMA, hasSchema ? 1 : 0],
    ],
  );
  if (STORED.some((name) => (body as Readonly<JsonObject>)[name])) found.stored();
  measureContent(body.system, found);
  measureMessages(body, found);
  const webSearches = usesOf(tools, "search");
  return found.demand(json.length, {
    choices: 1,
    webSearches,
    rereads: webSearches + usesOf(tools, "fetch"),
    longCache: asksForLongCache(body, undefined, keptMarks),
    outputModalities: ["text"],
    ...present({ maxOutputTokens: body.max_tokens, pageTokens: pageTokensOf(tools) || undefined }),
  });
}

/** Fields that name what the provider stores. */
const STORED = ["container", "thread"] as const;

type Message = MessagesInput["messages"][number];

function measureMessages({ messages }: MessagesInput, found: Found): void {
  const size = textOfMessages(messages);
  if (size !== undefined) return found.size(size);
  const asked = messages.findLastIndex(asks);
  messages.forEach((message, i) =>
    i < asked
      ? found.part(message, measureEarlier, keptSizes.earlier)
      : found.part(message, measureMessage, keptSizes.later),
  );
}

/** Whether the user says something in a message, and does not only give results of tools. */
function asks({ role, content }: Message): boolean {
  return (
    role === "user" && (typeof content === "string" || content.some(({ type }) => type !== "tool_result"))
  );
}

/** The text of the first so many messages, by whether it counts. */
interface Texts {
  readonly earlier: Readonly<TextSize>;
  /** Of the messages from the last on in which the user says something. */
  readonly later: Readonly<TextSize>;
  /** Of those too, as it counts once the user says something again. */
  readonly laterAsEarlier: Readonly<TextSize>;
}

const NO_TEXT: TextSize = { ascii: 0, alphabetic: 0, ideographic: 0 };
const keptTexts = createListFacts<Texts>();

/**
 * What counts of messages that come again. The count skips those that an earlier list began with. `undefined` for
 * others, and where there is something in them that is no text.
 */
function textOfMessages(messages: readonly Message[]): TextSize | undefined {
  if (!isKept(messages)) return undefined;
  const none: Texts = { earlier: NO_TEXT, later: NO_TEXT, laterAsEarlier: NO_TEXT };
  const known = keptTexts.of(messages);
  let texts = known?.fact ?? none;
  for (let at = known?.count ?? 0; at < messages.length; at += 1) {
    const message = messages[at] as Message;
    const asEarlier = textSizeOf(message, measureEarlier, keptSizes.earlier);
    const asLater = textSizeOf(message, measureMessage, keptSizes.later);
    if (asEarlier === undefined || asLater === undefined) return undefined;
    if (asks(message)) texts = { ...none, earlier: sum(texts.earlier, texts.laterAsEarlier) };
    const { earlier, later, laterAsEarlier } = texts;
    const next = { earlier, later: sum(later, asLater), laterAsEarlier: sum(laterAsEarlier, asEarlier) };
    texts = next;
    keptTexts.add(messages, at + 1, () => next);
  }
  return sum(texts.earlier, texts.later);
}

function sum(a: Readonly<TextSize>, b: Readonly<TextSize>): TextSize {
  return {
    ascii: a.ascii + b.ascii,
    alphabetic: a.alphabetic + b.alphabetic,
    ideographic: a.ideographic + b.ideographic,
  };
}

function measureMessage({ content }: Message, found: Found): void {
  measureContent(content, found);
}

/**
 * What counts of an earlier turn: its thinking does not
 * (https://platform.claude.com/docs/en/build-with-claude/extended-thinking). The bound has its bytes.
 */
function measureEarlier({ content }: Message, found: Found): void {
  if (typeof content === "string") return measureContent(content, found);
  for (const block of content)
    if (block.type !== "thinking" && block.type !== "redacted_thinking") addBlock(block, found);
}

function addBlock(block: ContentBlock, found: Found): void {
  found.part(block, measureBlock, keptSizes.block);
}

function measureContent(content: string | readonly ContentBlock[] | undefined, found: Found): void {
  if (typeof content === "string") found.text(content);
  else for (const block of content ?? []) addBlock(block, found);
}

/** Blocks whose tokens are those of the text that they hold. Source: `BetaContentBlockParam` of @anthropic-ai/sdk 1.12. */
const TEXT_BLOCKS: ReadonlySet<string> = new Set(
  `text search_result thinking redacted_thinking tool_use tool_result tool_reference browser_state tool_addition
   tool_removal server_tool_use web_search_tool_result web_fetch_tool_result advisor_tool_result
   code_execution_tool_result bash_code_execution_tool_result text_editor_code_execution_tool_result
   tool_search_tool_result mcp_tool_use mcp_tool_result mcp_tool_listing compaction fallback`.match(/\S+/g),
);

function measureBlock(block: ContentBlock, found: Found): void {
  const { source, input } = block;
  // The one is that of an image or a document, the other of a file for a container.
  if ((isJsonObject(source) && source.type === "file") || "file_id" in block) found.stored();
  if (isJsonObject(block.citations) && block.citations.enabled === true) found.surround(CITATIONS);
  for (const text of [block.text, block.thinking, block.title, block.context]) found.text(text);
  if (block.type === "image") return measureImage(block, found);
  if (block.type === "document") return measureDocument(block, found);
  // What only its provider knows is taken for a document: the dearest kind of input text.
  if (!TEXT_BLOCKS.has(block.type)) found.medium("pdf");
  if (typeof source === "string") found.text(source);
  if (input !== undefined && input !== null) found.text(`${block.name ?? ""}${JSON.stringify(input)}`);
  const inner = innerBlocks(block);
  // Results of the provider's own tools come back as objects of their own kinds.
  if (inner === undefined) found.text(block.content);
  else measureContent(inner, found);
}

function measureImage({ source }: ContentBlock, found: Found): void {
  const data = typeof source === "object" && source?.type === "base64" ? (source.data ?? "") : "";
  found.image(data.length, () => rawImageSizeOf(data));
}

function measureDocument(block: ContentBlock, found: Found): void {
  const { source } = block;
  if (typeof source !== "object" || source === null) return;
  if (source.type === "text") found.text(source.data);
  else if (source.type !== "content") found.medium("pdf", source.type === "base64" ? source.data?.length : 0);
  else if (typeof source.content === "string") found.text(source.content);
  else measureContent(innerBlocks(block), found);
}
