import {
  BROKEN,
  type ItemWalk,
  type JsonScan,
  type MemberWalk,
  memberName,
  openScan,
  skipSpace,
  skipValue,
  smallInteger,
  walkItems,
  walkMembers,
} from "../core/json-scan.ts";
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
export interface Look {
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
export interface Place {
  readonly look: Look & { readonly of: number };
  kind: number;
  start: number;
  end: number;
  /** Members that the object has had so far. */
  size: number;
}

/** What is looked for in the events of a format. One object serves all events of a stream. */
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
  // Every place has the same members: the walk is quick only as long as all are of one form.
  const { of = ANY, marks, counts, cuts, members, others, items, ended } = given;
  const look = { of, marks, counts, cuts, members, others, items, ended };
  return { look, kind: 0, start: -1, end: -1, size: 0 };
}

/** Places of members that are not passed on, by name. */
export function cutPlaces(names: readonly string[], cuts: number[]): Readonly<Record<string, Place>> {
  return Object.fromEntries(names.map((name) => [name, place({ cuts })]));
}

/** Reads events in place, without building a value for each. */
export interface EventScanner {
  /** Fills the places from the event at `[start, end)`; `false` when it is no JSON object. */
  scan(bytes: Uint8Array, start: number, end: number): boolean;
}

/** A scanner that fills the places of `shape`, and the marks, counts and lists that they share. */
export function createEventScanner(shape: Shape): EventScanner {
  const { root } = shape;
  const places = placesIn(root);
  const event: ScannedEvent = { scan: openScan(new Uint8Array(0)) };
  const walkRoot = valueWalk(event, root);
  return {
    scan(bytes, start, end) {
      const scan = openScan(bytes, end);
      event.scan = scan;
      forgetAll(places);
      shape.clear();
      const objectStart = skipSpace(scan, start);
      if (objectStart >= end || bytes[objectStart] !== OPEN) return false;
      const after = walkRoot(objectStart, 0);
      return after !== BROKEN && skipSpace(scan, after) === end;
    },
  };
}

/** The event that is being scanned. */
interface ScannedEvent {
  scan: JsonScan;
}

/** Goes over the value at a place, and over all that is looked for in it. */
function valueWalk(event: ScannedEvent, at: Place): ItemWalk {
  const { look } = at;
  const members = look.members === undefined && look.others === undefined ? undefined : memberWalk(event, at);
  const item = look.items === undefined ? undefined : itemWalk(event, look.items);
  return (valueStart, depth) => {
    const { scan } = event;
    const first = scan.bytes[valueStart];
    let end: number;
    if (first === OPEN && members !== undefined) {
      at.size = 0;
      end = walkMembers(scan, valueStart, depth, members);
    } else if (first === LIST_OPEN && item !== undefined) end = walkItems(scan, valueStart, depth, item);
    else end = skipValue(scan, valueStart, depth);
    if (end !== BROKEN) note(scan, at, valueStart, end);
    return end;
  };
}

function note(scan: JsonScan, at: Place, start: number, end: number): void {
  const { look } = at;
  const kind = kindOf(scan, start, end);
  if ((kind & look.of) === 0) return;
  at.kind = kind;
  at.start = start;
  at.end = end;
  if (look.marks !== undefined) look.marks.on = true;
  if (look.counts !== undefined && kind === STRING) countText(scan.bytes, start, end, look.counts);
}

function memberWalk(event: ScannedEvent, holder: Place): MemberWalk {
  const named = namedIn(event, holder);
  const others = holder.look.others === undefined ? undefined : valueWalk(event, holder.look.others);
  let previousEnd = -1;
  let anyKept = false;

  /** The span that takes a member out: with the comma before it, or after it when none before it stays. */
  const cut = (cuts: number[], keyStart: number, valueEnd: number): void => {
    if (anyKept) return void cuts.push(previousEnd, valueEnd);
    const { scan } = event;
    const next = skipSpace(scan, valueEnd);
    cuts.push(keyStart, scan.bytes[next] === COMMA ? skipSpace(scan, next + 1) : valueEnd);
  };

  return (keyStart, keyEnd, valueStart, depth) => {
    const known = find(named, event.scan.bytes, keyStart, keyEnd);
    const walk = known === undefined ? others : known.walk;
    const end = walk === undefined ? skipValue(event.scan, valueStart, depth) : walk(valueStart, depth);
    if (end === BROKEN) return BROKEN;
    if (holder.size === 0) anyKept = false;
    holder.size += 1;
    const cuts = known?.at.look.cuts;
    if (cuts !== undefined && known?.at.start === valueStart) cut(cuts, keyStart, end);
    else anyKept = true;
    previousEnd = end;
    return end;
  };
}

function itemWalk(event: ScannedEvent, at: Place): ItemWalk {
  const within = placesIn(at);
  const walk = valueWalk(event, at);
  const { ended } = at.look;
  return (valueStart, depth) => {
    forgetAll(within);
    const end = walk(valueStart, depth);
    const { bytes } = event.scan;
    if (ended !== undefined && end !== BROKEN && bytes[valueStart] === OPEN) ended(bytes);
    return end;
  };
}

const OPEN = 0x7b;
const LIST_OPEN = 0x5b;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;

interface Named {
  readonly at: Place;
  readonly name: string;
  readonly quoted: Uint8Array;
  readonly walk: ItemWalk;
}

/** The members to look for, by the length of their quoted names. */
type ByLength = readonly (readonly Named[] | undefined)[];

function namedIn(event: ScannedEvent, { look }: Place): ByLength {
  const byLength: Named[][] = [];
  for (const [name, at] of Object.entries(look.members ?? {})) {
    const quoted = encoder.encode(JSON.stringify(name));
    (byLength[quoted.length] ??= []).push({ at, name, quoted, walk: valueWalk(event, at) });
  }
  return byLength;
}

const encoder = new TextEncoder();

/** The member whose key stands at `[keyStart, keyEnd)`, however it is spelled. */
function find(named: ByLength, bytes: Uint8Array, keyStart: number, keyEnd: number): Named | undefined {
  const candidates = named[keyEnd - keyStart];
  if (candidates !== undefined)
    for (const known of candidates) if (standsAt(known.quoted, bytes, keyStart)) return known;
  for (let i = keyStart + 1; i < keyEnd; i += 1) {
    if (bytes[i] !== BACKSLASH) continue;
    const name = memberName(bytes, keyStart, keyEnd);
    return named.flatMap((all) => all ?? []).find((known) => known.name === name);
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
    case LIST_OPEN:
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

/** A place and all places in it. */
function placesIn(at: Place): readonly Place[] {
  const { members = {}, others, items } = at.look;
  const inside = [...Object.values(members), others, items].filter((inner) => inner !== undefined);
  return [...new Set([at, ...inside.flatMap(placesIn)])];
}

function forgetAll(places: readonly Place[]): void {
  for (let i = 0; i < places.length; i += 1) {
    const at = places[i] as Place;
    at.kind = 0;
    at.start = -1;
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
