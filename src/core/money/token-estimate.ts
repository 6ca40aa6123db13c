/** Size of a text, by how tokenizers split it. */
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
  for (let from = 0; from < text.length; from += PIECE)
    measurePiece(text.length <= PIECE ? text : text.slice(from, from + PIECE), size);
}

/** Characters that are measured at once. */
const PIECE = 8_192;

const encoder = new TextEncoder();
const utf8 = new Uint8Array(3 * PIECE);
const words = new Int32Array(utf8.buffer);

/**
 * Text is measured as UTF-8, which the runtime writes natively: the length of ASCII text says all, and its words are
 * skipped.
 */
function measurePiece(piece: string, size: TextSize): void {
  const { written } = encoder.encodeInto(piece, utf8);
  const beyond = { alphabetic: 0, ideographic: 0 };
  if (written > piece.length * MOSTLY_ASCII) countUnits(piece, beyond);
  else if (written > piece.length) countInUtf8(written, beyond);
  size.ascii += piece.length - beyond.alphabetic - beyond.ideographic;
  size.alphabetic += beyond.alphabetic;
  size.ideographic += beyond.ideographic;
}

/** Bytes to a character up to which looking for the few beyond ASCII is faster than looking at all. */
const MOSTLY_ASCII = 1.2;

type Beyond = Pick<TextSize, "alphabetic" | "ideographic">;

function countUnits(piece: string, beyond: Beyond): void {
  for (let i = 0; i < piece.length; i += 1) {
    const unit = piece.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < FIRST_IDEOGRAPHIC) beyond.alphabetic += 1;
    else beyond.ideographic += 1;
  }
}

/** The same from the first bytes of `utf8`. */
function countInUtf8(end: number, beyond: Beyond): void {
  let alphabetic = 0;
  let ideographic = 0;
  let at = 0;
  for (;;) {
    if (at % 4 === 0) at = skipAsciiWords(at, end);
    if (at >= end) break;
    const lead = utf8[at] as number;
    if (lead < 0x80) at += 1;
    else if (lead < 0xe0) {
      alphabetic += 1;
      at += 2;
    } else if (lead < 0xf0) {
      if (isIdeographic(lead, utf8[at + 1] as number)) ideographic += 1;
      else alphabetic += 1;
      at += 3;
    } else {
      // A pair of units.
      ideographic += 2;
      at += 4;
    }
  }
  beyond.alphabetic += alphabetic;
  beyond.ideographic += ideographic;
}

function skipAsciiWords(at: number, end: number): number {
  const last = end >> 2;
  let word = at >> 2;
  while (word < last && ((words[word] as number) & 0x80808080) === 0) word += 1;
  return word << 2;
}

const FIRST_IDEOGRAPHIC = 0x2e80;

/** By the first two of three bytes: 0x2e80 is e2 ba 80. */
function isIdeographic(lead: number, second: number): boolean {
  return lead > 0xe2 || (lead === 0xe2 && second >= 0xba);
}

/**
 * Tokens of text of this size: a good guess, and a bound with a margin. The rates are those of the byte-pair tokenizers
 * in use. A token is about four ASCII characters in prose, fewer in code and JSON. It is about two letters of other
 * alphabets, or about one ideograph. `token-estimate.test.ts` checks the rates against recorded usage.
 */
export function estimateTokens(size: TextSize): { readonly expected: number; readonly ceiling: number } {
  return {
    expected: Math.ceil(size.ascii / 4 + size.alphabetic / 2.2 + size.ideographic / 1.2),
    ceiling: Math.ceil(size.ascii / 2 + size.alphabetic * 1.1 + size.ideographic * 2),
  };
}
