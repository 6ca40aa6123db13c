import type { Part, Turn } from "../../core/chat.ts";
import { isJsonObject } from "../../core/json-value.ts";
import { invalid } from "../request-json.ts";
import { printable } from "../printable.ts";
import { openCallLedger } from "./decode-calls.ts";
import { cacheOf, decodeContent, decodeImage, memberOf } from "./decode-parts.ts";
import { decodeReasoning, interleave, partText } from "./decode-reasoning.ts";
import type { ChatMessage } from "./schema.ts";

/** Members of messages that have a place in turns, or nothing to say there. */
const READ: ReadonlySet<string> = new Set([
  "role",
  "content",
  "tool_calls",
  "tool_call_id",
  "function_call",
  "refusal",
  "reasoning_details",
  "images",
  "audio",
  "cache_control",
]);

const ROLES = { system: "system", developer: "system", user: "user", assistant: "assistant" } as const;

/**
 * Messages as turns: those with results of tools grouped behind the calls that they answer, all others each a turn of
 * its own, in place. What is left out is told to `warn`. Throws a 400 that names the member for what cannot be said in
 * any other format.
 */
export function decodeMessages(messages: readonly ChatMessage[], warn: (sentence: string) => void): Turn[] {
  const turns: Turn[] = [];
  const calls = openCallLedger(warn);
  const closeCalls = (): void => {
    const results = calls.close();
    if (results !== undefined) turns.push(results);
  };
  messages.forEach((message, i) => {
    const path = `messages[${i}]`;
    warnOfMembers(message, path, warn);
    if (message.role === "tool" || message.role === "function") return calls.answer(message, path);
    closeCalls();
    const parts = marking(
      message,
      message.role === "assistant"
        ? decodeAnswer(message, calls.open(message, path), path, warn)
        : decodeContent(message.content, `${path}.content`),
    );
    if (parts.length > 0) turns.push({ role: ROLES[message.role], parts });
    else warn(`${path} was left out: there is nothing in it`);
  });
  closeCalls();
  if (turns.length === 0) throw invalid("messages must have one that is not empty.", "messages");
  return turns;
}

function warnOfMembers(message: ChatMessage, path: string, warn: (sentence: string) => void): void {
  const hasDetails = (message.reasoning_details?.length ?? 0) > 0;
  for (const [name, value] of Object.entries(message)) {
    if (READ.has(name) || isSilent(value)) continue;
    // Clients give the text of their reasoning back beside the blocks that it came from.
    if ((name === "reasoning_content" || name === "reasoning") && hasDetails) continue;
    warn(`${printable(name)} of earlier messages was left out: this model's provider has no place for it`);
  }
  if (isJsonObject(memberOf(message, "audio")))
    throw invalid(`${path}.audio cannot be had from this model's provider: leave it out.`, `${path}.audio`);
}

function isSilent(value: unknown): boolean {
  return (
    value === null || value === undefined || value === "" || (Array.isArray(value) && value.length === 0)
  );
}

/** What an earlier answer said: its text, images and calls in this order, and its reasoning where it stood. */
function decodeAnswer(
  message: ChatMessage,
  calls: readonly Part[],
  path: string,
  warn: (sentence: string) => void,
): Part[] {
  const reasoning = decodeReasoning(message.reasoning_details ?? []);
  for (const kind of new Set(reasoning.foreign))
    warn(`reasoning_details of ${printable(kind)} were left out: another model wrote them`);
  const images = (message.images ?? []).map((image, i) =>
    decodeImage(image.image_url, `${path}.images[${i}].image_url`),
  );
  const refusal = memberOf(message, "refusal");
  const said: readonly Part[] =
    typeof message.content === "string" && message.content !== ""
      ? partText(message.content, reasoning.textEnds).map((text) => ({ type: "text", text }))
      : decodeContent(message.content, `${path}.content`);
  const texts: readonly Part[] =
    said.length === 0 && typeof refusal === "string" && refusal !== ""
      ? [{ type: "text", text: refusal }]
      : said;
  return interleave(reasoning.placed, texts, [...images, ...calls]);
}

/** A mark on a message is one on its last part that can have any. */
function marking(message: ChatMessage, parts: readonly Part[]): readonly Part[] {
  const cache = cacheOf(message);
  if (cache === undefined) return parts;
  const place = parts.findLastIndex(({ type }) => type === "text" || type === "image" || type === "document");
  return parts.map((part, i) => (i === place && !("cache" in part) ? { ...part, cache } : part));
}
