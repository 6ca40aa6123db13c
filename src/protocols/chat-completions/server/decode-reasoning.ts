import type { Issuer, Part } from "../../../core/chat.ts";
import { present } from "../../../core/json/json-value.ts";
import { printableName } from "../../printable.ts";
import { isEmpty } from "../empty.ts";
import { ISSUERS } from "../reasoning-formats.ts";
import type { ChatMessage, Open } from "../schema.ts";

/** What stands before the data of redacted thinking where a signature would be. */
export const REDACTED = "redacted:";

/** A piece of reasoning, and where in its answer it stood. */
interface PlacedPart {
  readonly part: Part;
  readonly at: number | undefined;
  /** How much text came before it, in units of a string, where more came behind it. */
  readonly textBefore: number | undefined;
}

type Detail = Open<NonNullable<ChatMessage["reasoning_details"]>[number]>;

/** Reads the items in their order. Signatures are not looked into: whose they are is all that is told. */
export function decodeReasoning(details: readonly Detail[]) {
  const placed: PlacedPart[] = [];
  /** What items of kinds or issuers that cannot be sent on call themselves. */
  const foreign: string[] = [];
  for (const item of details) {
    const { type, format, index, text_before: before } = item;
    const issuer = ISSUERS.get(format);
    if (issuer === undefined && !isEmpty(format)) foreign.push(printableName(format));
    else if (type !== "thinking" && type !== "redacted_thinking") foreign.push(type);
    else {
      const part = reasoningPart(item, issuer);
      const at = Number.isInteger(index) && Number(index) >= 0 ? Number(index) : undefined;
      const textBefore = typeof before === "number" ? before : undefined;
      if (part !== undefined) placed.push({ part, at, textBefore });
    }
  }
  return { placed, foreign };
}

/** `undefined` for an item that says nothing. */
function reasoningPart({ type, ...item }: Detail, issuer: Issuer | undefined): Part | undefined {
  const [text, signature] = [item.thinking ?? "", item.signature ?? ""];
  const isRedacted = text === "" && signature.startsWith(REDACTED);
  const data = type === "redacted_thinking" ? item.data : signature.slice(REDACTED.length);
  if ((type === "redacted_thinking" || isRedacted) && typeof data === "string" && data !== "")
    return { type: "redacted_thinking", data, ...present({ issuer }) };
  if (text === "" && signature === "") return undefined;
  return { type: "thinking", text, ...present({ signature: signature || undefined, issuer }) };
}

/** A text as it was before it became one, parted where reasoning stood. Ends that are not within it are passed over. */
export function partText(text: string, placed: readonly PlacedPart[]): Part[] {
  const within = placed
    .map(({ textBefore = 0 }) => textBefore)
    .filter((end) => Number.isInteger(end) && end > 0 && end < text.length);
  const ends = [...new Set([0, ...within, text.length])].sort((a, b) => a - b);
  return ends.slice(1).map((end, i) => ({ type: "text", text: text.slice(ends[i], end) }));
}

/**
 * The parts of an answer in the order they came in. Reasoning goes to the place it names. Texts fill what is left, up
 * to how much of them came before the next reasoning; then the others follow. Where an item names no place of its own,
 * all reasoning goes first, in its order.
 */
export function interleave(
  placed: readonly PlacedPart[],
  texts: readonly Part[],
  others: readonly Part[],
): Part[] {
  if (placed.length === 0) return [...texts, ...others];
  const places = new Set(placed.map(({ at }) => at));
  if (places.has(undefined) || places.size < placed.length)
    return [...placed.map(({ part }) => part), ...texts, ...others];
  const reasoning = placed.toSorted((a, b) => (b.at ?? 0) - (a.at ?? 0));
  const [textsLeft, othersLeft] = [texts.toReversed(), others.toReversed()];
  const parts: Part[] = [];
  let length = 0;
  for (;;) {
    const next = reasoning.at(-1);
    // Where nothing else is left to stand between, reasoning that names a later place follows at once.
    if (next !== undefined && (next.at === parts.length || textsLeft.length + othersLeft.length === 0)) {
      parts.push(next.part);
      reasoning.pop();
      continue;
    }
    const isFull = next?.textBefore !== undefined && length >= next.textBefore;
    const part = (isFull ? othersLeft.pop() : undefined) ?? textsLeft.pop() ?? othersLeft.pop();
    if (part === undefined) return parts;
    if (part.type === "text") length += part.text.length;
    parts.push(part);
  }
}
