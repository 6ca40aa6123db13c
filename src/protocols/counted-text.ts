import { estimateTokens } from "../core/token-estimate.ts";
import { outputTokens } from "../core/usage.ts";
import type { Metered } from "./protocol.ts";

/** Tokens of an image that nobody counted: https://ai.google.dev/gemini-api/docs/pricing, one of 1K or 2K. */
export const IMAGE_TOKENS = 1_120;

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

/**
 * `told` with our own count of the output where it says that there is none: an answer that says something is not
 * free. A count that was bent has its own bound, and stays.
 */
export function withUntoldOutput(told: Metered, counted: () => Metered): Metered {
  if (outputTokens(told.usage) > 0 || told.flags.includes("clamped")) return told;
  const { output, reasoning, imageOutput, audioOutput } = counted().usage;
  if (output + reasoning + imageOutput + audioOutput === 0) return told;
  return {
    usage: { ...told.usage, output, reasoning, imageOutput, audioOutput },
    flags: [...told.flags, "estimated"],
  };
}
