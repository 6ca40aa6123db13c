import type { Clock, Timer } from "../core/time/clock.ts";
import type { Database } from "../db/schema.ts";

/** Waits for the ends of tasks. */
export interface Endings {
  /** Resolves once the task has ended, in whatever process. Rejects with the signal's reason when that comes first. */
  wait(id: string, signal: AbortSignal): Promise<void>;
  /** Called when this process has ended a task, after the store has taken it. */
  ended(id: string): void;
}

/** What endings are made of. */
export interface EndingsParts {
  readonly database: Database;
  readonly clock: Clock;
  /** How often the store is polled while anybody waits. */
  readonly pollMs: number;
}

/** Tasks of one statement of the poll. */
const MAX_IDS = 500;

/** Tasks that end in this process resolve at once; the rest are polled in the store, in one read for all. */
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
      // The store is away: it is polled again, and each wait ends with its signal.
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
        // It may have ended before the wait began.
        ask([id]).catch(() => undefined);
        next();
      }),
  };
}
