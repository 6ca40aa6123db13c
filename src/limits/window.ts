/** Amounts used in the last minute, each at its moment. The caller gives the times, which never go back. */
export interface SlidingWindow {
  /** Counts `amount` at `nowMs` and returns its entry. */
  add(nowMs: number, amount: number): WindowEntry;
  /** Counts `amount` more, or less, at the moment of `entry`; an entry that has left the window stays out. */
  correct(entry: WindowEntry, amount: number): void;
  /** The amount used in the 60 s before `nowMs`, that moment included. */
  used(nowMs: number): number;
  /** The first moment, not before `nowMs`, at which no more than `most` is in use if nothing is added. */
  freeAtMs(nowMs: number, most: number): number;
  /** The moment at which the window is empty. */
  emptyAtMs(nowMs: number): number;
  /** How many moments it remembers. */
  readonly size: number;
}

/** The amount used at one moment. */
export interface WindowEntry {
  readonly atMs: number;
  amount: number;
}

/** Length of a window in milliseconds. */
export const WINDOW_MS = 60_000;

/** Entries that have left are dropped once there are this many of them. */
const MANY = 512;

/**
 * An empty window. It is exact: no 60 s hold more than was counted in them. Use within one millisecond is one entry, so
 * there are never more than 60,000 entries.
 */
export function createSlidingWindow(): SlidingWindow {
  let entries: WindowEntry[] = [];
  /** Entries before this one have left. */
  let first = 0;
  let total = 0;

  const leave = (nowMs: number): void => {
    for (let entry = entries[first]; entry !== undefined; entry = entries[first]) {
      if (nowMs - entry.atMs < WINDOW_MS) break;
      total -= entry.amount;
      first += 1;
    }
    if (first < MANY || first * 2 < entries.length) return;
    entries = entries.slice(first);
    first = 0;
  };

  return {
    add(nowMs, amount) {
      leave(nowMs);
      total += amount;
      const last = entries.at(-1);
      if (last?.atMs === nowMs) {
        last.amount += amount;
        return last;
      }
      const entry = { atMs: nowMs, amount };
      entries.push(entry);
      return entry;
    },
    get size() {
      return entries.length;
    },
    correct(entry, amount) {
      entry.amount += amount;
      const oldest = entries[first];
      if (oldest !== undefined && entry.atMs >= oldest.atMs) total += amount;
    },
    used(nowMs) {
      leave(nowMs);
      return total;
    },
    freeAtMs(nowMs, most) {
      leave(nowMs);
      let left = total;
      let atMs = nowMs;
      for (let i = first; left > most; i += 1) {
        const entry = entries[i];
        if (entry === undefined) break;
        left -= entry.amount;
        atMs = entry.atMs + WINDOW_MS;
      }
      return atMs;
    },
    emptyAtMs(nowMs) {
      const last = entries.findLast(({ amount }) => amount > 0);
      return last === undefined ? nowMs : Math.max(nowMs, last.atMs + WINDOW_MS);
    },
  };
}
