import { type Member, memberName, openScan, readMembers } from "./json-scan.ts";

/** What to do with one object's members; everything that is not named keeps its bytes. */
export interface MemberChanges {
  /** Members to leave out. */
  readonly remove?: ReadonlySet<Member>;
  /** New value text for members that stay. */
  readonly replace?: ReadonlyMap<Member, string>;
  /** New key text, quotes included, for members that stay. */
  readonly rename?: ReadonlyMap<Member, string>;
  /** Members to add at the end, each as `"key":value`. */
  readonly append?: readonly string[];
}

/** A span of a text and what stands there instead. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const encoder = new TextEncoder();

/**
 * Returns the bytes of the object with `changes` made to its members: white space, number spelling, key order and
 * everything else stay as they were. `members` are all members of the one object that `bytes` hold.
 */
export function spliceObject(
  bytes: Uint8Array,
  members: readonly Member[],
  changes: MemberChanges,
): Uint8Array {
  return applyEdits(bytes, objectEdits(bytes, members, changes));
}

/**
 * The object that `bytes` hold with `values` (names and JSON texts) as its members: wherever they stand, and at the
 * end where they do not.
 */
export function setMembers(bytes: Uint8Array, values: Readonly<Record<string, string>>): Uint8Array {
  const members = readMembers(openScan(bytes)) ?? [];
  const texts = new Map(Object.entries(values));
  const missing = new Map(texts);
  const replace = new Map<Member, string>();
  for (const member of members) {
    const name = memberName(bytes, member.keyStart, member.keyEnd);
    const text = texts.get(name);
    if (text === undefined) continue;
    replace.set(member, text);
    missing.delete(name);
  }
  return spliceObject(bytes, members, {
    replace,
    append: [...missing].map(([name, text]) => `"${name}":${text}`),
  });
}

/** The object that `bytes` hold without the members of these names; the bytes themselves when they hold none. */
export function withoutMembers(bytes: Uint8Array, names: readonly string[]): Uint8Array {
  const members = readMembers(openScan(bytes)) ?? [];
  const remove = members.filter((at) => names.includes(memberName(bytes, at.keyStart, at.keyEnd)));
  return spliceObject(bytes, members, { remove: new Set(remove) });
}

/**
 * What `spliceObject` does as edits, for an object that stands inside a larger text: `members` are all of its members, at offsets of
 * `bytes`, and `from` is the offset of its brace.
 */
export function objectEdits(
  bytes: Uint8Array,
  members: readonly Member[],
  changes: MemberChanges,
  from = 0,
): Edit[] {
  return [...memberEdits(members, changes), ...appendEdits(bytes, members, changes, from)];
}

function memberEdits(members: readonly Member[], changes: MemberChanges): Edit[] {
  const edits: Edit[] = [];
  const kept = members.filter((member) => changes.remove?.has(member) !== true);
  let lastKept: Member | undefined;
  members.forEach((member, i) => {
    if (changes.remove?.has(member) === true) {
      const next = members[i + 1];
      // The comma goes with the member before the next one; at the end of the object, with the last one kept.
      if (next !== undefined) edits.push({ start: member.keyStart, end: next.keyStart, text: "" });
      else edits.push({ start: member.keyStart, end: member.valueEnd, text: "" });
      return;
    }
    lastKept = member;
    const key = changes.rename?.get(member);
    if (key !== undefined) edits.push({ start: member.keyStart, end: member.keyEnd, text: key });
    const value = changes.replace?.get(member);
    if (value !== undefined) edits.push({ start: member.valueStart, end: member.valueEnd, text: value });
  });
  const last = members.at(-1);
  if (lastKept !== undefined && last !== undefined && kept.at(-1) !== last) {
    return [
      ...edits.filter((edit) => edit.start < (lastKept as Member).valueEnd),
      { start: lastKept.valueEnd, end: last.valueEnd, text: "" },
    ];
  }
  return edits;
}

function appendEdits(
  bytes: Uint8Array,
  members: readonly Member[],
  changes: MemberChanges,
  from: number,
): Edit[] {
  if (changes.append === undefined || changes.append.length === 0) return [];
  const text = changes.append.join(",");
  const last = members.at(-1);
  if (last === undefined) {
    const open = bytes.indexOf(0x7b, from);
    return [{ start: open + 1, end: open + 1, text }];
  }
  const anyKept = members.some((member) => changes.remove?.has(member) !== true);
  return [{ start: last.valueEnd, end: last.valueEnd, text: anyKept ? `,${text}` : text }];
}

/** Replaces spans of `bytes`; `edits` are in order and do not overlap. The bytes themselves when there are none. */
export function applyEdits(bytes: Uint8Array, edits: readonly Edit[]): Uint8Array {
  if (edits.length === 0) return bytes;
  const texts = edits.map((edit) => encoder.encode(edit.text));
  let length = bytes.length;
  edits.forEach((edit, i) => {
    length += (texts[i] as Uint8Array).length - (edit.end - edit.start);
  });
  const result = new Uint8Array(length);
  let from = 0;
  let to = 0;
  edits.forEach((edit, i) => {
    const text = texts[i] as Uint8Array;
    result.set(bytes.subarray(from, edit.start), to);
    to += edit.start - from;
    result.set(text, to);
    to += text.length;
    from = edit.end;
  });
  result.set(bytes.subarray(from), to);
  return result;
}
