import { describeError, type Log } from "../core/log/log.ts";
import type { Clock } from "../core/time/clock.ts";
import { createInterval } from "../core/time/interval.ts";
import type { GatheredRefusals } from "../ledger/refusals.ts";
import type { RefusalCount, RefusalRow } from "../ledger/rows.ts";
import { HOUR_MS, startOf } from "../ledger/usage/views.ts";

/** Requests that were refused before a hold. They are gathered here and written together, never in a request's way. */
export interface Refusals {
  /** Notes a refused request, unless its status or path is of no interest. */
  note(refused: RefusedRequest): void;
  /** Writes what has gathered; resolves when it can be read. */
  flush(): Promise<void>;
  start(): void;
  /** Writes the rest. */
  close(): Promise<void>;
}

/** A request that was refused, as its record has it. */
export interface RefusedRequest extends Pick<RefusalRow, "id" | "status" | "code" | "path"> {
  /** The path of its route. */
  readonly endpoint: string | undefined;
  readonly field: string | undefined;
  readonly model: string | undefined;
  readonly key: string | undefined;
  readonly account: string | undefined;
}

/** What they are made of. */
export interface RefusalParts {
  /** Paths of routes that clients call. */
  readonly endpoints: ReadonlySet<string>;
  readonly write: (gathered: GatheredRefusals) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Statuses of refusals that are kept. */
export const REFUSED_STATUSES: ReadonlySet<number> = new Set([400, 401, 402, 429]);

/** How often they are written: a process that is killed takes with it what has gathered since. */
const EVERY_MS = 5_000;

/** Of more than are kept the oldest are only counted. */
const MAX_GATHERED = 10_000;

/** Written at a time: less than a millisecond of the main thread. */
const MAX_WRITTEN = 500;

/** Refusals of this process. */
export function createRefusals({ endpoints, write, clock, log }: RefusalParts): Refusals {
  let rows: RefusalRow[] = [];
  let counts = new Map<string, RefusalCount>();
  let writing: Promise<void> | undefined;

  const count = (counted: RefusalCount): void => {
    const { timeMs, status, code, model, key } = counted;
    const name = `${timeMs} ${status} ${code} ${model} ${key}`;
    const before = counts.get(name)?.refusals ?? 0;
    counts.set(name, { ...counted, refusals: before + counted.refusals });
  };

  /** What could not be written is written with what comes next. */
  const writeAll = async (): Promise<void> => {
    while (rows.length > 0 || counts.size > 0) {
      const gathered = { rows: rows.slice(0, MAX_WRITTEN), counts: [...counts.values()] };
      rows = rows.slice(MAX_WRITTEN);
      counts = new Map();
      try {
        await write(gathered);
      } catch (error) {
        rows = [...gathered.rows, ...rows].slice(-MAX_GATHERED);
        for (const each of gathered.counts) count(each);
        throw error;
      }
    }
  };

  const flush = (): Promise<void> => (writing ??= writeAll().finally(() => (writing = undefined)));
  const tryToFlush = (): Promise<void> =>
    flush().catch((error: unknown) =>
      log.error("refused requests could not be written", { error: describeError(error) }),
    );
  const interval = createInterval(clock, EVERY_MS, tryToFlush);

  return {
    note({ endpoint, id, status, code, field, model, key, account, path }) {
      if (!REFUSED_STATUSES.has(status) || !endpoints.has(endpoint ?? "")) return;
      const atMs = clock.nowMs();
      const names = {
        field: field ?? null,
        model: model ?? null,
        key: key ?? null,
        account: account ?? null,
      };
      rows.push({ id, atMs, status, code, path, ...names });
      if (rows.length >= 2 * MAX_GATHERED) rows = rows.slice(-MAX_GATHERED);
      const timeMs = startOf(HOUR_MS, atMs);
      count({ timeMs, status, code, model: model ?? "", key: key ?? "", refusals: 1 });
    },
    async flush() {
      // One that is under way may have begun before the last came.
      await writing?.catch(() => undefined);
      await flush();
    },
    start: () => interval.start(),
    async close() {
      await interval.close();
      await tryToFlush();
    },
  };
}
