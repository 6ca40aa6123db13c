import type { Pieces } from "../core/bytes/bytes.ts";
import { isJsonObject, type JsonObject } from "../core/json/json-value.ts";
import { createListFacts, isKept } from "../core/json/kept.ts";

/** Writes a JSON text, piece by piece. What comes again with other requests is written once for all of them. */
interface JsonWriter {
  /** Adds a text; gives the offset after it. */
  add(text: string): number;
  /** Adds what `JSON.stringify` makes of a value that is not undefined; gives the offset after it. */
  value(value: unknown): number;
  /** All that was added. */
  readonly pieces: Pieces;
}

const keptTexts = new WeakMap<object, Uint8Array>();
const encoder = new TextEncoder();

/** A text of nothing so far. */
export function openJsonWriter(): JsonWriter {
  const pieces: Uint8Array[] = [];
  let length = 0;
  /** What is not encoded yet. */
  let waiting = "";
  const addBytes = (bytes: Uint8Array): void => {
    pieces.push(bytes);
    length += bytes.length;
  };
  const encodeWaiting = (): number => {
    if (waiting !== "") addBytes(encoder.encode(waiting));
    waiting = "";
    return length;
  };
  const addList = (list: readonly unknown[]): void => {
    for (let i = 0; i < list.length; i += 1) {
      waiting += i === 0 ? "[" : ",";
      addItem(list[i]);
    }
    waiting += list.length === 0 ? "[]" : "]";
  };
  const addItem = (item: unknown): void => {
    const text = keptText(item);
    if (text !== undefined) {
      encodeWaiting();
      addBytes(text);
    } else if (isJsonObject(item) && holdsKept(item)) addMembers(item);
    else waiting += JSON.stringify(item) ?? "null";
  };
  const addMembers = (object: JsonObject): void => {
    let before = "{";
    for (const name in object) {
      const held = object[name];
      if (held === undefined) continue;
      waiting += `${before}${JSON.stringify(name)}:`;
      before = ",";
      addValue(held);
    }
    waiting += "}";
  };
  const addValue = (value: unknown): void => {
    if (Array.isArray(value) && value.length > 0 && isKept(value)) {
      encodeWaiting();
      addBytes(keptListText(value));
      waiting += "]";
    } else if (Array.isArray(value) && value.some(isOrHoldsKept)) addList(value);
    else waiting += JSON.stringify(value);
  };
  return {
    add(text) {
      waiting += text;
      return encodeWaiting();
    },
    value(value) {
      addValue(value);
      return encodeWaiting();
    },
    pieces,
  };
}

/** Memory that texts of lists stand in, one behind the other's end: what was written once stays. */
interface Memory {
  readonly room: Buffer;
  used: number;
}

/** The text of a list's items. */
interface ListText {
  readonly memory: Memory;
  readonly length: number;
}

const listTexts = createListFacts<ListText>();

/** A session grows by little at a time: so much more than a list's text is taken for it, as a part of that. */
const SPARE = 0.25;

/** The text of a list that comes again, without the bracket at its end; of a longer list only what is new is written. */
function keptListText(list: readonly unknown[]): Uint8Array {
  const { count = 0, fact } = listTexts.of(list) ?? {};
  const before = fact?.length ?? 0;
  let text = fact;
  if (fact === undefined || count < list.length) {
    const written = JSON.stringify(list.slice(count));
    const added = encoder.encode((count === 0 ? "[" : ",") + written.slice(1, -1));
    const length = before + added.length;
    const isFree = fact !== undefined && fact.memory.used === before && fact.memory.room.length >= length;
    const memory = isFree ? fact.memory : copied(fact, Math.ceil(length * (1 + SPARE)));
    memory.room.set(added, before);
    memory.used = length;
    text = { memory, length };
    listTexts.add(list, list.length, () => ({ memory, length }));
  }
  return text === undefined ? NOTHING : text.memory.room.subarray(0, text.length);
}

const NOTHING = new Uint8Array(0);

function copied(text: ListText | undefined, bytes: number): Memory {
  const room = Buffer.allocUnsafeSlow(bytes);
  if (text !== undefined) room.set(text.memory.room.subarray(0, text.length));
  return { room, used: text?.length ?? 0 };
}

/** The text of an object that comes again. */
function keptText(value: unknown): Uint8Array | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const known = keptTexts.get(value);
  if (known !== undefined || !isKept(value)) return known;
  const text = encoder.encode(JSON.stringify(value));
  keptTexts.set(value, text);
  return text;
}

/** Whether one of an object's lists has something that comes again. */
function holdsKept(value: JsonObject): boolean {
  for (const name in value) {
    const held = value[name];
    if (Array.isArray(held) && held.some(isObjectKept)) return true;
  }
  return false;
}

function isOrHoldsKept(value: unknown): boolean {
  return isJsonObject(value) && (isKept(value) || holdsKept(value));
}

function isObjectKept(value: unknown): boolean {
  return typeof value === "object" && value !== null && isKept(value);
}
