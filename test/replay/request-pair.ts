import { seededRandom } from "../upstream/cuts.ts";
import {
  COMPACT,
  hostileSpelling,
  type Json,
  rewrittenText,
  squeezed,
  textOf,
  withoutMembers,
  writeObject,
  type WrittenObject,
} from "./wire-json.ts";

/** What the client sends and what upstream must get for it. */
export interface RequestPair {
  readonly sent: string;
  /** Whether `received` is the request after the named rewrites, byte for byte. */
  accepts(received: string): boolean;
  /** For a message when it is not. */
  readonly wanted: string;
  /** What the client must be told was left out or set. */
  readonly told: readonly string[];
}

/** A field that is in no table of any format. */
const UNKNOWN_FIELD = "x_field_of_nobody";

/** What differs between the request that a client sends and the one that upstream gets. */
export interface Changes {
  /** Values by name, as upstream gets them. */
  readonly replace: Record<string, string>;
  /** Members added at the end, each `"name":value`. */
  readonly append: string[];
  /** Members that are left out. */
  readonly leftOut: readonly string[];
  /** Texts that are put in somewhere deeper, in order, each told by its name. */
  readonly putIn?: readonly PutIn[];
  /** What else the client must be told. */
  readonly told?: readonly string[];
}

/** A text that upstream gets at a place in the middle. */
export interface PutIn {
  readonly name: string;
  readonly text: string;
  /** What stands there in the request; empty where nothing does. */
  readonly instead: string;
  /** Whether it was put in the right place. */
  isIn(received: Json): boolean;
}

/** The request as `JSON.stringify` writes it. */
export function plainPair(body: Json, changes: (written: WrittenObject) => Changes): RequestPair {
  return pairOf(writeObject(body, COMPACT), changes);
}

/**
 * The same request in another spelling: white space, escapes and numbers at random. One with `unknown` has a field
 * more that nobody knows.
 */
export function hostilePair(
  body: Json,
  seed: number,
  unknown: boolean,
  changes: (written: WrittenObject) => Changes,
): RequestPair {
  const random = seededRandom(seed * 7 + 1);
  const entries = Object.entries(body as object);
  // The unknown field is not always the last.
  if (unknown)
    entries.splice(Math.floor(random() * (entries.length + 1)), 0, [UNKNOWN_FIELD, { deep: [1, "}", null] }]);
  return pairOf(writeObject(Object.fromEntries(entries), hostileSpelling(seed)), (written) => {
    const made = changes(written);
    return unknown ? { ...made, leftOut: [...made.leftOut, UNKNOWN_FIELD] } : made;
  });
}

function pairOf(written: WrittenObject, changes: (written: WrittenObject) => Changes): RequestPair {
  const { leftOut, putIn = [], told = [], ...rewrites } = changes(written);
  const sent = textOf(written);
  const wanted = rewrittenText(withoutMembers(written, leftOut), rewrites);
  // Which of the white space around a member goes with it is not said, so it is left out of the comparison.
  const compared = leftOut.length === 0 ? (text: string) => text : squeezed;
  return {
    sent,
    wanted,
    told: [...leftOut, ...putIn.map(({ name }) => name), ...told],
    accepts(received) {
      if (putIn.length > 0 && !putIn.every(({ isIn }) => isIn(JSON.parse(received)))) return false;
      return (
        putIn.reduce((text, item) => takenOut(text, item, compared(wanted)), compared(received)) ===
        compared(wanted)
      );
    },
  };
}

/** `received` without the text, which is where it first differs from `wanted`. */
function takenOut(received: string, { text, instead }: PutIn, wanted: string): string {
  let at = 0;
  while (at < received.length && received[at] === wanted[at]) at += 1;
  if (!received.startsWith(text, at)) return received;
  return `${received.slice(0, at)}${instead}${received.slice(at + text.length)}`;
}
