/** What the parser tells of a value beside it: https://tc39.es/proposal-json-parse-with-source/ */
interface ParsedFrom {
  readonly source?: string;
}

/**
 * Numbers that a second writing could change: fractions, exponents, a zero below zero, more digits than a double has. One
 * stands where a value can stand; the version in a model's name does not.
 */
const NOT_PLAIN = /(?:^|[:,[])\s*(?:-0|-?\d+[.eE]|-?\d{16})/;

/**
 * Parses JSON text so that `JSON.stringify` writes each number with the digits that it came with. An id of nineteen
 * digits in the arguments of a tool stays that id. `undefined` for what is not JSON.
 */
export function parseExact(text: string): unknown {
  try {
    return NOT_PLAIN.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The value of `text`, of which `value` was parsed plainly, with the digits that its numbers came with. */
export function exactValue(text: string, value: unknown): unknown {
  return NOT_PLAIN.test(text) ? parseExact(text) : value;
}

function keepDigits(_key: string, value: unknown, from?: ParsedFrom): unknown {
  if (typeof value !== "number" || from?.source === undefined || String(value) === from.source) return value;
  return exactNumber(from.source);
}

/** A number that `JSON.stringify` writes with these digits: one of ours would round an amount. */
export const exactNumber = (JSON as unknown as { readonly rawJSON: (text: string) => unknown }).rawJSON;
