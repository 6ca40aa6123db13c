import type { Clock } from "./clock.ts";

/** Does `work` until it succeeds, with a pause after each failure. Rejects with the signal's reason. */
export async function insist<Done>(
  work: () => Promise<Done>,
  { clock, pauseMs, signal }: InsistTerms,
): Promise<Done> {
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await work();
    } catch {
      await new Promise<void>((resolve) => clock.setTimer(pauseMs, resolve));
    }
  }
}

interface InsistTerms {
  readonly clock: Clock;
  readonly pauseMs: number;
  readonly signal?: AbortSignal;
}
