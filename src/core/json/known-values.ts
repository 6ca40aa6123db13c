/** The value of a member of a text that was read, kept with its bytes: the same bytes mean the same value again. */
export interface KnownValue {
  readonly name: string;
  readonly bytes: Buffer;
  /** Memory that the bytes stand at the beginning of, where it is larger: a list that has grown takes it over. */
  readonly room?: Buffer;
  /** Nobody may change it. */
  readonly value: unknown;
  /** Where the items of a list begin and end in `bytes`; absent where it is no list, or one of other things than objects. */
  readonly items?: { readonly starts: readonly number[]; readonly ends: readonly number[] };
  /** There is no white space in it. */
  readonly isCompact: boolean;
}

/** A list of objects. */
export interface KnownList extends KnownValue {
  readonly items: NonNullable<KnownValue["items"]>;
}

/** Whether it is a list of objects. */
export function isKnownList(value: KnownValue): value is KnownList {
  return value.items !== undefined;
}

/** What one owner's texts had. No owner is told, in any way, of what another one has sent. */
export interface KnownValues {
  /** The values of members of this name, the last used first. */
  named(name: string): readonly KnownValue[];
  /** Keeps a value, or knows that it is used; `instead` has most of its items and is not needed any more. */
  keep(value: KnownValue, instead?: KnownValue): void;
}

/** Values for many owners. */
export interface KnownValueStore {
  of(owner: string): KnownValues;
  /** Bytes of text that are kept; the values made of them take two to three times as much. */
  readonly bytes: number;
}

/** Of one owner and one name no more are looked through. */
const MOST_OF_A_NAME = 32;

/** A store that forgets what was not used for longest when it has more than so many bytes. */
export function createKnownValueStore(mostBytes: number): KnownValueStore {
  const names = new Map<string, KnownValue[]>();
  /** All values with the key of their list, the least recently used first. */
  const keys = new Map<KnownValue, string>();
  let bytes = 0;

  const forget = (value: KnownValue): void => {
    const key = keys.get(value);
    if (key === undefined) return;
    keys.delete(value);
    bytes -= memoryOf(value);
    const left = (names.get(key) ?? []).filter((other) => other !== value);
    if (left.length === 0) names.delete(key);
    else names.set(key, left);
  };

  const keep = (key: string, value: KnownValue): void => {
    forget(value);
    if (memoryOf(value) > mostBytes) return;
    const others = names.get(key) ?? [];
    const last = others[MOST_OF_A_NAME - 1];
    if (last !== undefined) forget(last);
    names.set(key, [value, ...(names.get(key) ?? [])]);
    keys.set(value, key);
    bytes += memoryOf(value);
    for (const oldest of keys.keys()) {
      if (bytes <= mostBytes) return;
      forget(oldest);
    }
  };

  return {
    of: (owner) => ({
      named: (name) => names.get(`${owner} ${name}`) ?? [],
      keep(value, instead) {
        if (instead !== undefined) forget(instead);
        keep(`${owner} ${value.name}`, value);
      },
    }),
    get bytes() {
      return bytes;
    },
  };
}

function memoryOf({ bytes, room = bytes }: KnownValue): number {
  return room.length;
}

/** Whether the value stands at an offset of a text. */
export function standsAt({ bytes: own }: KnownValue, bytes: Uint8Array, at: number): boolean {
  return isSame(own, 0, own.length, bytes, at);
}

/** Whether all of a list's items stand at an offset of a text. */
export function allItemsAt({ bytes: own, items }: KnownList, bytes: Uint8Array, at: number): boolean {
  return isSame(own, items.starts[0] as number, items.ends.at(-1) as number, bytes, at);
}

/** How many of a list's items from the one at `from` stand at an offset of a text; 0 where it is fewer than `least`. */
export function itemsAt(list: KnownList, from: number, bytes: Uint8Array, at: number, least = 1): number {
  const { starts, ends } = list.items;
  const begin = starts[from] as number;
  const stand = (count: number): boolean =>
    isSame(list.bytes, begin, ends[from + count - 1] as number, bytes, at);
  const all = starts.length - from;
  if (least > all || !stand(least)) return 0;
  if (stand(all)) return all;
  let [count, tooMany] = [least, all];
  while (tooMany - count > 1) {
    const middle = (count + tooMany) >> 1;
    if (stand(middle)) count = middle;
    else tooMany = middle;
  }
  return count;
}

function isSame(own: Buffer, from: number, to: number, bytes: Uint8Array, at: number): boolean {
  const end = at + to - from;
  if (end > bytes.length) return false;
  // Sessions of one client begin alike and end differently: most of them are told apart by their ends.
  for (let last = 1; last <= LAST_BYTES && last <= to - from; last += 1)
    if (own[to - last] !== bytes[end - last]) return false;
  const tail = to - TAIL_BYTES;
  if (tail > from && own.compare(bytes, end - TAIL_BYTES, end, tail, to) !== 0) return false;
  return own.compare(bytes, at, end, from, to) === 0;
}

/** So many are compared by a loop before a native call, and so many by one call before all. */
const LAST_BYTES = 8;
const TAIL_BYTES = 2_048;
