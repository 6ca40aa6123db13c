import type { Clock } from "../core/time/clock.ts";
import type { Log } from "../core/log/log.ts";
import { createReserve, descriptorCount, descriptorLimit, onShortage, type Reserve } from "./descriptors.ts";
import type { Listener } from "./serve.ts";

/** Keeps clients from using up the process's descriptors. */
export interface DescriptorGuard {
  /** Whether there is room for a request; counts the request if so. */
  hasRoom(): boolean;
}

/** What a guard is made of. */
export interface GuardParts {
  /** Descriptors that the process may have open. */
  readonly limit: number;
  /** How many it has open, the reserve included. */
  readonly count: () => number;
  /** Descriptors for the store, upstream calls and files when clients have taken all else. */
  readonly reserve: Reserve;
  readonly listener: Pick<Listener, "closeIdle" | "pause" | "resume">;
  readonly clock: Clock;
  readonly log: Log;
}

/** How often it checks; under requests no more often than this for each 1,000 descriptors. */
const LOOK_MS = 100;
const MS_PER_THOUSAND = 1;

/** How long a closed listener stays closed at least. */
const PAUSE_MS = 1_000;

/** Descriptors of a request: its connection, and one for its call upstream. */
const OF_A_REQUEST = 2;

/** With fewer free beside the reserve it lets no new request in. */
const LAST = 8;

/** With fewer descriptors the gateway does not start: it has 50 open by itself. */
const LEAST_LIMIT = 128;

/** With fewer it logs a warning: each request takes two. */
const USUAL_LIMIT = 1_024;

/** The share of `limit` that clients may not have; half of it is held open from the start. */
export function reserveOf(limit: number): number {
  return Math.min(512, Math.max(32, Math.floor(limit / 4)));
}

/**
 * The guard of this process. Throws one sentence where the process may have too few descriptors to work with. Where the
 * system does not tell how many are open, the guard refuses nothing.
 */
export function guardProcess(parts: Pick<GuardParts, "listener" | "clock" | "log">): DescriptorGuard {
  const limit = descriptorLimit();
  if (limit === undefined) return { hasRoom: () => true };
  const advice = "raise the limit of open files (ulimit -n)";
  if (limit < LEAST_LIMIT)
    throw new Error(`The process may have ${limit} files and connections open, and needs more: ${advice}.`);
  if (limit < USUAL_LIMIT)
    parts.log.warn(`few connections can be had at once: ${advice}`, {
      descriptors: limit,
      kept: reserveOf(limit),
    });
  const reserve = createReserve(Math.floor(reserveOf(limit) / 2));
  return guardDescriptors({ ...parts, limit, count: descriptorCount(limit), reserve });
}

/**
 * Three steps, as descriptors run short. When clients have all but `reserveOf(limit)`: it closes connections without a
 * request and refuses requests. When they have the unheld half of that too: it closes the listener and frees the held
 * half for work under way. The runtime accepts as long as there are connections, and beyond the last descriptor it
 * tries without a pause (measured on Bun 1.4.5). Once clients have left: it opens the listener again.
 */
export function guardDescriptors(parts: GuardParts): DescriptorGuard {
  const { limit, count, reserve, listener, clock, log } = parts;
  const most = limit - reserveOf(limit);
  /** Open descriptors beside the reserve; counts in the requests that came since the last check. */
  let used = 0;
  let lookedMs = 0;
  let pausedMs: number | undefined;

  const isRoom = (): boolean => used + OF_A_REQUEST <= most;

  const look = (): void => {
    used = count() - reserve.held;
    lookedMs = clock.steadyMs();
  };

  const pause = (): boolean => {
    if (pausedMs !== undefined) return false;
    pausedMs = clock.steadyMs();
    log.warn("descriptors have run short: no connection is taken until some have ended", {
      descriptors: limit,
      open: used,
    });
    listener.pause();
    reserve.release();
    return true;
  };

  const resume = (): void => {
    reserve.hold();
    if (!listener.resume()) return;
    pausedMs = undefined;
    log.info("connections are taken again", { descriptors: limit, open: used });
  };

  const check = (): void => {
    look();
    if (pausedMs !== undefined) {
      if (isRoom() && clock.steadyMs() - pausedMs >= PAUSE_MS) resume();
      return;
    }
    if (!isRoom() && listener.closeIdle() > 0) look();
    if (used + LAST > limit - reserve.held) pause();
  };

  const next = (): void => {
    clock.setTimer(LOOK_MS + (used / 1_000) * MS_PER_THOUSAND, () => {
      check();
      next();
    });
  };

  reserve.hold();
  onShortage(() => {
    look();
    return pause();
  });
  check();
  next();
  return {
    hasRoom() {
      if (pausedMs !== undefined) return false;
      const agoMs = clock.steadyMs() - lookedMs;
      if (!isRoom() && agoMs >= (used / 1_000) * MS_PER_THOUSAND) check();
      if (!isRoom()) return false;
      used += OF_A_REQUEST;
      return true;
    },
  };
}
