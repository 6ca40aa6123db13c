/**
 * Memory that requests and their answers take together, in bytes. A request that does not fit is refused at once; none
 * waits.
 */
export interface RequestMemory {
  /** An empty share for one request of `owner`. */
  open(owner: string): MemoryShare;
  /** How much all shares hold. */
  taken(): number;
  /** Shares that hold anything. */
  requests(): number;
  /** Owners that hold anything; no other is remembered. */
  owners(): number;
}

/** Bytes of memory for each byte of JSON while it is read, checked and written anew. */
export const JSON_FACTOR = 8;

/** What one request holds. */
export interface MemoryShare {
  /** Whether `take` of as many bytes would find room now. */
  hasRoomFor(bytes: number): boolean;
  /** What no share holds. */
  free(): number;
  /** Holds as many more bytes, if there is room for them. */
  take(bytes: number): boolean;
  /**
   * Holds exactly as many bytes from now on, with or without room: what was paid for is not refused. Calling it with 0
   * ends the share, but for its parts.
   */
  hold(bytes: number): void;
  /** An empty part of the share, which is held and let go beside the rest. */
  openPart(): MemoryPart;
}

export type MemoryPart = Pick<MemoryShare, "take" | "hold">;

/**
 * A budget of `limit` bytes, which may change. A request takes more only while the other requests of its owner hold no
 * more than would then still be free. So one owner alone gets about half of the budget, several get less each, and an
 * owner that holds nothing finds room.
 */
export function createRequestMemory(limit: () => number): RequestMemory {
  let taken = 0;
  let requests = 0;
  const byOwner = new Map<string, Owner>();

  /** The owner's entry, which is in the map for as long as any of its shares holds something. */
  const enter = (name: string): Owner => {
    let owner = byOwner.get(name);
    if (owner === undefined) byOwner.set(name, (owner = { held: 0 }));
    return owner;
  };

  return {
    taken: () => taken,
    requests: () => requests,
    owners: () => byOwner.size,
    open(name) {
      let held = 0;
      /** How much of it. */
      let inParts = 0;
      /** Set while the share holds something. */
      let owner: Owner | undefined;
      const hasRoomFor = (bytes: number): boolean => {
        const free = limit() - taken - bytes;
        const byOthers = (owner ?? byOwner.get(name))?.held ?? 0;
        // A request larger than the whole budget fits while no other holds anything.
        return free >= byOthers - held || taken <= held;
      };
      const holdAll = (bytes: number): void => {
        if (bytes === held) return;
        if (held === 0) requests += 1;
        owner ??= enter(name);
        taken += bytes - held;
        owner.held += bytes - held;
        held = bytes;
        if (held > 0) return;
        requests -= 1;
        if (owner.held === 0) byOwner.delete(name);
        owner = undefined;
      };
      return {
        hasRoomFor,
        free: () => limit() - taken,
        take(bytes) {
          if (!hasRoomFor(bytes)) return false;
          holdAll(held + bytes);
          return true;
        },
        hold: (bytes) => holdAll(bytes + inParts),
        openPart() {
          let own = 0;
          const hold = (bytes: number): void => {
            const more = bytes - own;
            own = bytes;
            inParts += more;
            holdAll(held + more);
          };
          return {
            hold,
            take(bytes) {
              if (!hasRoomFor(bytes)) return false;
              hold(own + bytes);
              return true;
            },
          };
        },
      };
    },
  };
}

/** One that holds something. */
interface Owner {
  held: number;
}
