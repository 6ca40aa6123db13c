import { type JsonObject, objectsIn } from "../../../core/json/json-value.ts";
import { type AskContext, refuse } from "./ask.ts";
import { canBeFollowed, isBase64 } from "./given-media.ts";
import { fieldNames, listOf, objectOf, textOf } from "../members.ts";

/**
 * Refuses what Anthropic's servers refuse and the gateway lets up to them, in their order. Sources: recorded errors,
 * https://platform.claude.com/docs/en/api/messages and its pages on tool use, thinking and prompt caching.
 */
export function checkMessages(body: JsonObject, { seal }: AskContext): void {
  if (listOf(body.stop_sequences).some((stop) => textOf(stop).trim() === ""))
    refuse("stop_sequences: each stop sequence must contain non-whitespace");
  checkThinking(body);
  const messages = objectsIn(body.messages);
  for (const [i, { role }] of messages.entries())
    if (role === "system" && (i === 0 || messages[i - 1]?.role === "system"))
      refuse(`messages.${i}: system messages must follow a user message`);
  for (const [i, { role, content }] of messages.entries()) {
    const isMute = content === "" || (Array.isArray(content) && content.length === 0);
    if (isMute && (role !== "assistant" || i < messages.length - 1))
      refuse(
        `messages.${i}: all messages must have non-empty content except for the optional final assistant message`,
      );
  }
  const blocks = placedBlocks(body);
  for (const { block, at } of blocks) checkBlock(block, at);
  checkCalls(messages);
  checkRun(body, messages);
  const marked = [body, ...objectsIn(body.tools), ...blocks.map(({ block }) => block)].filter(
    (value) => value.cache_control !== undefined && value.cache_control !== null,
  );
  if (marked.length > 4)
    refuse(`A maximum of 4 blocks with cache_control may be provided. Found ${marked.length}.`);
  const last = messages.at(-1);
  const end =
    typeof last?.content === "string" ? last.content : textOf(objectsIn(last?.content).at(-1)?.text);
  if (last?.role === "assistant" && /\s$/.test(end))
    refuse("messages: final assistant content cannot end with trailing whitespace");
  for (const { block, at, role } of blocks) {
    const { type, thinking, signature } = block;
    if (role !== "assistant") continue;
    // The sandbox gives none, so what comes back is none of its own.
    if (type === "redacted_thinking") refuse(`${at}: Invalid \`data\` in \`redacted_thinking\` block`);
    if (type !== "thinking") continue;
    if (typeof signature !== "string") refuse(`${at}.thinking.signature: Field required`);
    else if (!seal.verifies(textOf(thinking), signature))
      refuse(`${at}: Invalid \`signature\` in \`thinking\` block`);
  }
}

const THINKING_FIELDS = fieldNames("type budget_tokens display");

function checkThinking(body: JsonObject): void {
  const { type, ...fields } = objectOf(body.thinking);
  for (const name of Object.keys(fields))
    if (!THINKING_FIELDS.has(name))
      refuse(`thinking.${textOf(type)}.${name}: Extra inputs are not permitted`);
  const { type: choice } = objectOf(body.tool_choice);
  if ((choice === "any" || choice === "tool") && (type === "enabled" || type === "adaptive"))
    refuse("Thinking may not be enabled when tool_choice forces tool use.");
}

/** The fields that each type of block may have; those of the types that are not here are not looked at. */
const BLOCK_FIELDS: Readonly<Record<string, ReadonlySet<string>>> = {
  text: fieldNames("type text citations cache_control"),
  image: fieldNames("type source cache_control"),
  document: fieldNames("type source title context citations cache_control"),
  search_result: fieldNames("type source title content citations cache_control"),
  thinking: fieldNames("type thinking signature"),
  redacted_thinking: fieldNames("type data"),
  tool_use: fieldNames("type id name input caller cache_control"),
  tool_result: fieldNames("type tool_use_id content is_error cache_control"),
  server_tool_use: fieldNames("type id name input caller cache_control"),
  web_search_tool_result: fieldNames("type tool_use_id content caller cache_control"),
  web_fetch_tool_result: fieldNames("type tool_use_id content caller cache_control"),
  tool_search_tool_result: fieldNames("type tool_use_id content cache_control"),
  tool_reference: fieldNames("type tool_name cache_control"),
  tool_addition: fieldNames("type tool cache_control"),
  tool_removal: fieldNames("type tool cache_control"),
};

const OTHER_BLOCKS =
  /^(container_upload|mcp_tool_use|mcp_tool_result|((bash_|text_editor_)?code_execution)_tool_result)$/;

const ID = /^[a-zA-Z0-9_-]+$/;

function checkBlock(block: JsonObject, at: string): void {
  const type = textOf(block.type);
  const fields = Object.hasOwn(BLOCK_FIELDS, type) ? BLOCK_FIELDS[type] : undefined;
  if (fields === undefined) {
    if (!OTHER_BLOCKS.test(type))
      refuse(
        `${at}: Input tag '${type.slice(0, 60)}' found using 'type' does not match any of the expected tags`,
      );
    return;
  }
  for (const name of Object.keys(block))
    if (!fields.has(name)) refuse(`${at}.${type}.${name.slice(0, 60)}: Extra inputs are not permitted`);
  if (type === "text" && block.text === "") refuse("messages: text content blocks must be non-empty");
  if ((type === "tool_use" || type === "server_tool_use") && !ID.test(textOf(block.id)))
    refuse(`${at}.${type}.id: String should match pattern '^[a-zA-Z0-9_-]+$'`);
  const { type: kind, data, url } = objectOf(block.source);
  if (kind === "base64" && !isBase64(textOf(data)))
    refuse(`${at}.${type}.source.base64: invalid base64 data`);
  if (kind === "url" && !canBeFollowed(textOf(url)))
    refuse(`${at}.${type}.source.url: Unable to download the file. Please verify the URL and try again.`);
}

interface PlacedBlock {
  readonly block: JsonObject;
  /** Where it stands, as their sentences say it. */
  readonly at: string;
  readonly role: unknown;
}

/** All blocks of the request's system and messages, with those that stand in results. */
function placedBlocks({ system, messages }: JsonObject): readonly PlacedBlock[] {
  const found: PlacedBlock[] = [];
  const look = (content: unknown, path: string, role: unknown): void => {
    for (const [i, block] of objectsIn(content).entries()) {
      found.push({ block, at: `${path}.${i}`, role });
      if (block.type === "tool_result") look(block.content, `${path}.${i}.tool_result.content`, "user");
    }
  };
  look(system, "system", "system");
  for (const [i, { content, role }] of objectsIn(messages).entries())
    look(content, `messages.${i}.content`, role);
  return found;
}

function checkCalls(messages: readonly JsonObject[]): void {
  const seen = new Set<string>();
  let open: ReadonlySet<string> = new Set();
  let asked = 0;
  // Behind the last message stands none: its calls have no results.
  for (const [i, { role, content }] of [...messages, {} as JsonObject].entries()) {
    if (role === "system") continue;
    const blocks = objectsIn(content);
    const results = blocks
      .filter(({ type }) => type === "tool_result")
      .map((block) => textOf(block.tool_use_id));
    const stray = results.find((id) => !open.has(id));
    if (stray !== undefined)
      refuse(
        `messages.${i}.content.${blocks.findIndex(({ tool_use_id: id }) => id === stray)}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray.slice(0, 100)}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      );
    const answered = new Set(results);
    if (answered.size < results.length)
      refuse(
        `messages.${i}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with one id.`,
      );
    const unanswered = [...open].filter((id) => !answered.has(id));
    if (unanswered.length > 0)
      refuse(
        `messages.${asked}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${unanswered.join(", ").slice(0, 400)}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
      );
    if (blocks.slice(0, results.length).some(({ type }) => type !== "tool_result"))
      refuse(`messages.${i}: \`tool_result\` blocks must come first in the content.`);
    open = new Set(blocks.filter(({ type }) => type === "tool_use").map(({ id }) => textOf(id)));
    for (const { type, id } of blocks) {
      if (type !== "tool_use") continue;
      if (seen.has(textOf(id))) refuse(`messages.${i}: \`tool_use\` ids must be unique`);
      seen.add(textOf(id));
    }
    asked = i;
  }
}

/** While tools run, the answer that called them begins with its thinking; later rounds of one run need none. */
function checkRun({ thinking }: JsonObject, messages: readonly JsonObject[]): void {
  const isResult = ({ type }: JsonObject): boolean => type === "tool_result";
  if (objectOf(thinking).type !== "enabled" || !objectsIn(messages.at(-1)?.content).some(isResult)) return;
  const asked = messages.findLastIndex(
    ({ role, content }, i) =>
      i < messages.length - 1 &&
      role === "user" &&
      (typeof content === "string" || objectsIn(content).some((block) => !isResult(block))),
  );
  const first = messages.findIndex(({ role }, i) => i > asked && role === "assistant");
  const [begin] = objectsIn(messages[first]?.content);
  if (begin !== undefined && !/^(redacted_)?thinking$/.test(textOf(begin.type)))
    refuse(
      `messages.${first}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${textOf(begin.type)}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block.`,
    );
}
