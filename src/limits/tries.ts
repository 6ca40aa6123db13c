import type { Clock } from "../core/time/clock.ts";

/** Wrong tries of an address within the window before it is told to wait, */
const MOST = 20;

/** the window, */
const WINDOW_MS = 10 * 60 * 1000;

/** and addresses that are remembered: beyond it the one that tried longest ago is forgotten. */
const MAX_ADDRESSES = 10_000;

/** Wrong tries of client addresses. */
export interface Tries {
  /** Counts a wrong try; seconds to wait, where the address has used up its tries: it is then not counted. */
  wrong(address: string): number | undefined;
}

/** Counts 20 wrong tries of each address in any ten minutes. */
export function createTries(clock: Pick<Clock, "steadyMs">): Tries {
  const tries = new Map<string, readonly number[]>();
  return {
    wrong(address) {
      const nowMs = clock.steadyMs();
      const recent = (tries.get(address) ?? []).filter((atMs) => atMs > nowMs - WINDOW_MS);
      tries.delete(address);
      const [first] = recent;
      const isOver = first !== undefined && recent.length >= MOST;
      tries.set(address, isOver ? recent : [...recent, nowMs]);
      const [oldest] = tries.keys();
      if (tries.size > MAX_ADDRESSES && oldest !== undefined) tries.delete(oldest);
      return isOver ? Math.ceil((first + WINDOW_MS - nowMs) / 1000) : undefined;
    },
  };
}
