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
  /** The fields that the client must be told were left out. */
  readonly leftOut: readonly string[];
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
  const { leftOut, ...rewrites } = changes(written);
  const sent = textOf(written);
  if (leftOut.length === 0) {
    const wanted = rewrittenText(written, rewrites);
    return { sent, wanted, leftOut, accepts: (received) => received === wanted };
  }
  // Which of the white space around a member goes with it is not said, so it is left out of the comparison.
  const wanted = squeezed(rewrittenText(withoutMembers(written, leftOut), rewrites));
  return { sent, wanted, leftOut, accepts: (received) => squeezed(received) === wanted };
}
