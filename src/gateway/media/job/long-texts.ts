import { jsonValue } from "../../../protocols/answer-json.ts";

/**
 * Long texts of providers' answers: images in base64, of up to some dozens of megabytes. They stay the bytes that they
 * came as, under short names in the JSON, so that none is held twice or decoded at once.
 */
export interface LongTexts {
  /** The JSON of an answer, `undefined` when it is none. The bytes must not change from here on. */
  readJson(answer: Uint8Array): { readonly value: unknown; readonly hasLongTexts: boolean };
  /**
   * The decoded pieces of base64, with or without the head of a data URI. The base64 is a text that stood in an
   * answer's JSON, or any other. Throws a `SyntaxError` at anything else.
   */
  decode(base64: string): AsyncGenerator<Uint8Array>;
}

/** Texts of at least this length are kept apart. */
const LONG = 64 * 1024;

/** Characters that are decoded at once, in less than 2 ms; other work runs between two such parts. */
const PART = 1024 * 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Holds the texts of the answers of one run. */
export function createLongTexts(): LongTexts {
  const texts: Uint8Array[] = [];
  return {
    readJson(answer) {
      const found = longTextsIn(answer);
      const parts: Uint8Array[] = [];
      let at = 0;
      for (const { start, end } of found) {
        const name = JSON.stringify(nameOf(texts.length)).slice(1, -1);
        parts.push(answer.subarray(at, start), new TextEncoder().encode(name));
        texts.push(answer.subarray(start, end));
        at = end;
      }
      const json = found.length === 0 ? answer : Buffer.concat([...parts, answer.subarray(at)]);
      return { value: jsonValue(json), hasLongTexts: found.length > 0 };
    },

    decode: (base64) => decodeParts(texts[numberIn(base64)] ?? base64),
  };
}

/** Names begin with it; base64 and addresses never do. */
const MARK = "\u0000";

function nameOf(number: number): string {
  return `${MARK}${number}`;
}

/** `NaN` for a text that is no name. */
function numberIn(text: string): number {
  return text.startsWith(MARK) ? Number(text.slice(1, 10)) : NaN;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** The contents of long texts without escapes; in JSON, a quote begins a text or ends it unless it is escaped. */
function longTextsIn(json: Uint8Array): readonly Span[] {
  const found: Span[] = [];
  for (let open = json.indexOf(QUOTE); open !== -1;) {
    const start = open + 1;
    let end = json.indexOf(QUOTE, start);
    let isPlain = true;
    while (end !== -1 && isEscaped(json, start, end)) {
      isPlain = false;
      end = json.indexOf(QUOTE, end + 1);
    }
    if (end === -1) break;
    isPlain &&= end - start >= LONG && json.subarray(start, end).indexOf(BACKSLASH) === -1;
    if (isPlain) found.push({ start, end });
    open = json.indexOf(QUOTE, end + 1);
  }
  return found;
}

function isEscaped(json: Uint8Array, start: number, quote: number): boolean {
  let at = quote;
  while (at > start && json[at - 1] === BACKSLASH) at -= 1;
  return (quote - at) % 2 === 1;
}

async function* decodeParts(text: Uint8Array | string): AsyncGenerator<Uint8Array> {
  // White space between the characters does not count.
  let carried = "";
  for (let at = headLength(text); at < text.length; at += PART) {
    const part = carried + textOf(text, at, at + PART).replace(/\s+/g, "");
    const end = at + PART < text.length ? part.length - (part.length % 4) : part.length;
    carried = part.slice(end);
    if (end > 0) yield Uint8Array.fromBase64(part.slice(0, end));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The length of the head of a data URI with its comma; 0 where there is none. */
function headLength(text: Uint8Array | string): number {
  const head = textOf(text, 0, 1_024);
  return head.slice(0, 5).toLowerCase() === "data:" ? head.indexOf(",") + 1 : 0;
}

/** A part of it as characters. Bytes beyond ASCII are no base64, and become none. */
function textOf(text: Uint8Array | string, start: number, end: number): string {
  return typeof text === "string"
    ? text.slice(start, end)
    : new TextDecoder().decode(text.subarray(start, end));
}
