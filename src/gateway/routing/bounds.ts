import { createSlidingWindow, type SlidingWindow, type WindowEntry } from "../../limits/window.ts";
import type { Credential } from "../../providers/provider.ts";

/** What the vendor allows a credential. */
export type CallBounds = Pick<Credential, "requestsPerMinute" | "concurrency">;

export const NO_BOUNDS: CallBounds = {};

/** What a credential is used for now. The bounds are given at each use, so that a change holds at once. */
export interface CallUse {
  readonly underWay: number;
  /** How long until another call is within the bounds; 0 is now. */
  waitMs(nowMs: number, bounds: CallBounds): number;
  /** A call begins, where `waitMs` is 0. Gives what it counts as in its minute, where that is bounded. */
  begin(nowMs: number, bounds: CallBounds): WindowEntry | undefined;
  end(): void;
  /** In place of `end`: the call was not made, and is out of its minute. */
  cancel(counted: WindowEntry | undefined): void;
}

/** No time is known at which a call under way ends: ask again after this long. */
const BUSY_MS = 1_000;

/** A credential that is not in use. */
export function createCallUse(): CallUse {
  let underWay = 0;
  /** Of a credential whose calls in a minute are bounded. */
  let minute: SlidingWindow | undefined;
  return {
    get underWay() {
      return underWay;
    },
    waitMs(nowMs, { requestsPerMinute, concurrency }) {
      const busyMs = concurrency === undefined || underWay < concurrency ? 0 : BUSY_MS;
      if (requestsPerMinute === undefined || minute === undefined) return busyMs;
      return Math.max(busyMs, minute.freeAtMs(nowMs, requestsPerMinute - 1) - nowMs);
    },
    begin(nowMs, { requestsPerMinute }) {
      underWay += 1;
      return requestsPerMinute === undefined ? undefined : (minute ??= createSlidingWindow()).add(nowMs, 1);
    },
    end() {
      underWay -= 1;
    },
    cancel(counted) {
      underWay -= 1;
      if (counted !== undefined) minute?.correct(counted, -1);
    },
  };
}
