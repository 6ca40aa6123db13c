import { joinBytes, type Pieces } from "../bytes/bytes.ts";
import { type JsonText, type Member, nameOf, openScan, readMembers } from "./json-scan.ts";

/** What a caller wants done with a member. A part that it does not name keeps its bytes. */
export interface MemberChange {
  readonly isRemoved?: boolean;
  /** Its new key with its quotes, and its new value: both as JSON. */
  readonly key?: string;
  readonly text?: string;
}

/** A span of a text and what stands there instead. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const encoder = new TextEncoder();

/**
 * The object that `bytes` hold with `values` (names and JSON texts) as its members: wherever they stand, and at the
 * end where they do not.
 */
export function setMembers(bytes: Uint8Array, values: Readonly<Record<string, string>>): Uint8Array {
  const changes = new Map(Object.entries(values).map(([name, text]) => [name, { text }]));
  const missing = new Set(changes.keys());
  const change = (name: string): MemberChange | undefined => {
    missing.delete(name);
    return changes.get(name);
  };
  const append = (): string[] => [...missing].map((name) => `"${name}":${values[name]}`);
  return applyEdits(bytes, objectEdits({ bytes }, readMembers(openScan(bytes)) ?? [], change, append));
}

/**
 * The edits that make `changeOf` each member of one object, and put members (as `"key":value`) at its end. White space,
 * number spelling, key order and everything else stay as they were. `members` are all members of the object, at offsets
 * of the text, and `from` is the offset of its brace. `append` is asked last.
 */
export function objectEdits(
  text: JsonText,
  members: readonly Member[],
  changeOf: (name: string, member: Member) => MemberChange | undefined,
  append: () => readonly string[],
  from = 0,
): Edit[] {
  let edits: Edit[] = [];
  const replace = (start: number, end: number, by = ""): void => void edits.push({ start, end, text: by });
  let keptEnd: number | undefined;
  members.forEach((member, i) => {
    const { keyStart, keyEnd, valueStart, valueEnd } = member;
    const change = changeOf(nameOf(text, member), member);
    const next = members[i + 1];
    if (change?.isRemoved !== true) {
      keptEnd = valueEnd;
      if (change?.key !== undefined) replace(keyStart, keyEnd, change.key);
      if (change?.text !== undefined) replace(valueStart, valueEnd, change.text);
    } else if (next !== undefined) replace(keyStart, next.keyStart);
    else {
      // Those at the end go with the comma before them, all others with the comma behind them.
      const tailStart = keptEnd ?? keyStart;
      edits = edits.filter(({ start }) => keptEnd === undefined || start < tailStart);
      replace(tailStart, valueEnd);
    }
  });
  const added = append().join(",");
  const end = members.at(-1)?.valueEnd ?? text.bytes.indexOf(OPEN, from) + 1;
  if (added !== "") replace(end, end, keptEnd === undefined ? added : `,${added}`);
  return edits;
}

const OPEN = 0x7b;

/** Replaces spans of `bytes`; `edits` are in order and do not overlap. The bytes themselves when there are none. */
export function applyEdits(bytes: Uint8Array, edits: readonly Edit[]): Uint8Array {
  return joinBytes(editedPieces([bytes], edits));
}

/** The same for bytes in pieces, and in pieces: what stays is a part of what was given. */
export function editedPieces(pieces: Pieces, edits: readonly Edit[]): Pieces {
  if (edits.length === 0) return pieces;
  const edited: Uint8Array[] = [];
  let place = 0;
  /** Where the piece at the place begins. */
  let begin = 0;
  const keep = (from: number, to: number): void => {
    for (; place < pieces.length; place += 1) {
      const piece = pieces[place] as Uint8Array;
      const end = begin + piece.length;
      const [first, last] = [Math.max(from, begin), Math.min(to, end)];
      if (first < last) edited.push(piece.subarray(first - begin, last - begin));
      if (to < end) return;
      begin = end;
    }
  };
  let from = 0;
  for (const { start, end, text } of edits) {
    keep(from, start);
    if (text !== "") edited.push(encoder.encode(text));
    from = end;
  }
  keep(from, Infinity);
  return edited;
}
