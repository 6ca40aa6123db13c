import { fraction, type Random } from "../../core/random.ts";

/** Times in which no call is made. Each is twice as long as the one before, until `reset`. Moments are of the steady clock. */
export interface Pause {
  /** How many pauses there were. A call notes it at its start: with another number it began before the last pause. */
  readonly count: number;
  readonly untilMs: number;
  /** Of the last that began, without its jitter; 0 after `reset`. */
  readonly lengthMs: number;
  begin(nowMs: number, lengths: PauseLengths, random: Random): void;
  /** A pause of a length that somebody asked for. It never ends an earlier one sooner. */
  atLeast(nowMs: number, lengthMs: number): void;
  /** The next pause is as long as the first. */
  reset(): void;
}

/** How long pauses are: the first, and the longest. */
export interface PauseLengths {
  readonly firstMs: number;
  readonly mostMs: number;
}

/** So much longer a pause may be, as a part of it: what failed together does not come back together. */
const JITTER = 0.1;

/** No pause yet. */
export function createPause(): Pause {
  let lastMs = 0;
  let count = 0;
  let untilMs = 0;
  return {
    get count() {
      return count;
    },
    get untilMs() {
      return untilMs;
    },
    get lengthMs() {
      return lastMs;
    },
    begin(nowMs, { firstMs, mostMs }, random) {
      count += 1;
      lastMs = Math.min(mostMs, Math.max(firstMs, lastMs * 2));
      untilMs = nowMs + Math.round(lastMs * (1 + JITTER * fraction(random)));
    },
    atLeast(nowMs, lengthMs) {
      count += 1;
      untilMs = Math.max(untilMs, nowMs + lengthMs);
    },
    reset() {
      lastMs = 0;
    },
  };
}
