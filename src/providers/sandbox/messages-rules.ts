import type { JsonObject } from "../../core/json-value.ts";
import { Refusal } from "./ask.ts";
import { canBeFollowed, isBase64 } from "./given-media.ts";
import { objectOf, objectsOf, textOf } from "./members.ts";

/** A rule of Anthropic's servers: what is wrong, in their words, or undefined. */
type Rule = (body: JsonObject) => string | undefined;

/**
 * Refuses what Anthropic's servers refuse and the gateway lets up to them. Sources: recorded errors,
 * https://platform.claude.com/docs/en/api/messages and its pages on tool use, thinking and prompt caching.
 */
export function checkMessages(body: JsonObject): void {
  for (const rule of RULES) {
    const wrong = rule(body);
    if (wrong !== undefined) throw new Refusal(400, "invalid", wrong);
  }
}

const stopsSaySomething: Rule = (body) => {
  const stops = Array.isArray(body.stop_sequences) ? (body.stop_sequences as readonly unknown[]) : [];
  const blank = stops.some((stop) => textOf(stop).trim() === "");
  return blank ? "stop_sequences: each stop sequence must contain non-whitespace" : undefined;
};

const THINKING_FIELDS: ReadonlySet<string> = new Set(["type", "budget_tokens", "display"]);

const thinkingIsKnown: Rule = (body) => {
  const { type, ...fields } = objectOf(body.thinking);
  const extra = Object.keys(fields).find((name) => !THINKING_FIELDS.has(name));
  return extra === undefined
    ? undefined
    : `thinking.${textOf(type)}.${extra}: Extra inputs are not permitted`;
};

const thinkingForcesNoCall: Rule = (body) => {
  const { type } = objectOf(body.tool_choice);
  const forced = type === "any" || type === "tool";
  return forced && thinks(body) ? "Thinking may not be enabled when tool_choice forces tool use." : undefined;
};

function thinks({ thinking }: JsonObject): boolean {
  const { type } = objectOf(thinking);
  return type === "enabled" || type === "adaptive";
}

const systemStandsWell: Rule = (body) => {
  const roles = objectsOf(body.messages).map(({ role }) => role);
  const wrong = roles.findIndex((role, i) => role === "system" && (i === 0 || roles[i - 1] === "system"));
  return wrong === -1 ? undefined : `messages.${wrong}: system messages must follow a user message`;
};

const messagesSaySomething: Rule = (body) => {
  const messages = objectsOf(body.messages);
  const isMute = ({ content }: JsonObject): boolean =>
    content === "" || (Array.isArray(content) && content.length === 0);
  const mute = messages.findIndex(
    (message, i) => isMute(message) && (message.role !== "assistant" || i < messages.length - 1),
  );
  return mute === -1
    ? undefined
    : `messages.${mute}: all messages must have non-empty content except for the optional final assistant message`;
};

/** The fields that each type of block may have beside its type; those of the types that are not here are not looked at. */
const BLOCK_FIELDS: Readonly<Record<string, readonly string[]>> = {
  text: ["text", "citations", "cache_control"],
  image: ["source", "cache_control"],
  document: ["source", "title", "context", "citations", "cache_control"],
  search_result: ["source", "title", "content", "citations", "cache_control"],
  thinking: ["thinking", "signature"],
  redacted_thinking: ["data"],
  tool_use: ["id", "name", "input", "caller", "cache_control"],
  tool_result: ["tool_use_id", "content", "is_error", "cache_control"],
  server_tool_use: ["id", "name", "input", "caller", "cache_control"],
  web_search_tool_result: ["tool_use_id", "content", "caller", "cache_control"],
  web_fetch_tool_result: ["tool_use_id", "content", "caller", "cache_control"],
  tool_search_tool_result: ["tool_use_id", "content", "cache_control"],
  tool_reference: ["tool_name", "cache_control"],
  tool_addition: ["tool", "cache_control"],
  tool_removal: ["tool", "cache_control"],
};

const OTHER_BLOCKS =
  /^(container_upload|mcp_tool_use|mcp_tool_result|((bash_|text_editor_)?code_execution)_tool_result)$/;

const ID = /^[a-zA-Z0-9_-]+$/;

const blocksAreWhole: Rule = (body) => {
  for (const { block, at } of placedBlocks(body)) {
    const wrong = faultOfBlock(block, at);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
};

function faultOfBlock(block: JsonObject, at: string): string | undefined {
  const type = textOf(block.type);
  const fields = Object.hasOwn(BLOCK_FIELDS, type) ? BLOCK_FIELDS[type] : undefined;
  if (fields === undefined) {
    if (OTHER_BLOCKS.test(type)) return undefined;
    return `${at}: Input tag '${type.slice(0, 60)}' found using 'type' does not match any of the expected tags`;
  }
  const extra = Object.keys(block).find((name) => name !== "type" && !fields.includes(name));
  if (extra !== undefined) return `${at}.${type}.${extra.slice(0, 60)}: Extra inputs are not permitted`;
  if (type === "text" && block.text === "") return "messages: text content blocks must be non-empty";
  if ((type === "tool_use" || type === "server_tool_use") && !ID.test(textOf(block.id)))
    return `${at}.${type}.id: String should match pattern '^[a-zA-Z0-9_-]+$'`;
  const { type: kind, data, url } = objectOf(block.source);
  if (kind === "base64" && !isBase64(textOf(data))) return `${at}.${type}.source.base64: invalid base64 data`;
  if (kind === "url" && !canBeFollowed(textOf(url)))
    return `${at}.${type}.source.url: Unable to download the file. Please verify the URL and try again.`;
  return undefined;
}

interface PlacedBlock {
  readonly block: JsonObject;
  /** Where it stands, as their sentences say it. */
  readonly at: string;
}

/** All blocks of the request's system and messages, with those that stand in results. */
function placedBlocks({ system, messages }: JsonObject): readonly PlacedBlock[] {
  const found: PlacedBlock[] = [];
  const look = (content: unknown, path: string): void => {
    for (const [i, block] of objectsOf(content).entries()) {
      const at = `${path}.${i}`;
      found.push({ block, at });
      if (block.type === "tool_result") look(block.content, `${at}.tool_result.content`);
    }
  };
  look(system, "system");
  for (const [i, { content }] of objectsOf(messages).entries()) look(content, `messages.${i}.content`);
  return found;
}

const callsAreAnswered: Rule = (body) => {
  const seen = new Set<string>();
  let open: ReadonlySet<string> = new Set();
  let asked = 0;
  const messages = objectsOf(body.messages);
  for (const [i, message] of messages.entries()) {
    if (message.role === "system") continue;
    const blocks = objectsOf(message.content);
    const results = blocks
      .filter(({ type }) => type === "tool_result")
      .map((block) => textOf(block.tool_use_id));
    const stray = results.find((id) => !open.has(id));
    if (stray !== undefined)
      return `messages.${i}.content.${blocks.findIndex(({ tool_use_id: id }) => id === stray)}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray.slice(0, 100)}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
    const answered = new Set(results);
    if (answered.size < results.length)
      return `messages.${i}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with one id.`;
    const missed = [...open].filter((id) => !answered.has(id));
    if (missed.length > 0) return unanswered(asked, missed);
    if (blocks.slice(0, results.length).some(({ type }) => type !== "tool_result"))
      return `messages.${i}: \`tool_result\` blocks must come first in the content.`;
    const calls = blocks.filter(({ type }) => type === "tool_use").map(({ id }) => textOf(id));
    for (const id of calls) {
      if (seen.has(id)) return `messages.${i}: \`tool_use\` ids must be unique`;
      seen.add(id);
    }
    open = new Set(calls);
    asked = i;
  }
  return open.size === 0 ? undefined : unanswered(asked, [...open]);
};

function unanswered(at: number, ids: readonly string[]): string {
  return `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(", ").slice(0, 400)}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
}

/** While tools run, the answer that called them begins with its thinking; later rounds of one run need none. */
const runBeginsWithThinking: Rule = (body) => {
  if (objectOf(body.thinking).type !== "enabled") return undefined;
  const messages = objectsOf(body.messages);
  const isResult = ({ content }: JsonObject): boolean =>
    objectsOf(content).some(({ type }) => type === "tool_result");
  const isAsked = ({ role, content }: JsonObject): boolean =>
    role === "user" &&
    (typeof content === "string" || objectsOf(content).some(({ type }) => type !== "tool_result"));
  if (!messages.slice(-1).some(isResult)) return undefined;
  const asked = messages.slice(0, -1).findLastIndex(isAsked);
  const first = messages.findIndex(({ role }, i) => i > asked && role === "assistant");
  const [begin] = objectsOf(messages[first]?.content);
  if (begin === undefined || /^(redacted_)?thinking$/.test(textOf(begin.type))) return undefined;
  return `messages.${first}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${textOf(begin.type)}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block.`;
};

const breakpointsAreFew: Rule = (body) => {
  const marked = [body, ...objectsOf(body.tools), ...placedBlocks(body).map(({ block }) => block)].filter(
    (value) => value.cache_control !== undefined && value.cache_control !== null,
  );
  return marked.length > 4
    ? `A maximum of 4 blocks with cache_control may be provided. Found ${marked.length}.`
    : undefined;
};

const lastAnswerGoesOn: Rule = (body) => {
  const last = objectsOf(body.messages).at(-1);
  if (last?.role !== "assistant") return undefined;
  const text = typeof last.content === "string" ? last.content : textOf(objectsOf(last.content).at(-1)?.text);
  return /\s$/.test(text)
    ? "messages: final assistant content cannot end with trailing whitespace"
    : undefined;
};

const RULES: readonly Rule[] = [
  stopsSaySomething,
  thinkingIsKnown,
  thinkingForcesNoCall,
  systemStandsWell,
  messagesSaySomething,
  blocksAreWhole,
  callsAreAnswered,
  runBeginsWithThinking,
  breakpointsAreFew,
  lastAnswerGoesOn,
];
