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
  return new SharedMemory(limit);
}

class SharedMemory implements RequestMemory {
  readonly #limit: () => number;
  readonly #byOwner = new Map<string, Owner>();
  #taken = 0;
  #requests = 0;

  constructor(limit: () => number) {
    this.#limit = limit;
  }

  open(owner: string): MemoryShare {
    return new Share(this, owner);
  }

  taken(): number {
    return this.#taken;
  }

  requests(): number {
    return this.#requests;
  }

  owners(): number {
    return this.#byOwner.size;
  }

  free(): number {
    return this.#limit() - this.#taken;
  }

  /** Whether an owner, one of whose shares holds `held`, may hold as many more bytes. */
  hasRoomFor(bytes: number, owner: Owner | undefined, held: number): boolean {
    // A request larger than the whole budget fits while no other holds anything.
    return this.free() - bytes >= (owner?.held ?? 0) - held || this.#taken <= held;
  }

  ownerOf(name: string): Owner | undefined {
    return this.#byOwner.get(name);
  }

  /** The owner's entry, which is in the map for as long as any of its shares holds something. */
  enter(name: string): Owner {
    this.#requests += 1;
    let owner = this.#byOwner.get(name);
    if (owner === undefined) this.#byOwner.set(name, (owner = { held: 0 }));
    return owner;
  }

  leave(name: string, owner: Owner): void {
    this.#requests -= 1;
    if (owner.held === 0) this.#byOwner.delete(name);
  }

  add(owner: Owner, more: number): void {
    this.#taken += more;
    owner.held += more;
  }
}

/** A class, since one is made for each request: its functions are not. */
class Share implements MemoryShare {
  readonly #memory: SharedMemory;
  readonly #name: string;
  #held = 0;
  /** How much of it. */
  #inParts = 0;
  /** Set while the share holds something. */
  #owner: Owner | undefined;

  constructor(memory: SharedMemory, name: string) {
    this.#memory = memory;
    this.#name = name;
  }

  hasRoomFor(bytes: number): boolean {
    return this.#memory.hasRoomFor(bytes, this.#owner ?? this.#memory.ownerOf(this.#name), this.#held);
  }

  free(): number {
    return this.#memory.free();
  }

  take(bytes: number): boolean {
    if (!this.hasRoomFor(bytes)) return false;
    this.#holdAll(this.#held + bytes);
    return true;
  }

  hold(bytes: number): void {
    this.#holdAll(bytes + this.#inParts);
  }

  openPart(): MemoryPart {
    let own = 0;
    const hold = (bytes: number): void => {
      const more = bytes - own;
      own = bytes;
      this.#inParts += more;
      this.#holdAll(this.#held + more);
    };
    return {
      hold,
      take: (bytes) => {
        if (!this.hasRoomFor(bytes)) return false;
        hold(own + bytes);
        return true;
      },
    };
  }

  #holdAll(bytes: number): void {
    if (bytes === this.#held) return;
    const owner = (this.#owner ??= this.#memory.enter(this.#name));
    this.#memory.add(owner, bytes - this.#held);
    this.#held = bytes;
    if (bytes > 0) return;
    this.#memory.leave(this.#name, owner);
    this.#owner = undefined;
  }
}

/** One that holds something. */
interface Owner {
  held: number;
}
