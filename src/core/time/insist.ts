import { type Clock, wait } from "./clock.ts";

/** How `insist` goes on after a failure. */
export interface InsistTerms {
  readonly clock: Clock;
  readonly pauseMs: number;
  readonly signal?: AbortSignal;
  /** Receives each error before the pause; gives up by throwing. */
  readonly onFailure?: (error: unknown) => void;
}

/** Does `work` until it succeeds, with a pause after each failure. Rejects with the signal's reason. */
export async function insist<Done>(
  work: () => Promise<Done>,
  { clock, pauseMs, signal, onFailure }: InsistTerms,
): Promise<Done> {
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      onFailure?.(error);
    }
    await wait(clock, pauseMs, signal);
  }
}
