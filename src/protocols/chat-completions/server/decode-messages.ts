import type { Part, Turn } from "../../../core/chat.ts";
import { isJsonObject } from "../../../core/json/json-value.ts";
import { createListFacts, isKept, keep, keepList } from "../../../core/json/kept.ts";
import { wrong } from "../../request-json.ts";
import { printable } from "../../printable.ts";
import type { Warn } from "../../warnings.ts";
import { openCallLedger } from "./decode-calls.ts";
import { cacheOf, decodeContent, decodeImage } from "./decode-parts.ts";
import { decodeReasoning, interleave, partText } from "./decode-reasoning.ts";
import { isEmpty } from "../empty.ts";
import type { ChatMessage } from "../schema.ts";

/** Members of messages that have a place in turns, or nothing to say there. */
const PLACED = "role content tool_calls tool_call_id function_call refusal reasoning_details images audio";
const READ = new Set([...PLACED.split(" "), "cache_control"]);

/**
 * Messages as turns: those with results of tools grouped behind the calls that they answer, all others each a turn of
 * its own, in place. What is left out is told to `warn`. Throws a 400 that names the member for what cannot be said in
 * any other format.
 */
export function decodeMessages(messages: readonly ChatMessage[], tell: Warn): Turn[] {
  const { begun, turns } = begunTurns(messages);
  let hasTold = false;
  const warn: Warn = (sentence) => {
    hasTold = true;
    tell(sentence);
  };
  const calls = openCallLedger(warn, begun?.fact.values ?? 0);
  /** Ends the results of calls that stand before the message at a place; keeps the turns up to there. */
  const closeCalls = (place: number): void => {
    const results = calls.close();
    if (results !== undefined) turns.push(results);
    // What is told is told of each request.
    if (!hasTold)
      keptTurns.add(messages, place, () => ({ turns, count: turns.length, values: calls.values }));
  };
  for (let i = begun?.count ?? 0; i < messages.length; i += 1) {
    const message = messages[i] as ChatMessage;
    const path = `messages[${i}]`;
    warnOfMembers(message, path, warn);
    if (message.role === "tool" || message.role === "function") {
      calls.answer(message, path);
      continue;
    }
    closeCalls(i);
    const parts = marking(
      message,
      message.role === "assistant"
        ? decodeAnswer(message, calls.open(message, path), path, warn)
        : contentOf(message, path),
    );
    const role = message.role === "developer" ? "system" : message.role;
    if (parts.length > 0) turns.push({ role, parts });
    else warn(`${path} was left out: there is nothing in it`);
  }
  closeCalls(messages.length);
  if (turns.length === 0) throw wrong("messages", "must have one that is not empty");
  if (isKept(messages)) keepList(turns, begun && { list: begun.fact.turns, count: begun.fact.count });
  return turns;
}

/** The first turns of a request, of whose messages nothing was told. */
interface Begun {
  /** With those that followed them then. */
  readonly turns: readonly Turn[];
  readonly count: number;
  /** Values in the arguments of their calls. */
  readonly values: number;
}

const keptTurns = createListFacts<Begun>();

/** The turns of messages that an earlier list began with; a copy of them, to go on with. */
function begunTurns(messages: readonly ChatMessage[]) {
  const begun = keptTurns.of(messages);
  const next = begun && messages[begun.count];
  // One more result belongs to the last of those turns.
  if (begun === undefined || (next !== undefined && isAnswer(next))) return { turns: [] as Turn[] };
  return { begun, turns: begun.fact.turns.slice(0, begun.fact.count) };
}

function isAnswer({ role }: ChatMessage): boolean {
  return role === "tool" || role === "function";
}

function warnOfMembers(message: ChatMessage, path: string, warn: Warn): void {
  const hasDetails = !isEmpty(message.reasoning_details);
  for (const name in message) {
    if (READ.has(name) || isEmpty(message[name])) continue;
    // Clients give the text of their reasoning back beside the blocks that it came from.
    if ((name === "reasoning_content" || name === "reasoning") && hasDetails) continue;
    warn(`${printable(name)} of earlier messages was left out: this model's provider has no place for it`);
  }
  if (isJsonObject(message.audio))
    throw wrong(`${path}.audio`, "cannot be had from this model's provider: leave it out");
}

/** What an earlier answer said: its text, images and calls in this order, and its reasoning where it stood. */
function decodeAnswer(message: ChatMessage, calls: readonly Part[], path: string, warn: Warn): Part[] {
  const { content, images = [], reasoning_details: details, refusal } = message;
  const { placed, foreign } = decodeReasoning(details ?? []);
  for (const kind of new Set(foreign))
    warn(`reasoning_details of ${printable(kind)} were left out: another model wrote them`);
  const said =
    typeof content === "string" && content !== "" && placed.length > 0
      ? partText(content, placed)
      : contentOf(message, path);
  const isRefused = said.length === 0 && typeof refusal === "string" && refusal !== "";
  const texts: readonly Part[] = isRefused ? [{ type: "text", text: refusal }] : said;
  const others = (images ?? []).map((image, i) =>
    decodeImage(image.image_url, `${path}.images[${i}].image_url`),
  );
  return interleave(placed, texts, [...others, ...calls]);
}

const keptTexts = new WeakMap<ChatMessage, readonly Part[]>();

/** The parts of a message's content; those of a message that comes again come again with it, where all are text. */
function contentOf(message: ChatMessage, path: string): readonly Part[] {
  const known = keptTexts.get(message);
  if (known !== undefined) return known;
  const parts = decodeContent(message.content, `${path}.content`);
  // What is no text names its place in the request.
  if (isKept(message) && parts.every(({ type }) => type === "text")) keptTexts.set(message, parts.map(keep));
  return parts;
}

/** A mark on a message is one on its last part that can have any. */
function marking(message: ChatMessage, parts: readonly Part[]): readonly Part[] {
  const cache = cacheOf(message);
  if (cache === undefined) return parts;
  const place = parts.findLastIndex(({ type }) => type === "text" || type === "image" || type === "document");
  return parts.map((part, i) => (i === place && !("cache" in part) ? { ...part, cache } : part));
}
