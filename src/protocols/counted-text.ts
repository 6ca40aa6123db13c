import { estimateTokens } from "../core/token-estimate.ts";
import type { Metered } from "./protocol.ts";

/** Bytes of answer text by kind, as they stand in JSON. */
export interface CountedText {
  ascii: number;
  wide: number;
}

/** Adds the inside of the JSON string at `[start, end)`, quotes included in the span. */
export function countText(bytes: Uint8Array, start: number, end: number, into: CountedText): void {
  const wide = wideBytes(bytes, start, end);
  into.ascii += end - start - 2 - wide;
  into.wide += wide;
}

/** Bytes of characters beyond ASCII. */
export function wideBytes(bytes: Uint8Array, start: number, end: number): number {
  let wide = 0;
  for (let i = start; i < end; i += 1) if ((bytes[i] as number) >= 0x80) wide += 1;
  return wide;
}

/** Tokens of text that we counted ourselves: upstream said nothing of it, or was cut before it could. */
export function countedTokens({ ascii, wide }: CountedText): number {
  // A character beyond ASCII is two or three bytes; three fits the scripts that matter most.
  return estimateTokens({ ascii, alphabetic: 0, ideographic: Math.ceil(wide / 3) }).expected;
}

/** `metered` with more output by our own count, and flagged so. */
export function withCountedOutput(metered: Metered, tokens: number): Metered {
  if (tokens === 0) return metered;
  const flags = metered.flags.includes("estimated")
    ? metered.flags
    : [...metered.flags, "estimated" as const];
  return { usage: { ...metered.usage, output: metered.usage.output + tokens }, flags };
}
