import { createKnownValueStore, type KnownValues } from "../../core/json/known-values.ts";

/** What was read of earlier bodies (decision 0023). */
export interface Earlier {
  /**
   * What a key's earlier bodies had, for a body that begins as one of them did; `undefined` where it is not worth a
   * look.
   */
  of(owner: string | undefined, body: Uint8Array): KnownValues | undefined;
}

/** Bytes of text kept in a process or thread, some sixty sessions of agents; with its values it is three times as much. */
const MOST_BYTES = 8 * 1024 * 1024;

/** A smaller body is read in less time than its parts are found. */
const LEAST_BODY_BYTES = 4 * 1024;

/** A step of a session begins as the one before. */
const BEGINNING_BYTES = 512;

/** Beginnings that are remembered. */
const MOST_BEGINNINGS = 1_024;

/** Nothing yet. */
export function createEarlier(): Earlier {
  const store = createKnownValueStore(MOST_BYTES);
  /** The least recently used first. */
  const beginnings = new Set<string>();

  /** Whether a body of this owner began like this before. */
  const hasBegun = (owner: string, body: Uint8Array): boolean => {
    const { buffer, byteOffset } = body;
    const beginning = `${owner} ${Buffer.from(buffer, byteOffset, BEGINNING_BYTES).toString("latin1")}`;
    const isKnown = beginnings.delete(beginning);
    beginnings.add(beginning);
    if (beginnings.size > MOST_BEGINNINGS)
      for (const oldest of beginnings) {
        beginnings.delete(oldest);
        break;
      }
    return isKnown;
  };

  return {
    of(owner, body) {
      if (owner === undefined || body.length < LEAST_BODY_BYTES || !hasBegun(owner, body)) return undefined;
      return store.of(owner);
    },
  };
}
