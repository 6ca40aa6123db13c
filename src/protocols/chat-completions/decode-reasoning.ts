import type { Issuer, Part } from "../../core/chat.ts";
import { memberOf } from "./decode-parts.ts";
import type { ChatMessage } from "./schema.ts";

/** The word for a family of models that stands in `format` of a `reasoning_details` item. */
export const FORMATS: Readonly<Record<Issuer, string>> = {
  anthropic: "anthropic-claude-v1",
  google: "google-gemini-v1",
};

/** What stands before the data of redacted thinking where a signature would be. */
export const REDACTED = "redacted:";

/** A piece of reasoning, and where in its answer it stood. */
interface PlacedPart {
  readonly part: Part;
  readonly at: number | undefined;
  /** How much text came before it, where more came behind it. */
  readonly textBefore?: number;
}

/** The reasoning of an earlier answer, read from `reasoning_details`. */
export interface DecodedReasoning {
  readonly placed: readonly PlacedPart[];
  /** Where reasoning parted the visible text, in units of a string, in order. */
  readonly textEnds: readonly number[];
  /** Items of kinds or issuers that cannot be sent on, by what they call themselves. */
  readonly foreign: readonly string[];
}

type Detail = NonNullable<ChatMessage["reasoning_details"]>[number];

/** Reads the items in their order. Signatures are not looked into: whose they are is all that is told. */
export function decodeReasoning(details: readonly Detail[]): DecodedReasoning {
  const placed: PlacedPart[] = [];
  const textEnds = new Set<number>();
  const foreign: string[] = [];
  const place = (part: Part, at: number | undefined, before: unknown): void =>
    void placed.push({ part, at, ...(typeof before === "number" ? { textBefore: before } : {}) });
  for (const item of details) {
    const format = memberOf(item, "format");
    const issuer = issuerOf(format);
    const index = memberOf(item, "index");
    const before = memberOf(item, "text_before");
    if (issuer !== "foreign" && typeof before === "number") textEnds.add(before);
    const at = typeof index === "number" && Number.isInteger(index) && index >= 0 ? index : undefined;
    if (issuer === "foreign") foreign.push(String(format));
    else if (item.type === "thinking" || item.type === "redacted_thinking") {
      const whose = issuer === undefined ? {} : { issuer };
      const text = item.thinking ?? "";
      const signature = item.signature ?? "";
      const data = redactedData(item, text, signature);
      if (data !== undefined) place({ type: "redacted_thinking", data, ...whose }, at, before);
      else if (text !== "" || signature !== "") {
        const signed = signature === "" ? {} : { signature };
        place({ type: "thinking", text, ...signed, ...whose }, at, before);
      }
    } else foreign.push(item.type);
  }
  return { placed, textEnds: [...textEnds].sort((a, b) => a - b), foreign };
}

function issuerOf(format: unknown): Issuer | "foreign" | undefined {
  if (format === undefined || format === null) return undefined;
  return (["anthropic", "google"] as const).find((issuer) => FORMATS[issuer] === format) ?? "foreign";
}

function redactedData(item: Detail, text: string, signature: string): string | undefined {
  if (item.type === "redacted_thinking") {
    const data = memberOf(item, "data");
    return typeof data === "string" && data !== "" ? data : undefined;
  }
  return text === "" && signature.startsWith(REDACTED) ? signature.slice(REDACTED.length) : undefined;
}

/** A text as it was before it became one, parted where reasoning stood. Ends that are not within it are passed over. */
export function partText(text: string, textEnds: readonly number[]): string[] {
  const ends = textEnds.filter((end) => Number.isInteger(end) && end > 0 && end < text.length);
  return [...ends, text.length].map((end, i) => text.slice(i === 0 ? 0 : ends[i - 1], end));
}

/**
 * The parts of an answer in the order they came in. Reasoning goes to the place it names; texts, up to how much of them
 * came before the reasoning that is next, and then the others fill what is left. Where an item names no place of its
 * own, all reasoning goes first, in its order.
 */
export function interleave(
  placed: readonly PlacedPart[],
  texts: readonly Part[],
  others: readonly Part[],
): Part[] {
  const places = new Set(placed.map(({ at }) => at));
  if (places.has(undefined) || places.size < placed.length)
    return [...placed.map(({ part }) => part), ...texts, ...others];
  const reasoning = placed.toSorted((a, b) => (a.at ?? 0) - (b.at ?? 0));
  const parts: Part[] = [];
  let [thought, said, other] = [0, 0, 0];
  let length = 0;
  while (parts.length < reasoning.length + texts.length + others.length) {
    const next = reasoning[thought];
    const text = texts[said];
    const left = texts.length - said + others.length - other;
    const isFull = next?.textBefore !== undefined && length >= next.textBefore;
    // Where nothing else is left to stand between, reasoning that names a later place follows at once.
    if (next !== undefined && (next.at === parts.length || left === 0)) {
      parts.push(next.part);
      thought += 1;
    } else if (text !== undefined && (!isFull || other === others.length)) {
      parts.push(text);
      said += 1;
      length += text.type === "text" ? text.text.length : 0;
    } else {
      parts.push(others[other] as Part);
      other += 1;
    }
  }
  return parts;
}
