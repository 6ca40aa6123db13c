import type { Member } from "./json-scan.ts";
import type { JsonObject } from "./json-value.ts";

/** How much may be in a text. */
export interface ShapeBounds {
  /** Objects and arrays may nest this deep. */
  readonly depth: number;
  readonly values: number;
}

/** The structure of a text that is a JSON object. */
export interface JsonShape {
  /** The members of the object, in order. */
  readonly members: readonly Member[];
  /** Members of this and all objects within, repeated keys included. */
  readonly memberCount: number;
  /** No white space stands within the values of its members. */
  readonly isCompact: boolean;
}

/**
 * Reads the structure of a text whose syntax `JSON.parse` checks. It skips strings without looking at them, so the
 * result means nothing for text that is not JSON. Returns `undefined` for another value, and beyond the bounds.
 */
export function readShape(bytes: Uint8Array, bounds: ShapeBounds): JsonShape | undefined {
  return walkWhole(openWalk(bytes, bounds), skipValue);
}

/** The same by a walk that skips the values of the object's members in a way of its own. */
export function walkWhole(walk: Walk, skip: SkipPart): JsonShape | undefined {
  const { bytes, bounds } = walk;
  const start = skipSpace(bytes, 0);
  if (bytes[start] !== OPEN_OBJECT) return undefined;
  const members: Member[] = [];
  const visit: VisitPart = (keyStart, keyEnd, valueStart, valueEnd) => {
    members.push({ keyStart, keyEnd, valueStart, valueEnd });
  };
  walkParts(walk, start, visit, skip);
  if (walk.values > bounds.values) return undefined;
  return { members, memberCount: walk.members, isCompact: walk.isCompact };
}

/** A walk that has not begun. */
export function openWalk(bytes: Uint8Array, bounds: ShapeBounds): Walk {
  return { bytes, bounds, values: 0, members: 0, isCompact: true };
}

/**
 * How many values a text has, one of any kind and those within; `undefined` beyond the bounds. What follows the value is
 * not looked at, and of text that is not JSON the result means nothing.
 */
export function countValues(bytes: Uint8Array, { depth, values }: ShapeBounds): number | undefined {
  // A value within is one level deeper than the walk's own.
  const walk = openWalk(bytes, { depth: depth + 1, values });
  skipValue(walk, skipSpace(bytes, 0));
  return walk.values > values ? undefined : walk.values;
}

/** Told of a member; of an item of a list `keyStart` and `keyEnd` are the same. */
type VisitPart = (keyStart: number, keyEnd: number, valueStart: number, valueEnd: number) => void;

/** Gives the offset after the value of a member, or after an item. */
export type SkipPart = (walk: Walk, valueStart: number, keyStart: number, keyEnd: number) => number;

/** Calls `visit` for each member or item of the object or list that begins at `at`, inside text that is JSON. */
export function eachPart(bytes: Uint8Array, at: number, visit: VisitPart): void {
  walkParts(openWalk(bytes, UNBOUNDED), at, visit, skipValue);
}

const UNBOUNDED: ShapeBounds = { depth: Infinity, values: Infinity };

/** A walk over a text, and what it has counted. Beyond its bounds it counts no further, and `values` is beyond them. */
export interface Walk {
  readonly bytes: Uint8Array;
  readonly bounds: ShapeBounds;
  values: number;
  members: number;
  isCompact: boolean;
}

/** Goes over the object or list that begins at `start`; gives the offset of what closes it. */
export function walkParts(walk: Walk, start: number, visit: VisitPart, skip: SkipPart): number {
  const { bytes, bounds } = walk;
  const isObject = bytes[start] === OPEN_OBJECT;
  walk.values += 1;
  let at = skipSpace(bytes, start + 1);
  while (at < bytes.length && !endsScalar(bytes[at] as number) && walk.values <= bounds.values) {
    const keyStart = at;
    let keyEnd = at;
    if (isObject) {
      walk.members += 1;
      keyEnd = skipString(bytes, at);
      // Over the colon, which white space may surround.
      at = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1);
    }
    const valueEnd = skip(walk, at, keyStart, keyEnd);
    visit(keyStart, keyEnd, at, valueEnd);
    at = skipSpace(bytes, valueEnd);
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
  }
  return at;
}

/** Offset after the value that begins at `start`, one level within the walk's own object or list. */
export function skipValue(walk: Walk, start: number): number {
  const { bytes } = walk;
  const { depth: mostDepth, values: mostValues } = walk.bounds;
  // Counted in locals: this loop sees every byte of a request that is not within a string.
  let { values, members } = walk;
  let depth = 1;
  let at = start;
  do {
    switch (bytes[at]) {
      case QUOTE:
        values += 1;
        at = skipString(bytes, at);
        break;
      case COLON:
        // The string before it was a key, and is no value.
        values -= 1;
        members += 1;
        at += 1;
        break;
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        depth += 1;
        values += 1;
        at += 1;
        if (depth > mostDepth || values > mostValues) return beyond(walk);
        break;
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        depth -= 1;
        at += 1;
        break;
      case COMMA:
        if (values > mostValues) return beyond(walk);
        at += 1;
        break;
      case SPACE:
      case LINE_FEED:
      case RETURN:
      case TAB:
        walk.isCompact = false;
        at += 1;
        break;
      default:
        values += 1;
        at = skipScalar(bytes, at);
    }
  } while (depth > 1 && at < bytes.length);
  walk.values = values;
  walk.members = members;
  return at;
}

function beyond(walk: Walk): number {
  walk.values = Infinity;
  return walk.bytes.length;
}

/**
 * The names of an object's members in the order of its text, which has `count` of them. `undefined` where the value
 * does not tell. It has a name that stands twice only once, and puts names that are numbers before all others.
 */
export function namesInOrder(value: JsonObject, count: number): readonly string[] | undefined {
  const names = Object.keys(value);
  // Numbers come first: where the first is none, none is.
  return names.length === count && !/^\d/.test(names[0] ?? "") ? names : undefined;
}

/** How many members the objects of a parsed value have. Fewer than in its text: a key stands twice there. */
export function countMembers(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i += 1) count += countMembers(value[i]);
    return count;
  }
  // `for in` makes no list of the names; a parsed object inherits none.
  for (const name in value) {
    const held = (value as JsonObject)[name];
    count += typeof held === "object" ? 1 + countMembers(held) : 1;
  }
  return count;
}

function skipSpace(bytes: Uint8Array, at: number): number {
  while ((bytes[at] as number) <= SPACE) at += 1;
  return at;
}

/** Up to here a loop finds the end of a string faster than a native call. */
const NEAR_BYTES = 24;

/** Offset after the string that begins at `at`. */
function skipString(bytes: Uint8Array, at: number): number {
  const near = Math.min(bytes.length, at + NEAR_BYTES);
  let from = at + 1;
  while (from < near) {
    const byte = bytes[from];
    if (byte === QUOTE) return from + 1;
    from += byte === BACKSLASH ? 2 : 1;
  }
  for (;;) {
    const quote = bytes.indexOf(QUOTE, from);
    if (quote === -1) return bytes.length;
    // An even number of backslashes are escapes of one another. Each is counted for one quote only.
    let before = quote - 1;
    while (bytes[before] === BACKSLASH) before -= 1;
    if ((quote - before) % 2 === 1) return quote + 1;
    from = quote + 1;
  }
}

function skipScalar(bytes: Uint8Array, at: number): number {
  let end = at + 1;
  while (end < bytes.length && !endsScalar(bytes[end] as number)) end += 1;
  return end;
}

function endsScalar(byte: number): boolean {
  return byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY || byte <= SPACE;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
const OPEN_ARRAY = 0x5b;
const CLOSE_OBJECT = 0x7d;
const CLOSE_ARRAY = 0x5d;
const SPACE = 0x20;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const TAB = 0x09;
