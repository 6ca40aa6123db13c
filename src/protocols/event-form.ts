import type { ByteSpan } from "../core/bytes/bytes.ts";
import { parseExact } from "./exact-json.ts";

/** What may differ between an event and the next, so that the scan would find the same in both but for this. */
export interface Variance {
  /** A string of the answer, which has text in both. */
  readonly text: ByteSpan;
  /** An object that is kept as it stands, of which only numbers may differ. */
  readonly numbers?: ByteSpan | undefined;
}

type HoleKind = "text" | "cut" | "digits" | "spaces";

/** A stretch that may differ. It is as long as there are bytes of its kind. */
interface Hole {
  readonly kind: HoleKind;
  readonly start: number;
  readonly end: number;
}

/** An event, and where the next one may differ from it. */
export interface EventForm {
  readonly holes: readonly Hole[];
  /** The event as it came, from the first byte of its first line to its blank line. */
  readonly bytes: Buffer;
}

/** What the event has in its holes that was matched last, whatever its form. All streams share it. */
export const MATCHED = {
  /** Where each hole stands. */
  starts: [] as number[],
  ends: [] as number[],
  /** Bytes of its text, and those of them beyond ASCII. */
  textBytes: 0,
  wide: 0,
};

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const ZERO = 0x30;
const CLOSE = 0x7d;
/** What may follow a backslash in a string; `u` and its four digits are left to the scan. */
const ESCAPED = new Set(new TextEncoder().encode('"\\/bfnrt'));

/** The form of the event at `whole`, whose data was scanned. `cut` are strings in it that are not passed on. */
export function formOf(
  source: Uint8Array,
  whole: ByteSpan,
  dataEnd: number,
  variance: Variance,
  cut: readonly ByteSpan[],
): EventForm {
  const bytes = Buffer.from(source.subarray(whole.start, whole.end));
  const holes = holesIn(source, dataEnd, variance, cut).map(({ kind, start, end }) => ({
    kind,
    start: start - whole.start,
    end: end - whole.start,
  }));
  return { holes, bytes };
}

function holesIn(
  bytes: Uint8Array,
  end: number,
  { text, numbers }: Variance,
  cut: readonly ByteSpan[],
): Hole[] {
  const inside = (kind: HoleKind, at: ByteSpan): Hole => ({
    kind,
    start: at.start + 1,
    end: at.end - 1,
  });
  const holes = [inside("text", text), ...cut.map((at) => inside("cut", at))];
  if (numbers !== undefined) holes.push(...digitsIn(bytes, numbers));
  // Anthropic pads its events there.
  if (bytes[end - 1] === CLOSE) {
    let start = end - 1;
    while (bytes[start - 1] === SPACE) start -= 1;
    holes.push({ kind: "spaces", start, end: end - 1 });
  }
  return holes.sort((a, b) => a.start - b.start);
}

function digitsIn(bytes: Uint8Array, { start, end }: ByteSpan): Hole[] {
  const holes: Hole[] = [];
  for (let at = start; at < end; at += 1) {
    const after = digitsEnd(bytes, at);
    if (after === -1) continue;
    holes.push({ kind: "digits", start: at, end: after });
    at = after;
  }
  return holes;
}

/**
 * The offset after the event of this form that begins at `from`; -1 where there is none, or where only the scan can say.
 */
export function matchForm(form: EventForm, bytes: Uint8Array, from: number): number {
  const { holes } = form;
  const { starts, ends } = MATCHED;
  let at = from;
  let fixed = 0;
  for (let i = 0; i < holes.length; i += 1) {
    const hole = holes[i] as Hole;
    const size = hole.start - fixed;
    if (!isSame(form.bytes, fixed, bytes, at, size)) return -1;
    at += size;
    starts[i] = at;
    at = holeEnd(hole.kind, bytes, at);
    if (at === -1) return -1;
    ends[i] = at;
    fixed = hole.end;
  }
  const size = form.bytes.length - fixed;
  return isSame(form.bytes, fixed, bytes, at, size) ? at + size : -1;
}

/** Up to this many bytes a loop is faster than a call into the runtime. */
const FEW_BYTES = 48;

function isSame(one: Buffer, oneAt: number, other: Uint8Array, otherAt: number, size: number): boolean {
  if (otherAt + size > other.length) return false;
  if (size > FEW_BYTES) return one.compare(other, otherAt, otherAt + size, oneAt, oneAt + size) === 0;
  for (let i = 0; i < size; i += 1) if (one[oneAt + i] !== other[otherAt + i]) return false;
  return true;
}

function holeEnd(kind: HoleKind, bytes: Uint8Array, at: number): number {
  switch (kind) {
    case "text":
      return textEnd(bytes, at);
    case "cut":
      return plainEnd(bytes, at);
    case "digits":
      return digitsEnd(bytes, at);
    case "spaces":
      while (bytes[at] === SPACE) at += 1;
      return at;
  }
}

/** The end of a text that is not empty, up to its quote. */
function textEnd(bytes: Uint8Array, start: number): number {
  let wide = 0;
  let at = start;
  for (; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) break;
    if (byte === BACKSLASH) {
      at += 1;
      if (!ESCAPED.has(bytes[at] as number)) return -1;
    } else if (byte < SPACE) return -1;
    else if (byte >= 0x80) wide += 1;
  }
  if (at === start || at >= bytes.length) return -1;
  MATCHED.textBytes = at - start;
  MATCHED.wide = wide;
  return at;
}

/** The end of a string without escapes, up to its quote. */
function plainEnd(bytes: Uint8Array, at: number): number {
  for (; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH || byte < SPACE) return -1;
  }
  return -1;
}

/** The end of the digits at `start`, of which none is a zero before others; -1 where there are none. */
function digitsEnd(bytes: Uint8Array, start: number): number {
  let at = start;
  while (isDigit(bytes[at])) at += 1;
  if (at === start || (bytes[start] === ZERO && at > start + 1)) return -1;
  return at;
}

/** Where an edge of a value of the form's own event stands in the event that was matched last, which begins at `from`. */
export function placeIn({ holes }: EventForm, from: number, at: number): number {
  let shift = from;
  for (let i = 0; i < holes.length && (holes[i] as Hole).start < at; i += 1)
    shift = (MATCHED.ends[i] as number) - (holes[i] as Hole).end;
  return at + shift;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= 0x39;
}

/** The text of the event of this form that was matched last, in `bytes`. */
export function matchedText({ holes }: EventForm, bytes: Uint8Array): string {
  const at = holes.findIndex(({ kind }) => kind === "text");
  const text = decoder.decode(bytes.subarray(MATCHED.starts[at], MATCHED.ends[at]));
  return text.includes("\\") ? (parseExact(`"${text}"`) as string) : text;
}

/** A text may begin with what would be a byte order mark at the beginning of a file. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
