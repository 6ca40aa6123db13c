import { createSeenLists } from "../../core/json/kept.ts";
import type { ChatDialect } from "../chat-dialect.ts";
import type { ChatMessage, ChatRequestBody } from "./schema.ts";

const FITS: Readonly<Record<"forty" | "nine", (id: string) => boolean>> = {
  // OpenAI: "string too long. Expected a string with maximum length 40".
  forty: (id) => id.length >= 1 && id.length <= 40,
  // Mistral: "must be a-z, A-Z, 0-9, with a length of 9".
  nine: (id) => /^[a-zA-Z0-9]{9}$/.test(id),
};

/**
 * New ids for the tool calls of a request whose own do not fit the vendor's rule. Each id gets one new id that the
 * request does not have already; a call and its result get the same. The same id gives the same new one in every turn
 * as long as nothing else has it, so that prompts are cached as before. Empty where all fit.
 */
export function mapToolIds(body: ChatRequestBody, rule: ChatDialect["toolIds"]): ReadonlyMap<string, string> {
  const mapped = new Map<string, string>();
  if (rule === "any") return mapped;
  const fits = FITS[rule];
  const { messages } = body;
  if (idsIn(messages, fitting[rule].count(messages)).every(fits)) {
    fitting[rule].add(messages);
    return mapped;
  }
  const sent = idsIn(messages, 0);
  const ids = new Set(sent);
  const taken = new Set([...ids].filter(fits));
  for (const id of ids) {
    if (fits(id)) continue;
    let salt = 0;
    let made = shortId(id, salt);
    while (taken.has(made)) made = shortId(id, (salt += 1));
    taken.add(made);
    mapped.set(id, made);
  }
  return mapped;
}

/** Messages all of whose ids fit. */
const fitting = { forty: createSeenLists(), nine: createSeenLists() };

function idsIn(messages: ChatRequestBody["messages"], from: number): readonly string[] {
  const ids: string[] = [];
  for (let i = from; i < messages.length; i += 1) {
    const { tool_calls: calls, tool_call_id: answered } = messages[i] as ChatMessage;
    if (calls) for (const { id } of calls) if (typeof id === "string") ids.push(id);
    if (typeof answered === "string") ids.push(answered);
  }
  return ids;
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** Nine letters and digits that follow from the text (FNV-1a over 64 bits, in two halves). */
function shortId(text: string, salt: number): string {
  let high = 0xcbf29ce4;
  let low = 0x84222325;
  for (const byte of new TextEncoder().encode(`${salt}:${text}`)) {
    const mixed = (low ^ byte) >>> 0;
    // The prime is 2^40 + 0x1b3.
    const product = mixed * 0x1b3;
    high = (Math.imul(high, 0x1b3) + Math.floor(product / 2 ** 32) + (mixed << 8)) >>> 0;
    low = product >>> 0;
  }
  let hash = BigInt(high) * 2n ** 32n + BigInt(low);
  let id = "";
  for (let i = 0; i < 9; i += 1) {
    id += LETTERS[Number(hash % 62n)];
    hash /= 62n;
  }
  return id;
}
