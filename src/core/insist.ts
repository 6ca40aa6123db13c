import type { Clock } from "./clock.ts";

/** Does `work` until it succeeds, with a pause after each failure. */
export async function insist<Done>(
  work: () => Promise<Done>,
  { clock, pauseMs }: { readonly clock: Clock; readonly pauseMs: number },
): Promise<Done> {
  for (;;) {
    try {
      return await work();
    } catch {
      await new Promise<void>((resolve) => clock.setTimer(pauseMs, resolve));
    }
  }
}
