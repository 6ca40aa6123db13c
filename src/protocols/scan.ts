import {
  afterColon,
  BROKEN,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  firstPart,
  type JsonScan,
  memberName,
  nextPart,
  openScan,
  skipKey,
  skipSpace,
  skipValue,
  smallInteger,
} from "../core/json/json-scan.ts";
import { type CountedText, countText } from "./counted-text.ts";

/** Kinds of JSON values, to be joined with `|`. A number of one or two digits says next to nothing: it is `DIGITS`. */
export const STRING = 1;
const EMPTY_STRING = 2;
export const OBJECT = 4;
const EMPTY_OBJECT = 8;
export const LIST = 16;
export const EMPTY_LIST = 32;
const NULL = 64;
export const TRUE = 128;
const FALSE = 256;
const NUMBER = 512;
const DIGITS = 1024;

/** Any string. */
export const STRINGS = STRING | EMPTY_STRING;
/** Any object. */
export const OBJECTS = OBJECT | EMPTY_OBJECT;
/** Any value that says something. */
export const FILLED = STRING | OBJECT | LIST | TRUE | FALSE | NUMBER;
/** Any value but null. */
export const GIVEN = FILLED | STRINGS | OBJECTS | EMPTY_LIST | DIGITS;
const ANY = GIVEN | NULL;

/** Something that several places of an event can say. */
export interface Mark {
  on: boolean;
}

/** What to look for at one place of an event. */
interface Look {
  /** Kinds of values that are noted; any by default. */
  readonly of?: number | undefined;
  /** Switched on by a value that is noted. */
  readonly marks?: Mark | undefined;
  /** Given the text of a string that is noted. */
  readonly counts?: CountedText | undefined;
  /** Given the span that takes the member out of its object, as a pair of `from` and `to`. */
  readonly cuts?: number[] | undefined;
  /** Members to look for inside an object, by name, and what to look for in all others. */
  readonly members?: Readonly<Record<string, Place>> | undefined;
  readonly others?: Place | undefined;
  /** What to look for in each item of a list. What an item says is good until the next item. */
  readonly items?: Place | undefined;
  /** Called after each object that is an item. */
  readonly ended?: ((bytes: Uint8Array) => void) | undefined;
}

/** One place of an event, and what stands there: the last value of a noted kind. Without one `start` is -1. */
export interface Place extends Look {
  readonly of: number;
  readonly named: ByLength;
  /** All places in it, and itself. */
  readonly within: readonly Place[];
  kind: number;
  start: number;
  end: number;
  /** Members that the object has had so far. */
  size: number;
}

/**
 * What is looked for in the events of a format. It serves all streams: what it has found is good until the next event
 * is scanned.
 */
export interface Shape {
  readonly root: Place;
  /** What makes an event an error. */
  readonly error: Place;
  /** Members that are not passed on, as pairs of `from` and `to`. */
  readonly cuts: number[];
  /** Takes back, before each event, the marks, counts and lists that its places have filled. */
  clear(): void;
}

/** A place to look at. */
export function place(given: Look = {}): Place {
  // Every place has the same members: the scan is quick only as long as all are of one form.
  const { of = ANY, marks, counts, cuts, members, others, items, ended } = given;
  const inside = [...Object.values(members ?? {}), others, items].filter((inner) => inner !== undefined);
  const within = [...new Set(inside.flatMap((inner) => inner.within))];
  const named = namedIn(members ?? {});
  const found = { kind: 0, start: -1, end: -1, size: 0 };
  const at = { of, marks, counts, cuts, members, others, items, ended, named, within, ...found };
  within.push(at);
  return at;
}

/** The place with these members, too, each of which is cut out. */
export function withCuts(at: Place, names: readonly string[], cuts: number[]): Place {
  if (names.length === 0) return at;
  const cut = Object.fromEntries(names.map((name) => [name, place({ cuts })]));
  return place({ ...at, members: { ...cut, ...at.members } });
}

/**
 * Fills the places of `shape`, and the marks, counts and lists that they share, from the event at `[start, end)`. It
 * builds no value. Returns `false` when the event is no JSON object. `root` is the shape's own, or that place with more
 * members.
 */
export function scanEvent(shape: Shape, root: Place, bytes: Uint8Array, start: number, end: number): boolean {
  const scan = openScan(bytes, end);
  forget(root);
  shape.clear();
  const objectStart = skipSpace(scan, start);
  if (objectStart >= end || bytes[objectStart] !== OPEN) return false;
  const after = scanPlace(scan, root, objectStart, 0);
  return after !== BROKEN && skipSpace(scan, after) === end;
}

/**
 * Goes over the value at a place, and over all that is looked for in it. The functions of this walk call one another by
 * name: with a closure for each place a chunk takes a fifth longer.
 */
function scanPlace(scan: JsonScan, at: Place, start: number, depth: number): number {
  const first = scan.bytes[start];
  let end: number;
  if (first === OPEN && (at.members !== undefined || at.others !== undefined))
    end = scanMembers(scan, at, start, depth);
  else if (first === OPEN_LIST && at.items !== undefined) end = scanItems(scan, at.items, start, depth);
  else end = skipValue(scan, start, depth);
  if (end !== BROKEN) note(scan, at, start, end);
  return end;
}

function scanMembers(scan: JsonScan, holder: Place, start: number, depth: number): number {
  const { bytes } = scan;
  let previousEnd = -1;
  let anyKept = false;
  holder.size = 0;
  let keyStart = firstPart(scan, start, depth);
  while (keyStart !== BROKEN && bytes[keyStart] !== CLOSE_OBJECT) {
    const keyEnd = skipKey(scan, keyStart);
    const valueStart = afterColon(scan, keyEnd);
    if (valueStart === BROKEN) return BROKEN;
    const at = find(holder.named, bytes, keyStart, keyEnd) ?? holder.others;
    const valueEnd =
      at === undefined ? skipValue(scan, valueStart, depth + 1) : scanPlace(scan, at, valueStart, depth + 1);
    if (valueEnd === BROKEN) return BROKEN;
    holder.size += 1;
    const next = nextPart(scan, valueEnd, CLOSE_OBJECT);
    if (at?.cuts === undefined || at.start !== valueStart) anyKept = true;
    // A member goes with the comma before it, or after it when none before it stays.
    else if (anyKept) at.cuts.push(previousEnd, valueEnd);
    else at.cuts.push(keyStart, bytes[next] === CLOSE_OBJECT ? valueEnd : next);
    previousEnd = valueEnd;
    keyStart = next;
  }
  return keyStart === BROKEN ? BROKEN : keyStart + 1;
}

function scanItems(scan: JsonScan, item: Place, start: number, depth: number): number {
  const { bytes } = scan;
  let at = firstPart(scan, start, depth);
  while (at !== BROKEN && bytes[at] !== CLOSE_ARRAY) {
    // Of the first item nothing is known yet.
    if (item.start !== -1) forget(item);
    const end = scanPlace(scan, item, at, depth + 1);
    if (end === BROKEN) return BROKEN;
    if (bytes[at] === OPEN) item.ended?.(bytes);
    at = nextPart(scan, end, CLOSE_ARRAY);
  }
  return at === BROKEN ? BROKEN : at + 1;
}

function note(scan: JsonScan, at: Place, start: number, end: number): void {
  const kind = kindOf(scan, start, end);
  if ((kind & at.of) === 0) return;
  at.kind = kind;
  at.start = start;
  at.end = end;
  if (at.marks !== undefined) at.marks.on = true;
  if (at.counts !== undefined && kind === STRING) countText(scan.bytes, start, end, at.counts);
}

function forget({ within }: Place): void {
  for (let i = 0; i < within.length; i += 1) {
    const at = within[i] as Place;
    at.kind = 0;
    at.start = -1;
  }
}

const OPEN = 0x7b;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;

/** The members to look for, by the length of their quoted names. */
type ByLength = readonly (readonly Named[] | undefined)[];

interface Named {
  readonly at: Place;
  readonly name: string;
  readonly quoted: Uint8Array;
}

function namedIn(members: Readonly<Record<string, Place>>): ByLength {
  const byLength: Named[][] = [];
  for (const [name, at] of Object.entries(members)) {
    const quoted = encoder.encode(JSON.stringify(name));
    (byLength[quoted.length] ??= []).push({ at, name, quoted });
  }
  return byLength;
}

const encoder = new TextEncoder();

/** The member whose key stands at `[keyStart, keyEnd)`, however it is spelled. */
function find(named: ByLength, bytes: Uint8Array, keyStart: number, keyEnd: number): Place | undefined {
  const candidates = named[keyEnd - keyStart];
  if (candidates !== undefined)
    for (const { quoted, at } of candidates) if (standsAt(quoted, bytes, keyStart)) return at;
  for (let i = keyStart + 1; i < keyEnd; i += 1) {
    if (bytes[i] !== BACKSLASH) continue;
    const name = memberName(bytes, keyStart, keyEnd);
    return named.flatMap((all) => all ?? []).find((known) => known.name === name)?.at;
  }
  return undefined;
}

function standsAt(quoted: Uint8Array, bytes: Uint8Array, at: number): boolean {
  for (let i = 1; i < quoted.length - 1; i += 1) if (bytes[at + i] !== quoted[i]) return false;
  return true;
}

function kindOf(scan: JsonScan, start: number, end: number): number {
  switch (scan.bytes[start]) {
    case 0x22:
      return end - start > 2 ? STRING : EMPTY_STRING;
    case OPEN:
      return end - start === 2 || skipSpace(scan, start + 1) === end - 1 ? EMPTY_OBJECT : OBJECT;
    case OPEN_LIST:
      return end - start === 2 || skipSpace(scan, start + 1) === end - 1 ? EMPTY_LIST : LIST;
    case 0x6e:
      return NULL;
    case 0x74:
      return TRUE;
    case 0x66:
      return FALSE;
    default:
      return end - start > 2 ? NUMBER : DIGITS;
  }
}

const decoder = new TextDecoder();

/** The JSON text of a place that was found. */
export function textAt(bytes: Uint8Array, { start, end }: Pick<Place, "start" | "end">): string {
  return decoder.decode(bytes.subarray(start, end));
}

/** The small whole number at a place; 0 where there is none. */
export function integerAt(bytes: Uint8Array, { start, end }: Place): number {
  return start === -1 ? 0 : smallInteger(bytes, start, end);
}

/** The value of a place that was found. */
export function valueAt(bytes: Uint8Array, at: Pick<Place, "start" | "end">): unknown {
  return JSON.parse(textAt(bytes, at));
}
