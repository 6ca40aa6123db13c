import type { Clock, Timer } from "../core/time/clock.ts";
import type { Database } from "../db/schema.ts";

/** Who waits for tasks to end, and is told. */
export interface Endings {
  /** Resolves once the task has ended, whichever process ended it. Rejects with the signal's reason when that comes first. */
  wait(id: string, signal: AbortSignal): Promise<void>;
  /** To be called by whoever ends a task in this process, after the store has taken it. */
  ended(id: string): void;
}

/** What endings are made of. */
export interface EndingsParts {
  readonly database: Database;
  readonly clock: Clock;
  /** How often the store is asked after tasks that are waited for. */
  readonly pollMs: number;
}

/** Tasks that the store is asked after in one statement. */
const MAX_IDS = 500;

/** What ends here is told at once; the store is asked after the rest while anybody waits, in one read for all. */
export function createEndings({ database, clock, pollMs }: EndingsParts): Endings {
  const waiting = new Map<string, Set<() => void>>();
  let timer: Timer | undefined;

  const ended = (id: string): void => {
    const told = waiting.get(id);
    waiting.delete(id);
    for (const tell of told ?? []) tell();
  };

  const ask = async (ids: readonly string[]): Promise<void> => {
    const rows = await database
      .selectFrom("tasks")
      .select("id")
      .where("id", "in", ids)
      .where("ended_at_ms", "is not", null)
      .execute();
    for (const { id } of rows) ended(id);
  };

  const poll = async (): Promise<void> => {
    const ids = [...waiting.keys()];
    try {
      for (let at = 0; at < ids.length; at += MAX_IDS) await ask(ids.slice(at, at + MAX_IDS));
    } catch {
      // The store is away: it is asked again, and who waits has a signal that ends the waiting.
    }
    timer = undefined;
    next();
  };

  const next = (): void => {
    if (timer === undefined && waiting.size > 0) timer = clock.setTimer(pollMs, () => void poll());
  };

  return {
    ended,
    wait: (id, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const told = waiting.get(id) ?? new Set();
        waiting.set(id, told);
        const leave = (): void => {
          told.delete(tell);
          if (told.size === 0 && waiting.get(id) === told) waiting.delete(id);
          reject(signal.reason);
        };
        const tell = (): void => {
          signal.removeEventListener("abort", leave);
          resolve();
        };
        told.add(tell);
        signal.addEventListener("abort", leave, { once: true });
        // It may have ended before anybody waited.
        ask([id]).catch(() => undefined);
        next();
      }),
  };
}
