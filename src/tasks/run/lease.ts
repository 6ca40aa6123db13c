import type { Clock, Timer } from "../../core/time/clock.ts";

/** For how long this process surely has a task, by its own reckoning. */
export interface Lease {
  /**
   * Has the store asked for `leaseMs` from now. They count from before it was asked, so that the lease ends here no
   * later than in the store; an answer that is not ok gives none, and neither does a rejection.
   */
  extend<A extends { readonly ok: boolean }>(leaseMs: number, ask: () => Promise<A>): Promise<A>;
  /** There is no need of it any more. */
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
