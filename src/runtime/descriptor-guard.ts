import type { Clock } from "../core/time/clock.ts";
import type { Log } from "../core/log/log.ts";
import { createReserve, descriptorCount, descriptorLimit, onShortage, type Reserve } from "./descriptors.ts";
import type { Listener } from "./serve.ts";

/** Keeps a process from running out of descriptors by its clients. */
export interface DescriptorGuard {
  /** Whether there is room for a request, which is then counted. */
  hasRoom(): boolean;
}

/** What a guard is made of. */
export interface GuardParts {
  /** Descriptors that the process may have open. */
  readonly limit: number;
  /** How many it has open, those of the reserve included. */
  readonly count: () => number;
  /** What the store, upstream calls and files have when clients have taken all else. */
  readonly reserve: Reserve;
  readonly listener: Pick<Listener, "closeIdle" | "pause" | "resume">;
  readonly clock: Clock;
  readonly log: Log;
}

/** How often it is looked, and no more often than this for each 1,000 descriptors when requests come. */
const LOOK_MS = 100;
const MS_PER_THOUSAND = 1;

/** A closed listener stays closed for so long at least. */
const PAUSE_MS = 1_000;

/** What a request takes: its connection, and one for its call upstream. */
const OF_A_REQUEST = 2;

/** With fewer free than this beside the reserve nothing new is let in. */
const LAST = 8;

/** With fewer descriptors the gateway does not start: it has 50 open by itself. */
const LEAST_LIMIT = 128;

/** With fewer it warns: each request takes two. */
const USUAL_LIMIT = 1_024;

/** The share of `limit` that clients may not have; half of it is held open from the start. */
export function reserveOf(limit: number): number {
  return Math.min(512, Math.max(32, Math.floor(limit / 4)));
}

/**
 * The guard of this process. Throws one sentence where it may have too few descriptors to work with; where the system does
 * not say how many there are, nothing is refused.
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
 * Three steps, as descriptors run short. Where clients have all but `reserveOf(limit)`: connections without a request are
 * closed, and requests refused. Where they have the unheld half of that too: the listener is closed, because the runtime
 * accepts for as long as there are connections, and beyond the last descriptor it tries without a pause (measured on Bun
 * 1.4.5); the held half is let go, for what is under way. Once clients have left, the listener is opened again.
 */
export function guardDescriptors(parts: GuardParts): DescriptorGuard {
  const { limit, count, reserve, listener, clock, log } = parts;
  const most = limit - reserveOf(limit);
  /** How many are open beside the reserve; requests that came since it was looked are counted in. */
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
