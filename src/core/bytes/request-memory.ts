/**
 * Memory that requests and their answers take, over all of them, in bytes. Nobody waits for it: who does not fit is told
 * so at once.
 */
export interface RequestMemory {
  /** A share with nothing in it, for one request of `owner`. */
  open(owner: string): MemoryShare;
  /** How much all shares hold. */
  taken(): number;
  /** How many owners hold anything: no more than these are remembered. */
  owners(): number;
}

/** What JSON takes of memory while it is read, checked and written anew, for each of its bytes. */
export const JSON_FACTOR = 8;

/** What one request holds. */
export interface MemoryShare {
  /** Whether `take` of so much would find room now. */
  hasRoomFor(bytes: number): boolean;
  /** Holds so much more, if there is room for it. */
  take(bytes: number): boolean;
  /**
   * Holds just so much from now on, whether there is room or not: what was paid for is not refused. With 0 the share is
   * at its end.
   */
  hold(bytes: number): void;
}

/**
 * A budget of `limit` bytes, which may change. A request takes more only while the others of its owner hold no more than
 * would then still be free. So one owner alone gets about half of the budget, several get less each, and somebody who
 * holds nothing finds room whatever another does.
 */
export function createRequestMemory(limit: () => number): RequestMemory {
  let taken = 0;
  const byOwner = new Map<string, number>();

  const add = (owner: string, bytes: number): void => {
    taken += bytes;
    const held = (byOwner.get(owner) ?? 0) + bytes;
    if (held === 0) byOwner.delete(owner);
    else byOwner.set(owner, held);
  };

  return {
    taken: () => taken,
    owners: () => byOwner.size,
    open(owner) {
      let held = 0;
      const hasRoomFor = (bytes: number): boolean => {
        const free = limit() - taken - bytes;
        // What is larger than all of it comes when nobody else holds anything.
        return free >= (byOwner.get(owner) ?? 0) - held || taken <= held;
      };
      return {
        hasRoomFor,
        take(bytes) {
          if (!hasRoomFor(bytes)) return false;
          held += bytes;
          add(owner, bytes);
          return true;
        },
        hold(bytes) {
          add(owner, bytes - held);
          held = bytes;
        },
      };
    },
  };
}
