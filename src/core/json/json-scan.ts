/**
 * A validating scanner over JSON bytes. It finds where members begin and end without building a value, so that
 * raw text can be passed on with single spans replaced. It accepts what `JSON.parse` accepts (RFC 8259), except
 * that it does not look at whether the bytes of a string are valid UTF-8.
 */
export interface JsonScan {
  readonly bytes: Uint8Array;
  /** Offset after the last byte that belongs to the text. */
  readonly end: number;
  /** Objects and arrays may nest this deep. */
  readonly maxDepth: number;
  /** How many values the text may have. */
  readonly maxValues: number;
  /** Values seen so far. */
  values: number;
  /** Why the scan stopped, once it has returned `BROKEN`. */
  failure: "" | "syntax" | "depth" | "values";
}

/** A member of an object: offsets of its key (with quotes) and of its value. */
export interface Member {
  /** What its key stands for, where that is known. */
  readonly name?: string;
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

const QUOTE = 0x22;
const COLON = 0x3a;
const COMMA = 0x2c;
export const CLOSE_OBJECT = 0x7d;
export const CLOSE_ARRAY = 0x5d;

/** Returned instead of an offset when the text is not JSON or goes beyond a limit. */
export const BROKEN = -1;

/** Starts a scan of `bytes[start..end)`; the offset of the first value comes from `skipSpace`. */
export function openScan(
  bytes: Uint8Array,
  end = bytes.length,
  maxDepth = 128,
  maxValues = Infinity,
): JsonScan {
  return { bytes, end, maxDepth, maxValues, values: 0, failure: "" };
}

/** Offset of the first byte at or after `at` that is not JSON white space. */
export function skipSpace(scan: JsonScan, at: number): number {
  const { bytes, end } = scan;
  while (at < end) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at += 1;
  }
  return at;
}

/** Offset after the value that begins at `at`, or `BROKEN`. */
export function skipValue(scan: JsonScan, at: number, depth = 0): number {
  scan.values += 1;
  if (scan.values > scan.maxValues) return broken(scan, "values");
  switch (scan.bytes[at]) {
    case 0x22:
      return at < scan.end ? skipString(scan, at) : malformed(scan);
    case 0x7b:
      return walkMembers(scan, at, depth);
    case 0x5b:
      return walkItems(scan, at, depth);
    default:
      return skipScalar(scan, at);
  }
}

/** Calls `visit` for each member of the object that begins at `at`; returns the offset after it, or `BROKEN`. */
export function eachMember(
  scan: JsonScan,
  at: number,
  visit: (keyStart: number, keyEnd: number, valueStart: number, valueEnd: number) => void,
  depth = 0,
): number {
  return walkMembers(scan, at, depth, (keyStart, keyEnd, valueStart, inside) => {
    const valueEnd = skipValue(scan, valueStart, inside);
    if (valueEnd !== BROKEN) visit(keyStart, keyEnd, valueStart, valueEnd);
    return valueEnd;
  });
}

/** Calls `visit` for each item of the array that begins at `at`; returns the offset after it, or `BROKEN`. */
export function eachItem(
  scan: JsonScan,
  at: number,
  visit: (valueStart: number, valueEnd: number) => void,
  depth = 0,
): number {
  return walkItems(scan, at, depth, (valueStart, inside) => {
    const valueEnd = skipValue(scan, valueStart, inside);
    if (valueEnd !== BROKEN) visit(valueStart, valueEnd);
    return valueEnd;
  });
}

/** Goes over the value of a member at a depth: gives the offset after it, or `BROKEN`. */
type MemberWalk = (keyStart: number, keyEnd: number, valueStart: number, depth: number) => number;

/** Goes over an item at a depth: gives the offset after it, or `BROKEN`. */
type ItemWalk = (valueStart: number, depth: number) => number;

/**
 * Goes over the object that begins at `start`; returns the offset after it, or `BROKEN`. Each value is gone over by
 * `walk`, so that who looks inside needs no second pass; without it values are skipped. What `walk` was told is
 * good only when the whole text is.
 */
function walkMembers(scan: JsonScan, start: number, depth: number, walk?: MemberWalk): number {
  let at = firstPart(scan, start, depth);
  while (at !== BROKEN && scan.bytes[at] !== CLOSE_OBJECT) {
    const keyEnd = skipKey(scan, at);
    const valueStart = afterColon(scan, keyEnd);
    if (valueStart === BROKEN) return BROKEN;
    const valueEnd =
      walk === undefined ? skipValue(scan, valueStart, depth + 1) : walk(at, keyEnd, valueStart, depth + 1);
    if (valueEnd === BROKEN) return BROKEN;
    at = nextPart(scan, valueEnd, CLOSE_OBJECT);
  }
  return at === BROKEN ? BROKEN : at + 1;
}

/** The same for the array that begins at `start`. */
function walkItems(scan: JsonScan, start: number, depth: number, walk?: ItemWalk): number {
  let at = firstPart(scan, start, depth);
  while (at !== BROKEN && scan.bytes[at] !== CLOSE_ARRAY) {
    const valueEnd = walk === undefined ? skipValue(scan, at, depth + 1) : walk(at, depth + 1);
    if (valueEnd === BROKEN) return BROKEN;
    at = nextPart(scan, valueEnd, CLOSE_ARRAY);
  }
  return at === BROKEN ? BROKEN : at + 1;
}

// The steps of a walk over an object or an array, for who looks inside and cannot afford a call of a closure.

/** Offset of the first member or item of what begins at `start`, or of the bracket that closes it; or `BROKEN`. */
export function firstPart(scan: JsonScan, start: number, depth: number): number {
  if (depth >= scan.maxDepth) return tooDeep(scan);
  const at = skipSpace(scan, start + 1);
  return at < scan.end ? at : malformed(scan);
}

/** The same for what follows the value that ends at `valueEnd`. */
export function nextPart(scan: JsonScan, valueEnd: number, close: number): number {
  const at = skipSpace(scan, valueEnd);
  const byte = at < scan.end ? scan.bytes[at] : 0;
  if (byte === close) return at;
  const next = skipSpace(scan, at + 1);
  return byte === COMMA && scan.bytes[next] !== close ? next : malformed(scan);
}

/** Offset after the key that begins at `at`, or `BROKEN`. */
export function skipKey(scan: JsonScan, at: number): number {
  return at < scan.end && scan.bytes[at] === QUOTE ? skipString(scan, at) : malformed(scan);
}

/** Offset of the value whose key ends at `keyEnd`, or `BROKEN`. */
export function afterColon(scan: JsonScan, keyEnd: number): number {
  if (keyEnd === BROKEN) return BROKEN;
  const at = skipSpace(scan, keyEnd);
  return at < scan.end && scan.bytes[at] === COLON ? skipSpace(scan, at + 1) : malformed(scan);
}

/** A text of JSON, which may be put together only when it is looked at. */
export interface JsonText {
  readonly bytes: Uint8Array;
}

/** What the key of a member stands for. */
export function nameOf(text: JsonText, { name, keyStart, keyEnd }: Member): string {
  return name ?? memberName(text.bytes, keyStart, keyEnd);
}

/** The name that the key at `[keyStart, keyEnd)` stands for, escapes resolved: `"mod\u0065l"` is `model`. */
export function memberName(bytes: Uint8Array, keyStart: number, keyEnd: number): string {
  if (keyEnd - keyStart > SHORT_KEY) return decodedName(bytes, keyStart, keyEnd);
  let name = "";
  for (let i = keyStart + 1; i < keyEnd - 1; i += 1) {
    const byte = bytes[i] as number;
    if (byte === 0x5c || byte >= 0x80) return decodedName(bytes, keyStart, keyEnd);
    name += String.fromCharCode(byte);
  }
  return name;
}

/** Up to this a key is put together faster than it is decoded. */
const SHORT_KEY = 40;

function decodedName(bytes: Uint8Array, keyStart: number, keyEnd: number): string {
  const quoted = decoder.decode(bytes.subarray(keyStart, keyEnd));
  return quoted.includes("\\") ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
}

/**
 * A key that stands twice in one object of the value at `at`, looking `levels` deep; `undefined` when none does. The
 * text is gone over once, and not beyond the first key that is found.
 */
export function findDuplicateKey(scan: JsonScan, at: number, levels: number): string | undefined {
  let found: string | undefined;
  const walk = (valueStart: number, depth: number): number => {
    const byte = depth > levels ? 0 : scan.bytes[valueStart];
    if (byte === 0x5b) return walkItems(scan, valueStart, depth, walk);
    if (byte !== 0x7b) return skipValue(scan, valueStart, depth);
    const names = new Set<string>();
    return walkMembers(scan, valueStart, depth, (keyStart, keyEnd, start, inside) => {
      const name = memberName(scan.bytes, keyStart, keyEnd);
      if (names.has(name)) {
        found = name;
        return BROKEN;
      }
      names.add(name);
      return walk(start, inside);
    });
  };
  walk(at, 0);
  return found;
}

/** Whether the key at `[keyStart, keyEnd)` stands for `quoted` (a name in ASCII with its quotes), however it is spelled. */
export function keyIs(bytes: Uint8Array, keyStart: number, keyEnd: number, quoted: Uint8Array): boolean {
  const last = quoted.length - 1;
  let i = 1;
  while (i < last && bytes[keyStart + i] === quoted[i]) i += 1;
  if (keyEnd - keyStart === quoted.length) return i === last;
  // Only an escape, which is longer than what it stands for, can still make it the same.
  if (bytes[keyStart + i] !== 0x5c) return false;
  return `"${memberName(bytes, keyStart, keyEnd)}"` === decoder.decode(quoted);
}

/** The small whole number written at `[start, end)`; anything else is 0. */
export function smallInteger(bytes: Uint8Array, start: number, end: number): number {
  let value = 0;
  for (let i = start; i < end && i < start + 6; i += 1) {
    const digit = (bytes[i] as number) - 0x30;
    if (digit < 0 || digit > 9) return 0;
    value = value * 10 + digit;
  }
  return value;
}

/** The members of the object that is the whole text, in order; `undefined` when the text is no JSON object. */
export function readMembers(scan: JsonScan): Member[] | undefined {
  const found = membersAt(scan, skipSpace(scan, 0));
  if (found === undefined) return undefined;
  if (skipSpace(scan, found.after) === scan.end) return found.members;
  malformed(scan);
  return undefined;
}

function membersAt(
  scan: JsonScan,
  at: number,
): { readonly members: Member[]; readonly after: number } | undefined {
  const members: Member[] = [];
  scan.values += 1;
  if (at >= scan.end || scan.bytes[at] !== 0x7b) return undefined;
  const after = eachMember(scan, at, (keyStart, keyEnd, valueStart, valueEnd) => {
    members.push({ keyStart, keyEnd, valueStart, valueEnd });
  });
  return after === BROKEN ? undefined : { members, after };
}

const decoder = new TextDecoder();

function skipString(scan: JsonScan, at: number): number {
  const { bytes, end } = scan;
  for (let i = at + 1; i < end; i += 1) {
    const byte = bytes[i] as number;
    if (byte === 0x22) return i + 1;
    if (byte === 0x5c) {
      i = skipEscape(scan, i);
      if (i === BROKEN) return BROKEN;
    } else if (byte < 0x20) return malformed(scan);
  }
  return malformed(scan);
}

/** Offset of the last byte of the escape that begins at `at`. */
function skipEscape(scan: JsonScan, at: number): number {
  const { bytes, end } = scan;
  switch (bytes[at + 1]) {
    case 0x22:
    case 0x5c:
    case 0x2f:
    case 0x62:
    case 0x66:
    case 0x6e:
    case 0x72:
    case 0x74:
      return at + 1;
    case 0x75: {
      if (at + 5 >= end) return malformed(scan);
      for (let i = at + 2; i < at + 6; i += 1) if (!isHex(bytes[i] as number)) return malformed(scan);
      return at + 5;
    }
    default:
      return malformed(scan);
  }
}

function isHex(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

const LITERALS: Readonly<Record<number, Uint8Array>> = {
  0x74: new TextEncoder().encode("true"),
  0x66: new TextEncoder().encode("false"),
  0x6e: new TextEncoder().encode("null"),
};

function skipScalar(scan: JsonScan, at: number): number {
  if (at >= scan.end) return malformed(scan);
  const literal = LITERALS[scan.bytes[at] as number];
  if (literal === undefined) return skipNumber(scan, at);
  const after = at + literal.length;
  if (after > scan.end) return malformed(scan);
  for (let i = 1; i < literal.length; i += 1) {
    if (scan.bytes[at + i] !== literal[i]) return malformed(scan);
  }
  return after;
}

function skipNumber(scan: JsonScan, at: number): number {
  const { bytes, end } = scan;
  let i = bytes[at] === 0x2d ? at + 1 : at;
  if (i >= end || !isDigit(bytes[i])) return malformed(scan);
  i = bytes[i] === 0x30 ? i + 1 : skipDigits(scan, i);
  if (i < end && bytes[i] === 0x2e) {
    const fraction = skipDigits(scan, i + 1);
    if (fraction === i + 1) return malformed(scan);
    i = fraction;
  }
  if (i < end && ((bytes[i] as number) | 0x20) === 0x65) {
    const sign = bytes[i + 1] === 0x2b || bytes[i + 1] === 0x2d ? i + 2 : i + 1;
    const exponent = skipDigits(scan, sign);
    if (exponent === sign) return malformed(scan);
    i = exponent;
  }
  return i;
}

function skipDigits({ bytes, end }: JsonScan, at: number): number {
  while (at < end && isDigit(bytes[at])) at += 1;
  return at;
}

function malformed(scan: JsonScan): typeof BROKEN {
  return broken(scan, "syntax");
}

function tooDeep(scan: JsonScan): typeof BROKEN {
  return broken(scan, "depth");
}

function broken(scan: JsonScan, failure: "syntax" | "depth" | "values"): typeof BROKEN {
  if (scan.failure === "") scan.failure = failure;
  return BROKEN;
}
