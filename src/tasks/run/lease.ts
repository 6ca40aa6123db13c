import type { Clock, Timer } from "../../core/time/clock.ts";

/** A lease of a task, by this process's own clock. */
export interface Lease {
  /**
   * Calls `ask`, which has the store grant `leaseMs` from now. They count from before the call, so that the lease ends
   * here no later than in the store. An answer that is not ok grants none, and neither does a rejection.
   */
  extend<A extends { readonly ok: boolean }>(leaseMs: number, ask: () => Promise<A>): Promise<A>;
  /** The lease is not needed any more. */
  end(): void;
}

/** A lease that calls `onOver` when it has run out. Timers do not jump when the machine's clock is set. */
export function createLease(clock: Clock, onOver: () => void): Lease {
  let over: Timer | undefined;
  let ended = false;
  return {
    async extend(leaseMs, ask) {
      const asked = clock.setTimer(leaseMs, onOver);
      let answer;
      try {
        answer = await ask();
        return answer;
      } finally {
        const before = over;
        if (answer?.ok === true && !ended) over = asked;
        (over === asked ? before : asked)?.cancel();
      }
    },
    end() {
      ended = true;
      over?.cancel();
    },
  };
}
