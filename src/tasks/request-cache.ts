import type { ByteBudget } from "../core/bytes/byte-budget.ts";
import type { Clock, Timer } from "../core/time/clock.ts";

/**
 * Requests of tasks that this process has submitted and no run has taken yet: such a run need not read and open the
 * sealed copy. The store has every request as well.
 */
export interface RequestCache {
  /** Keeps a task's request until it is taken or dropped, where there is room for `bytes`, and for `keptMs` at most. */
  keep(task: string, payload: unknown, { bytes, keptMs }: { bytes: number; keptMs: number }): void;
  /** Takes it out; `undefined` where it is not here. */
  take(task: string): { readonly payload: unknown } | undefined;
}

/** A cache that gives its room in the budget up to any work that needs it. */
export function createRequestCache(memory: Pick<ByteBudget, "lend">, clock: Clock): RequestCache {
  const kept = new Map<string, { payload: unknown; timer: Timer; endLoan(): void }>();

  const take: RequestCache["take"] = (task) => {
    const found = kept.get(task);
    kept.delete(task);
    found?.timer.cancel();
    found?.endLoan();
    return found;
  };
  const drop = (task: string) => (): void => void take(task);

  return {
    take,
    keep(task, payload, { bytes, keptMs }) {
      const endLoan = memory.lend(bytes, drop(task));
      if (endLoan !== undefined)
        kept.set(task, { payload, endLoan, timer: clock.setTimer(keptMs, drop(task)) });
    },
  };
}
