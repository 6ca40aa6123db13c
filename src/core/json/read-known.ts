import { memberName } from "./json-scan.ts";
import {
  countMembers,
  type JsonShape,
  openWalk,
  type ShapeBounds,
  skipValue,
  type Walk,
  walkParts,
  walkWhole,
} from "./json-shape.ts";
import { isJsonObject, type JsonObject } from "./json-value.ts";
import { keep as keepObject, keepList } from "./kept.ts";
import {
  allItemsAt,
  isKnownList,
  itemsAt,
  type KnownList,
  type KnownValue,
  type KnownValues,
  standsAt,
} from "./known-values.ts";

/** A text that was read, of which parts may have been known. */
export interface KnownRead {
  /** What was known is the same object in every text that has it: nobody may change it. */
  readonly value: JsonObject;
  readonly shape: JsonShape;
}

/** A part of a text. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** An item of a list, or a run of items that are known. */
interface Run extends Span {
  readonly known?: Items;
}

/** Some of the items of a list that is known. */
interface Items {
  readonly list: KnownList;
  readonly from: number;
  readonly count: number;
}

/** The value of a member: it is known as a whole, or it is a list, or it is neither. */
interface Held extends Span {
  /** Absent where nothing of that name is kept. */
  readonly name: string | undefined;
  readonly known?: KnownValue;
  readonly runs?: readonly Run[];
  readonly isCompact: boolean;
  /** Values in it that were not known. */
  readonly values: number;
}

/**
 * Reads a text that is a JSON object as `readShape` and `parse` do. It does not read again what `known` has of its
 * members. What is large and not known yet is kept for the next text. Returns `undefined` where the text must be read
 * in the plain way. It is then no such JSON, has a key twice in one object, or could go beyond the bounds.
 *
 * `{}` takes the place of what is known before the rest is parsed. An object, a list and a string end by themselves. So
 * the whole text is JSON where the rest is, with each known value where its braces stand.
 */
export function readKnown(
  bytes: Uint8Array,
  bounds: ShapeBounds,
  known: KnownValues,
  parse: (bytes: Uint8Array) => unknown,
): KnownRead | undefined {
  // A value has two bytes with what divides it from the next.
  if (bytes.length > 2 * bounds.values) return undefined;
  const members: Held[] = [];
  const shape = walkWhole(openWalk(bytes, bounds), (walk, start, keyStart, keyEnd) => {
    const member = readMember(walk, start, keptName(bytes, keyStart, keyEnd), known);
    members.push(member);
    return member.end;
  });
  const value = shape && parse(withoutKnown(bytes, members));
  if (shape === undefined || !isJsonObject(value) || countMembers(value) < shape.memberCount)
    return undefined;
  for (const member of members) {
    complete(value, member);
    keep(bytes, value, member, known);
  }
  return { value, shape };
}

function readMember(walk: Walk, start: number, name: string | undefined, known: KnownValues): Held {
  const { bytes } = walk;
  const candidates = name === undefined ? [] : known.named(name);
  const { isCompact: before, values } = walk;
  walk.isCompact = true;
  const whole = candidates.find((candidate) => standsAt(candidate, bytes, start));
  const held =
    whole !== undefined
      ? { known: whole, end: start + whole.bytes.length }
      : bytes[start] === OPEN_LIST
        ? readItems(walk, start, candidates)
        : { end: skipValue(walk, start) };
  const isCompact = walk.isCompact && whole?.isCompact !== false;
  walk.isCompact = before && isCompact;
  return { name, start, isCompact, values: walk.values - values, ...held };
}

function readItems(walk: Walk, start: number, candidates: readonly KnownValue[]) {
  const { bytes, bounds } = walk;
  const within: Walk = { ...walk, bounds: { ...bounds, depth: bounds.depth - 1 } };
  const runs: Run[] = [];
  const find = openSearch(bytes, candidates);
  let lastEnd = start;
  const close = walkParts(within, start, ignore, (_, at) => {
    // What does not follow the bracket or a comma at once follows white space.
    if (at !== lastEnd + 1) within.isCompact = false;
    const known = find(at);
    lastEnd = known === undefined ? skipValue(within, at) : at + lengthOf(known);
    if (known !== undefined) noteSpaces(within, known.list, at, lastEnd);
    runs.push(known === undefined ? { start: at, end: lastEnd } : { start: at, end: lastEnd, known });
    return lastEnd;
  });
  if (close !== (runs.length === 0 ? start + 1 : lastEnd)) within.isCompact = false;
  walk.values = within.values;
  walk.members = within.members;
  walk.isCompact = within.isCompact;
  return { runs, end: close + 1 };
}

const ignore = (): void => {};

function lengthOf({ list, from, count }: Items): number {
  const { starts, ends } = list.items;
  return (ends[from + count - 1] as number) - (starts[from] as number);
}

/** White space in a part of a list that has some somewhere, where it matters still. */
function noteSpaces(walk: Walk, { isCompact }: KnownValue, start: number, end: number): void {
  if (isCompact || !walk.isCompact) return;
  const inside = openWalk(walk.bytes, { depth: Infinity, values: Infinity });
  // A comma between two items is a step as well.
  for (let at = start; at < end && inside.isCompact;) at = skipValue(inside, at);
  walk.isCompact = inside.isCompact;
}

/** So many items of an earlier list are looked at beyond the next one. */
const MOST_SKIPPED = 8;

/**
 * Finds items of a list in the earlier one that begins most like it. In a session most items come again in their order,
 * some are new, and some are written anew.
 */
function openSearch(bytes: Uint8Array, candidates: readonly KnownValue[]): (at: number) => Items | undefined {
  const lists = candidates.filter(isKnownList);
  let list: KnownList | undefined;
  let next = 0;
  /** Items since the last that was found. */
  let missed = 0;
  const begin = (at: number): number => {
    let most = 0;
    for (const other of lists) {
      const all = other.items.starts.length;
      if (all > most && allItemsAt(other, bytes, at)) [list, most] = [other, all];
    }
    if (most > 0) return most;
    list = lists[0];
    for (const other of lists) {
      const count = itemsAt(other, 0, bytes, at, most + 1);
      if (count > most) [list, most] = [other, count];
    }
    return most;
  };
  return (at) => {
    if (lists.length === 0) return undefined;
    if (list === undefined) {
      const count = begin(at);
      next = count;
      if (list !== undefined && count > 0) return { list, from: 0, count };
    }
    const items = list?.items?.starts.length ?? 0;
    const last = Math.min(next + Math.min(missed + 1, MOST_SKIPPED), items - 1);
    for (let from = next; list !== undefined && from <= last; from += 1) {
      const count = itemsAt(list, from, bytes, at);
      if (count === 0) continue;
      next = from + count;
      missed = 0;
      return { list, from, count };
    }
    missed += 1;
    return undefined;
  };
}

const BRACES = new TextEncoder().encode("{}");

/** The text with braces in place of what is known. */
function withoutKnown(bytes: Uint8Array, members: readonly Held[]): Uint8Array {
  const known = members.flatMap((member): readonly Span[] =>
    member.known === undefined ? (member.runs ?? []).filter((run) => run.known !== undefined) : [member],
  );
  if (known.length === 0) return bytes;
  const left = known.reduce((sum, { start, end }) => sum - (end - start) + BRACES.length, bytes.length);
  const rest = new Uint8Array(left);
  let from = 0;
  let to = 0;
  for (const { start, end } of known) {
    rest.set(bytes.subarray(from, start), to);
    to += start - from;
    rest.set(BRACES, to);
    to += BRACES.length;
    from = end;
  }
  rest.set(bytes.subarray(from), to);
  return rest;
}

/** Puts what is known where its braces stood. */
function complete(value: JsonObject, { name, known, runs }: Held): void {
  if (name === undefined) return;
  if (known !== undefined) value[name] = known.value;
  if (runs === undefined || !runs.some((run) => run.known !== undefined)) return;
  const parsed = value[name] as readonly unknown[];
  const list: unknown[] = [];
  runs.forEach(({ known: items }, i) => {
    if (items === undefined) list.push(parsed[i]);
    else for (const item of itemsOf(items)) list.push(item);
  });
  value[name] = list;
}

function itemsOf({ list, from, count }: Items): readonly unknown[] {
  return (list.value as readonly unknown[]).slice(from, from + count);
}

/** Shorter values are read faster than they are found. */
const LEAST_BYTES = 1_024;

/** Of smaller values on the whole than these, parsed ones would take many times the memory of their text. */
const LEAST_ITEM_BYTES = 16;
const LEAST_VALUE_BYTES = 8;

/** No format has a longer name, and the names that are kept are not counted. */
const LONGEST_NAME = 64;
const QUOTES = 2;

/** The name of a key, of which nobody knows yet whether it is JSON; `undefined` where nothing of that name is kept. */
function keptName(bytes: Uint8Array, keyStart: number, keyEnd: number): string | undefined {
  if (keyEnd - keyStart > LONGEST_NAME + QUOTES) return undefined;
  for (let at = keyStart; at < keyEnd; at += 1) if (bytes[at] === BACKSLASH) return undefined;
  return memberName(bytes, keyStart, keyEnd);
}

function keep(bytes: Uint8Array, value: JsonObject, member: Held, known: KnownValues): void {
  const { name, start, end, runs, isCompact, values } = member;
  if (member.known !== undefined) return known.keep(member.known);
  const kind = bytes[start];
  const canEnd = kind === OPEN_LIST || kind === OPEN_OBJECT || kind === QUOTE;
  const length = end - start;
  if (length < LEAST_BYTES || length < values * LEAST_VALUE_BYTES || !canEnd || name === undefined) return;
  const held = value[name];
  if (runs === undefined || !Array.isArray(held)) {
    if (isJsonObject(held)) keepObject(held);
    return known.keep({ name, bytes: textOf(bytes.subarray(start, end)), value: held, isCompact });
  }
  const count = held.length;
  if (length < count * LEAST_ITEM_BYTES) return;
  const earlier = outgrown(runs);
  const text = bytes.subarray(start, end);
  const areObjects =
    count > 0 && runs.every((run) => run.known !== undefined || bytes[run.start] === OPEN_OBJECT);
  keepItems(held, runs);
  const kept = { name, value: held, isCompact };
  if (!areObjects) return known.keep({ ...kept, bytes: textOf(text) }, earlier);
  // The earlier list is forgotten here, so that its memory can be that of the list which has grown.
  known.keep({ ...kept, ...grownFrom(earlier, text, start, runs) }, earlier);
}

/** Bytes in memory of their own. */
function textOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.slice().buffer);
}

/** Says of the items that they come again, and of the list with what it begins. */
function keepItems(list: readonly unknown[], runs: readonly Run[]): void {
  let at = 0;
  for (const { known } of runs) {
    const item = list[at];
    if (known === undefined && isJsonObject(item)) keepObject(item);
    at += known?.count ?? 1;
  }
  const first = runs[0]?.known;
  const begins = first?.from === 0 && Array.isArray(first.list.value);
  keepList(list, begins ? { list: first.list.value as readonly unknown[], count: first.count } : undefined);
}

/** A session grows by little at a time: so much more memory than its text is taken for it, as a part of that. */
const SPARE = 0.25;

type ItemPlaces = KnownList["items"];

/**
 * A list's text in memory that it can grow in, and the places of its items. Where it begins as the earlier list that it
 * replaces, it goes on with that list's text and places, and copies only what is new.
 */
function grownFrom(earlier: KnownList | undefined, text: Uint8Array, start: number, runs: readonly Run[]) {
  const { length } = text;
  const [first, ...others] = runs;
  const { list, from, count = 0 } = first?.known ?? {};
  const begins = earlier !== undefined && list === earlier && from === 0;
  const room = begins ? earlier.room : undefined;
  // What stands before the first item is white space, which may be another one.
  const isSame = begins && earlier.items.starts[0] === 1 && first?.start === start + 1;
  if (!isSame || room === undefined || room.length < length || room.length > 2 * length) {
    const larger = Buffer.allocUnsafeSlow(Math.ceil(length * (1 + SPARE)));
    larger.set(text);
    return { bytes: larger.subarray(0, length), room: larger, items: placesOf(start, runs) };
  }
  const { starts, ends } = earlier.items as { starts: number[]; ends: number[] };
  const added = placesOf(start, others);
  const same = ends[count - 1] as number;
  room.set(text.subarray(same), same);
  for (const [own, more] of [
    [starts, added.starts],
    [ends, added.ends],
  ] as const) {
    own.length = count;
    for (const place of more) own.push(place);
  }
  return { bytes: room.subarray(0, length), room, items: { starts, ends } };
}

/** Where items begin and end, from the list's own beginning on. */
function placesOf(listStart: number, runs: readonly Run[]): ItemPlaces {
  const starts: number[] = [];
  const ends: number[] = [];
  for (const { start, end, known } of runs) {
    if (known === undefined) {
      starts.push(start - listStart);
      ends.push(end - listStart);
      continue;
    }
    const { list, from, count } = known;
    const moved = start - listStart - (list.items.starts[from] as number);
    for (let i = from; i < from + count; i += 1) {
      starts.push((list.items.starts[i] as number) + moved);
      ends.push((list.items.ends[i] as number) + moved);
    }
  }
  return { starts, ends };
}

/** The earlier list of which most items stand in the new one: the same session, some steps before. */
function outgrown(runs: readonly Run[]): KnownList | undefined {
  const list = runs.find(({ known }) => known !== undefined)?.known?.list;
  const found = runs.reduce((sum, { known }) => sum + (known?.count ?? 0), 0);
  return list !== undefined && 2 * found > list.items.starts.length ? list : undefined;
}

const BACKSLASH = 0x5c;
const QUOTE = 0x22;
const OPEN_OBJECT = 0x7b;
const OPEN_LIST = 0x5b;
