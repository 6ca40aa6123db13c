import { type RawBuilder, sql } from "kysely";
import type { Clock } from "../core/time/clock.ts";
import { createInterval } from "../core/time/interval.ts";
import { describeError, type Log } from "../core/log/log.ts";
import type { Engine } from "../db/engine.ts";
import type { Database } from "../db/schema.ts";
import type { Abandonment, Void } from "./commands.ts";
import { storeTime } from "./records.ts";
import type { FailTask } from "./task-commands.ts";
import { FAILING_COLUMNS, failTask } from "./reads/task-failing.ts";
import type { OpenHolds } from "./open-holds.ts";
import { CommandRefused, type Writer } from "./writer.ts";

/** Renews this process's lease, and ends what dead processes left: their holds, and tasks that their requests waited for. */
export interface Sweeper {
  /** Takes the lease and goes on renewing it and sweeping; an embedded store is swept at once. */
  start(): Promise<void>;
  /** Ends everything that can be ended now; resolves with the number of holds, those of tasks included. */
  sweep(): Promise<number>;
  /**
   * Since when, by the steady clock, this process has renewed its lease without a break; `undefined` while the store
   * does not take it.
   */
  heardSinceMs(): number | undefined;
  /** Whether no other live process shares the store. */
  isAlone(): Promise<boolean>;
  /** Stops, and gives the lease back. */
  close(): Promise<void>;
}

/** What a sweeper is made of. */
export interface SweeperParts {
  readonly database: Database;
  readonly engine: Engine;
  readonly writer: Writer;
  /** Where holds are kept in this process's memory. */
  readonly openHolds?: Pick<OpenHolds, "abandoned" | "release"> | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly bootId: string;
  /** How long a lease lasts: a process that has not renewed it is dead. */
  readonly leaseMs: number;
}

/** Holds that are ended at a time, the first to expire first. */
const MAX_HOLDS = 1_000;

/**
 * A sweeper over the store. In an embedded store every earlier run of the process is dead. In a shared store a process
 * is dead when its lease has run out by the store's clock.
 */
export function createSweeper(parts: SweeperParts): Sweeper {
  const { writer, clock, log, bootId, leaseMs } = parts;
  /** Other processes were able to renew their leases since then as well. */
  let heardSinceMs: number | undefined;

  const heartbeat = async (): Promise<void> => {
    try {
      await writer.submit({ kind: "heartbeat", boot: bootId, leaseMs, steadyMs: clock.steadyMs() });
      heardSinceMs ??= clock.steadyMs();
    } catch (error) {
      heardSinceMs = undefined;
      throw error;
    }
  };

  const sweep = async (): Promise<number> => {
    const ended =
      // Their clients are gone with the process that had their requests.
      (await sweepAll(() => findAbandoned(parts))) +
      (await sweepAll(() => findUnawaited(parts))) +
      ((await parts.openHolds?.release?.()) ?? 0);
    await forgetDead(parts);
    if (ended > 0) log.warn("abandoned holds were released", { holds: ended });
    return ended;
  };

  /** A hold that the store refuses to end does not keep the sweeper from the others. */
  const end = async (command: Void | FailTask): Promise<boolean> => {
    try {
      return (await writer.submit(command)).ok;
    } catch (error) {
      if (!(error instanceof CommandRefused)) throw error;
      log.error("an abandoned hold or task could not be ended", { error: describeError(error) });
      return false;
    }
  };

  /**
   * Ends everything that `find` finds, until nothing is left that can be ended now. A task that was claimed meanwhile
   * is for the next sweep.
   */
  const sweepAll = async (find: () => Promise<readonly (Void | FailTask)[]>): Promise<number> => {
    for (let all = 0; ;) {
      const found = await find();
      const ended = (await Promise.all(found.map(end))).filter(Boolean).length;
      all += ended;
      if (found.length < MAX_HOLDS || ended === 0) return all;
    }
  };

  const round = async (): Promise<void> => {
    try {
      await heartbeat();
      // After an outage of the store every process gets a whole lease to renew its own before the sweeper ends its
      // holds.
      if (heardSinceMs !== undefined && clock.steadyMs() - heardSinceMs >= leaseMs) await sweep();
    } catch (error) {
      log.error("the store could not be swept", { error: describeError(error) });
    }
  };
  const interval = createInterval(clock, leaseMs / 3, round);

  return {
    sweep,
    heardSinceMs: () => heardSinceMs,
    isAlone: () => isAlone(parts),
    async start() {
      await heartbeat();
      // Other processes of a shared store first get a lease's time to renew theirs: the store may have been away for
      // all.
      if (parts.engine === "sqlite") await sweep();
      interval.start();
    },
    async close() {
      // Without waiting for a sweep under way, which may have much to end.
      void interval.close();
      await writer.submit({ kind: "leave", boot: bootId }).catch(() => undefined);
    },
  };
}

async function findAbandoned(parts: SweeperParts): Promise<readonly Void[]> {
  const { database, engine, openHolds, clock, bootId } = parts;
  const nowMs = clock.nowMs();
  const inMemory = openHolds?.abandoned({ bootId, nowMs, steadyMs: clock.steadyMs() }) ?? [];
  const now = storeTime(engine, clock.steadyMs());
  const rows = await database
    .selectFrom("holds")
    .select(["id as hold", "account_id as account", "key_id as key"])
    .select((hold) => hold("expires_at_ms", "<", now).as("expired"))
    .where("state", "=", "held")
    // Those of tasks end with their task, which outlives its process.
    .where("task_id", "is", null)
    .where((hold) =>
      hold.or([hold("expires_at_ms", "<", now), isDead({ engine, bootId, now }, "holds.boot_id")]),
    )
    .orderBy("expires_at_ms")
    .limit(MAX_HOLDS)
    .execute();
  const inTables = rows.map(({ hold, account, key, expired }): Void => {
    // SQLite has numbers for booleans.
    const outcome: Abandonment = Number(expired) === 1 ? "expired" : "process_died";
    return { kind: "void", hold, account, key, outcome, nowMs };
  });
  return [...inMemory.slice(0, MAX_HOLDS), ...inTables];
}

/** Whether the process that a column names is dead: this one is not, even where the store let its lease run out. */
function isDead(
  {
    engine,
    bootId,
    now,
  }: { readonly engine: Engine; readonly bootId: string; readonly now: RawBuilder<bigint> },
  column: "holds.boot_id" | "tasks.awaited_by",
): RawBuilder<boolean> {
  const named = sql.ref(column);
  return engine === "sqlite"
    ? sql<boolean>`${named} <> ${bootId}`
    : sql<boolean>`${named} <> ${bootId} and not exists (select 1 from processes where boot_id = ${named} and lease_until_ms > ${now})`;
}

const UNAWAITED =
  "The gateway process that was asked for it has died, and its client was told nothing of it.";

async function findUnawaited({
  database,
  engine,
  clock,
  bootId,
}: SweeperParts): Promise<readonly FailTask[]> {
  const nowMs = clock.nowMs();
  const rows = await database
    .selectFrom("tasks")
    .select(FAILING_COLUMNS)
    .where("awaited_by", "is not", null)
    .where("ended_at_ms", "is", null)
    .where(isDead({ engine, bootId, now: storeTime(engine, clock.steadyMs()) }, "tasks.awaited_by"))
    .orderBy("awaited_by")
    .orderBy("seq")
    .limit(MAX_HOLDS)
    .execute();
  return rows.map((row) => failTask(row, { type: "generation_error", message: UNAWAITED, nowMs }));
}

/** Deletes the rows of dead processes whose holds have all ended. */
async function forgetDead({ database, engine, writer, clock, bootId }: SweeperParts): Promise<void> {
  const isShared = engine === "postgres";
  let dead = database.selectFrom("processes").select("boot_id").where("boot_id", "<>", bootId);
  if (isShared) dead = dead.where("lease_until_ms", "<=", storeTime(engine, clock.steadyMs()));
  for (const { boot_id: boot } of await dead.orderBy("lease_until_ms").limit(MAX_HOLDS).execute())
    await writer.submit({ kind: "leave", boot, ...(isShared ? { deadAtMs: clock.steadyMs() } : {}) });
}

async function isAlone({ database, engine, clock, bootId }: SweeperParts): Promise<boolean> {
  if (engine === "sqlite") return true;
  const other = await database
    .selectFrom("processes")
    .select("boot_id")
    .where("boot_id", "<>", bootId)
    .where("lease_until_ms", ">", storeTime(engine, clock.steadyMs()))
    .executeTakeFirst();
  return other === undefined;
}
