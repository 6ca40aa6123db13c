import type { Pieces } from "../core/bytes/bytes.ts";
import { type JsonText, type Member, memberName } from "../core/json/json-scan.ts";
import { eachPart, namesInOrder } from "../core/json/json-shape.ts";
import { type Edit, editedPieces, type MemberChange, objectEdits } from "../core/json/json-splice.ts";
import type { TargetLoss } from "./losses.ts";
import type { RequestJson } from "./request-json.ts";
import { MOST_WARNINGS } from "./warnings.ts";

/** Where a value stands in a request: names of members and places in lists, from the outside in. */
export type Path = readonly (string | number)[];

/** What happens to the value at one path, and to those within it. */
interface Change extends Mutable<MemberChange> {
  /** The value is a text that begins with the one, and shall begin with the other. */
  start?: { readonly before: string; readonly after: string };
  within?: Within;
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };
type Within = Map<string | number, Change>;

/**
 * What a target needs changed in a request, by path, and the sentences for its caller. Paths are those of the request
 * as it came; what was removed stays removed.
 */
export interface Changes {
  /** Gives a value; a member that is not there is added to its object, which must be. */
  set(path: Path, value: unknown): void;
  /** Removes a member, if it is there, or an item of a list. */
  remove(path: Path): void;
  removes(path: Path): boolean;
  rename(path: Path, name: string): void;
  /** Changes how a long text begins; the rest of it keeps its bytes. */
  setStart(path: Path, before: string, after: string): void;
  /**
   * Keeps as many sentences as a caller is told. One of ours names the target's fields: it is for what no request of
   * another format leads to.
   */
  warn(what: string | TargetLoss): void;
  readonly warnings: readonly string[];
  /** How often something was said to change. */
  readonly count: number;
  /** The request's bytes with the changes made; every other byte stays. */
  splice(json: RequestJson): Pieces;
}

/** Changes of nothing yet; `sentence` says a loss in the caller's words. */
export function openChanges(sentence: (loss: TargetLoss) => string): Changes {
  return new OpenChanges(sentence);
}

/** A class, since one is made for each request: its functions are not. */
class OpenChanges implements Changes {
  count = 0;
  readonly warnings: string[] = [];
  readonly #root: Change = {};
  readonly #sentence: (loss: TargetLoss) => string;

  constructor(sentence: (loss: TargetLoss) => string) {
    this.#sentence = sentence;
  }

  set(path: Path, value: unknown): void {
    this.#at(path).text = JSON.stringify(value);
  }

  remove(path: Path): void {
    this.#at(path).isRemoved = true;
  }

  removes(path: Path): boolean {
    let change: Change | undefined = this.#root;
    for (const step of path) change = change?.within?.get(step);
    return change?.isRemoved === true;
  }

  rename(path: Path, name: string): void {
    this.#at(path).key = JSON.stringify(name);
  }

  setStart(path: Path, before: string, after: string): void {
    this.#at(path).start = { before, after };
  }

  warn(what: string | TargetLoss): void {
    if (this.warnings.length < MOST_WARNINGS)
      this.warnings.push(typeof what === "string" ? what : this.#sentence(what));
  }

  splice(json: RequestJson): Pieces {
    const { within = NOTHING } = this.#root;
    const edits = plainEdits(json, within) ?? memberEdits(json, 0, json.members, within);
    return editedPieces(json.pieces, edits.sort(byStart));
  }

  #at(path: Path): Change {
    this.count += 1;
    let change = this.#root;
    for (const step of path) {
      const within: Within = (change.within ??= new Map());
      change = within.get(step) ?? {};
      within.set(step, change);
    }
    return change;
  }
}

const NOTHING: Within = new Map();
const byStart = (one: Edit, other: Edit): number => one.start - other.start;

/**
 * Edits of the body where its own members get other values and other names, and no more: nearly all that is asked of
 * small bodies. `undefined` where more is asked, or the value does not tell which member has which name.
 */
function plainEdits({ value, members }: RequestJson, within: Within): Edit[] | undefined {
  const names = namesInOrder(value, members.length);
  if (names === undefined) return undefined;
  const edits: Edit[] = [];
  for (const [name, { text, key, isRemoved, start, within: inside }] of within) {
    const i = names.indexOf(name as string);
    const member = members[i];
    if (isRemoved === true && member === undefined) continue;
    if (isRemoved === true || start !== undefined || inside !== undefined || member === undefined)
      return undefined;
    if (key !== undefined) edits.push({ start: member.keyStart, end: member.keyEnd, text: key });
    if (text !== undefined) edits.push({ start: member.valueStart, end: member.valueEnd, text });
  }
  return edits;
}

/** Edits of the object that begins at `start`. */
function memberEdits(text: JsonText, start: number, members: readonly Member[], within: Within): Edit[] {
  const missing = new Map(within);
  const nested: Edit[] = [];
  const changeOf = (name: string, member: Member): Change | undefined => {
    const change = within.get(name);
    missing.delete(name);
    if (change !== undefined && change.text === undefined && change.isRemoved !== true)
      for (const edit of valueEdits(text, member, change)) nested.push(edit);
    return change;
  };
  const append = (): string[] =>
    [...missing].flatMap(([name, { text, isRemoved }]) =>
      text === undefined || isRemoved === true ? [] : [`${JSON.stringify(name)}:${text}`],
    );
  for (const edit of objectEdits(text, members, changeOf, append, start)) nested.push(edit);
  return nested;
}

/** Edits of a value that stays: of what stands in it, or of how it begins. */
function valueEdits(text: JsonText, at: Member, { start, within }: Change): Edit[] {
  if (start === undefined && within === undefined) return [];
  const { bytes } = text;
  if (start !== undefined) return [startEdit(bytes, at, start)];
  const parts: Member[] = [];
  eachPart(bytes, at.valueStart, (keyStart, keyEnd, valueStart, valueEnd) => {
    parts.push({ keyStart, keyEnd, valueStart, valueEnd });
  });
  return bytes[at.valueStart] === OPEN_LIST
    ? listEdits(text, parts, within ?? NOTHING)
    : memberEdits(text, at.valueStart, parts, within ?? NOTHING);
}

/** Edits of a list's items; one that is removed takes a comma with it. */
function listEdits(text: JsonText, items: readonly Member[], within: Within): Edit[] {
  let hasKept = false;
  return items.flatMap((item, i) => {
    const change = within.get(i);
    if (change?.isRemoved !== true) {
      hasKept = true;
      return itemEdits(text, item, change);
    }
    const { valueEnd: before = item.valueStart } = items[i - 1] ?? {};
    const { valueStart: behind = item.valueEnd } = items[i + 1] ?? {};
    return hasKept
      ? { start: before, end: item.valueEnd, text: "" }
      : { start: item.valueStart, end: behind, text: "" };
  });
}

function itemEdits(json: JsonText, item: Member, change: Change | undefined): Edit[] {
  if (change === undefined) return [];
  const { valueStart: start, valueEnd: end } = item;
  return change.text === undefined ? valueEdits(json, item, change) : [{ start, end, text: change.text }];
}

function startEdit(
  bytes: Uint8Array,
  { valueStart, valueEnd }: Member,
  { before, after }: NonNullable<Change["start"]>,
): Edit {
  const text = openText(after);
  const end = valueStart + encoder.encode(openText(before)).length;
  if (decoder.decode(bytes.subarray(valueStart, end)) === openText(before))
    return { start: valueStart, end, text };
  // Written with other escapes, which are those of names.
  const written = memberName(bytes, valueStart, valueEnd);
  return { start: valueStart, end: valueEnd, text: JSON.stringify(after + written.slice(before.length)) };
}

/** A JSON text without the quote that ends it. */
function openText(text: string): string {
  return JSON.stringify(text).slice(0, -1);
}

const OPEN_LIST = 0x5b;
const encoder = new TextEncoder();
const decoder = new TextDecoder();
