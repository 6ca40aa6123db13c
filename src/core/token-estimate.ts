/** Text by how tokenizers treat it. */
export interface TextSize {
  /** Bytes of ASCII. */
  ascii: number;
  /** Characters beyond ASCII, of scripts with an alphabet. */
  alphabetic: number;
  /** Characters of scripts without spaces between words, symbols and emoji. */
  ideographic: number;
}

/** Adds the size of `text` to `size`. */
export function measureText(text: string, size: TextSize): void {
  // Counted in locals: this runs for every character of a request.
  let alphabetic = 0;
  let ideographic = 0;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < 0x2e80) alphabetic += 1;
    else ideographic += 1;
  }
  size.ascii += text.length - alphabetic - ideographic;
  size.alphabetic += alphabetic;
  size.ideographic += ideographic;
}

/**
 * Tokens of text of this size: a good guess, and a bound with a margin. The rates are those of the byte-pair
 * tokenizers in use (about four ASCII characters a token in prose, fewer in code and JSON; about two letters of
 * other alphabets; about one ideograph), checked against recorded usage in `token-estimate.test.ts`.
 */
export function estimateTokens(size: TextSize): { readonly expected: number; readonly ceiling: number } {
  return {
    expected: Math.ceil(size.ascii / 4 + size.alphabetic / 2.2 + size.ideographic / 1.2),
    ceiling: Math.ceil(size.ascii / 2 + size.alphabetic * 1.1 + size.ideographic * 2),
  };
}
