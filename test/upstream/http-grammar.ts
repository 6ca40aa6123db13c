import type { HeaderPairs } from "./answer.ts";

/** The head of a request, its header lines as they came. */
export interface RequestHead {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderPairs;
}

/** A value read from text, or the sentence that says why it could not be. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: string };

const REQUEST_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~]+) HTTP\/1\.1$/;
const HEADER_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/;
// oxlint-disable-next-line no-control-regex -- these are the bytes a header value must not have
const FORBIDDEN_IN_VALUE = /[\u0000-\u0008\u000a-\u001f\u007f]/;
const MAX_CHUNK_SIZE_DIGITS = 8;

/** Reads a request line and its header lines; the text ends before the blank line. */
export function readHead(text: string): Parsed<RequestHead> {
  const [requestLine = "", ...lines] = text.split("\r\n");
  const match = REQUEST_LINE.exec(requestLine);
  if (match === null) return refuse(`bad request line: ${JSON.stringify(requestLine.slice(0, 80))}`);
  const headers = readHeaderLines(lines);
  if (!headers.ok) return headers;
  if (valuesOf(headers.value, "host").length !== 1) return refuse("a request must have exactly one Host");
  return { ok: true, value: { method: match[1] ?? "", target: match[2] ?? "", headers: headers.value } };
}

/** Reads header lines strictly: no folding, no space before the colon, no control characters. */
export function readHeaderLines(lines: readonly string[]): Parsed<HeaderPairs> {
  const pairs: [string, string][] = [];
  for (const line of lines) {
    const match = HEADER_LINE.exec(line);
    if (match === null || FORBIDDEN_IN_VALUE.test(match[2] ?? "")) {
      return refuse(`bad header line: ${JSON.stringify(line.slice(0, 80))}`);
    }
    pairs.push([match[1] ?? "", match[2] ?? ""]);
  }
  return { ok: true, value: pairs };
}

/** How long the body is: a count of bytes, or `chunked`. Anything that two readers could read differently is refused. */
export function readBodyFraming(headers: HeaderPairs): Parsed<number | "chunked"> {
  const lengths = valuesOf(headers, "content-length");
  const encodings = valuesOf(headers, "transfer-encoding");
  if (lengths.length + encodings.length > 1)
    return refuse("more than one Content-Length or Transfer-Encoding");
  const [length] = lengths;
  const [encoding] = encodings;
  if (encoding !== undefined) {
    return encoding.toLowerCase() === "chunked"
      ? { ok: true, value: "chunked" }
      : refuse(`unknown Transfer-Encoding: ${encoding}`);
  }
  if (length === undefined) return { ok: true, value: 0 };
  return /^\d{1,15}$/.test(length)
    ? { ok: true, value: Number(length) }
    : refuse(`bad Content-Length: ${length}`);
}

/** Reads the size line of a chunk; extensions are allowed and dropped. */
export function readChunkSize(line: string): Parsed<number> {
  const digits = /^([0-9a-fA-F]+)(?:[ \t]*;.*)?$/.exec(line)?.[1];
  if (digits === undefined || digits.length > MAX_CHUNK_SIZE_DIGITS) {
    return refuse(`bad chunk size: ${JSON.stringify(line.slice(0, 40))}`);
  }
  return { ok: true, value: Number.parseInt(digits, 16) };
}

/** All values of a header, in order, the name compared without case. */
export function valuesOf(headers: HeaderPairs, name: string): string[] {
  const wanted = name.toLowerCase();
  return headers.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value);
}

function refuse(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}
