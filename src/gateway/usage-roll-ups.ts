import { describeError, type Log } from "../core/log/log.ts";
import type { Clock } from "../core/time/clock.ts";
import { createInterval } from "../core/time/interval.ts";

/** Counts requests in the usage that is kept by hours and days, some time after they were written. */
export interface UsageRollUps {
  start(): void;
  /** Resolves when no work of it is under way. */
  close(): Promise<void>;
}

/** What it is made of. */
export interface UsageRollUpParts {
  /** How many requests and entries of the ledger are not counted yet. */
  readonly waiting: () => Promise<number>;
  /** Counts the next of them; resolves with whether there are more. */
  readonly rollUp: () => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Log;
}

/** When the gateway looks again while requests come. */
const BUSY_MS = 1_000;

/**
 * So many rows are counted at once, or what there is when the first has waited for so long. Each read of usage adds up
 * those that wait, one by one; a roll-up writes the same however few they are.
 */
const ENOUGH = 4_000;
const MOST_WAIT_MS = 5_000;

/** When the gateway looks again after a look that found nothing: without requests it looks seldom. */
const IDLE_MS = 5_000;

/**
 * Roll-ups of usage. A gateway with nothing to do writes nothing, and does not start the thread. While they fail they are
 * tried each second; the log has the first failure, and the first success after it.
 */
export function createUsageRollUps({ waiting, rollUp, clock, log }: UsageRollUpParts): UsageRollUps {
  let closed = false;
  const isClosed = (): boolean => closed;
  /** Since when some are known to wait. */
  let waitingSinceMs: number | undefined;
  /** Since when each try has failed. */
  let failingSinceMs: number | undefined;
  const noteSuccess = (): void => {
    if (failingSinceMs === undefined) return;
    log.info("usage is rolled up again", { duration_ms: clock.steadyMs() - failingSinceMs });
    failingSinceMs = undefined;
  };
  const noteFailure = (error: unknown): void => {
    if (failingSinceMs !== undefined) return;
    failingSinceMs = clock.steadyMs();
    log.error("usage could not be rolled up", { error: describeError(error) });
  };
  const interval = createInterval(clock, BUSY_MS, async () => {
    try {
      const count = await waiting();
      const nowMs = clock.steadyMs();
      waitingSinceMs = count === 0 ? undefined : (waitingSinceMs ?? nowMs);
      if (waitingSinceMs !== undefined && (count >= ENOUGH || nowMs - waitingSinceMs >= MOST_WAIT_MS)) {
        while (!isClosed() && (await rollUp()));
        waitingSinceMs = undefined;
      }
      noteSuccess();
      return count === 0 ? IDLE_MS : BUSY_MS;
    } catch (error) {
      noteFailure(error);
      return BUSY_MS;
    }
  });
  return {
    start: () => interval.start(),
    close() {
      closed = true;
      return interval.close();
    },
  };
}
