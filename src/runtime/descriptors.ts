import { closeSync, openSync, readdirSync, readFileSync, statSync } from "node:fs";

/** The descriptors of a process, one entry each. Linux alone has it. */
const OPEN = "/proc/self/fd";

/** How many descriptors this process may have open, after the runtime raised the soft limit; `undefined`: not known. */
export function descriptorLimit(): number | undefined {
  try {
    const [, limit] = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
}

/**
 * Makes the function that tells how many of `limit` descriptors are open. Since Linux 6.2 the folder's size says it, in
 * 2 us. Before, it counts the entries (1 ms for 1,000), which takes a descriptor: without one, all are open.
 */
export function descriptorCount(limit: number): () => number {
  if (statSync(OPEN).size > 0) return () => statSync(OPEN).size;
  return () => {
    try {
      return readdirSync(OPEN).length;
    } catch {
      return limit;
    }
  };
}

/** Descriptors that are kept open without use until they are needed. */
export interface Reserve {
  readonly held: number;
  /** Opens them, as many as there are. */
  hold(): void;
  /** Closes them. */
  release(): void;
}

/** A reserve of `count` descriptors; none is open yet. */
export function createReserve(count: number): Reserve {
  const held: number[] = [];
  return {
    get held() {
      return held.length;
    },
    hold() {
      while (held.length < count) {
        const descriptor = openOne();
        if (descriptor === undefined) return;
        held.push(descriptor);
      }
    },
    release() {
      for (const descriptor of held.splice(0)) closeSync(descriptor);
    },
  };
}

function openOne(): number | undefined {
  try {
    return openSync("/dev/null", "r");
  } catch {
    return undefined;
  }
}

let relieve: () => boolean = () => false;

/**
 * Sets the function that is called when descriptors have run out and tells whether it made room. A process has one, the
 * last that was set.
 */
export function onShortage(run: () => boolean): void {
  relieve = run;
}

/**
 * Makes sure that `count` descriptors are free. Throws where they are not: the runtime ends the process when it finds
 * none for a thread (measured on Bun 1.4.5).
 */
export function ensureDescriptors(count: number): void {
  if (areFree(count) || (relieve() && areFree(count))) return;
  throw new Error("The process has run out of descriptors.");
}

function areFree(count: number): boolean {
  const probe = createReserve(count);
  probe.hold();
  const { held } = probe;
  probe.release();
  return held === count;
}

/** What the HTTP client says when there is no descriptor for a socket or for a DNS lookup. */
const NOT_CONNECTED = new Set(["EMFILE", "ENFILE", "ECONNREFUSED", "ENOTFOUND", "DNS_ECONNREFUSED"]);

/** Opens a connection, and once more out of the reserve where there was no descriptor: then nothing was sent. */
export function withDescriptor<T>(open: () => Promise<T>): Promise<T> {
  return open().catch((error: unknown) => {
    const code = (error as NodeJS.ErrnoException | undefined)?.code;
    if (code === undefined || !NOT_CONNECTED.has(code) || areFree(1) || !relieve()) throw error;
    return open();
  });
}
