import { estimateTokens, measureText, type TextSize } from "../../core/money/token-estimate.ts";

/** Text in the pieces that it is streamed in, of a few tokens at most. */
export function piecesOf(text: string): readonly string[] {
  return text.match(/\s*\S{1,12}|\s+/gu) ?? [];
}

/** Tokens of text, about as a tokenizer would count them. */
export function tokensOf(...texts: readonly string[]): number {
  const size: TextSize = { ascii: 0, alphabetic: 0, ideographic: 0 };
  for (const text of texts) measureText(text, size);
  return estimateTokens(size).expected;
}

/** As much of the text as `most` tokens have room for, and whether that is all of it. */
export function fitText(text: string, most: number): { readonly text: string; readonly whole: boolean } {
  if (tokensOf(text) <= most) return { text, whole: true };
  const size: TextSize = { ascii: 0, alphabetic: 0, ideographic: 0 };
  let length = 0;
  for (const point of text) {
    measureText(point, size);
    if (estimateTokens(size).expected > most) break;
    length += point.length;
  }
  return { text: text.slice(0, length), whole: false };
}
