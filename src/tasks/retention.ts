import type { Assets } from "../assets/assets.ts";
import { describeError } from "../core/log/log.ts";
import { createInterval } from "../core/time/interval.ts";
import type { Database } from "../db/schema.ts";
import type { RunParts } from "./run/run.ts";
import { storedFileNames } from "./stored-task.ts";

/** Deletes files and tasks whose time is over, and files that no task names. */
export interface Retention {
  start(): void;
  /** Resolves when no work of it is under way. */
  close(): Promise<void>;
}

/** What it is made of. */
export interface RetentionParts extends Pick<
  RunParts,
  "database" | "writer" | "clock" | "log" | "failpoint" | "settings"
> {
  readonly assets: Pick<Assets, "remove" | "sweep">;
}

/** How often retention looks for files and tasks whose time is over. */
const EVERY_MS = 60_000;

/** How often it looks for files that no task names. */
const ORPHANS_MS = 60 * 60 * 1000;

/** Soon after the start, so that a process that never lives for long looks too, but not while it starts. */
const FIRST_MS = { kept: 1_000, orphans: 60_000 } as const;

/** Tasks whose files are deleted at a time. */
const MAX_TASKS = 100;

/** Parts in which tasks are deleted before the next pause. */
const MAX_PARTS = 20;

/** Retention by the settings that are in force. */
export function createRetention(parts: RetentionParts): Retention {
  const { clock, log, assets } = parts;
  let closed = false;
  const isClosed = (): boolean => closed;

  const guarded = (what: string, work: () => Promise<void>) => (): Promise<void> =>
    work().catch((error: unknown) => log.error(what, { error: describeError(error) }));

  const kept = createInterval(
    clock,
    EVERY_MS,
    guarded("files and tasks whose time is over could not be deleted", async () => {
      await forgetFiles(parts, isClosed);
      await forgetTasks(parts, isClosed);
    }),
  );
  const orphans = createInterval(
    clock,
    ORPHANS_MS,
    guarded("files that no task names could not be looked for", async () => {
      await assets.sweep((taskId, name) => isNamed(parts.database, taskId, name));
    }),
  );

  return {
    start() {
      kept.start(FIRST_MS.kept);
      orphans.start(FIRST_MS.orphans);
    },
    async close() {
      closed = true;
      await Promise.all([kept.close(), orphans.close()]);
    },
  };
}

/** The row is changed before the files are deleted, so that no reader of the row is sent to a file that is missing. */
async function forgetFiles(
  { database, writer, clock, failpoint, assets }: RetentionParts,
  isClosed: () => boolean,
): Promise<void> {
  for (;;) {
    const rows = await database
      .selectFrom("tasks")
      .select(["id", "account_id", "key_id", "hold_id"])
      .where("files_until_ms", "<=", BigInt(clock.steadyMs()))
      .orderBy("files_until_ms")
      .limit(MAX_TASKS)
      .execute();
    if (isClosed()) return;
    await Promise.all(
      rows.map(({ id: task, account_id: account, key_id: key, hold_id: hold }) =>
        writer.submit({ kind: "forget_files", task, account, key, hold, nowMs: clock.nowMs() }),
      ),
    );
    if (rows.length > 0) failpoint("files.forgotten");
    for (const { id } of rows) await assets.remove(id);
    if (rows.length < MAX_TASKS) return;
  }
}

/** Reads first, so that a gateway with nothing to do writes nothing. */
async function forgetTasks(
  { database, writer, clock, settings }: RetentionParts,
  isClosed: () => boolean,
): Promise<void> {
  const beforeMs = clock.nowMs() - settings().endedMs;
  for (let parts = 0; parts < MAX_PARTS && !isClosed(); parts += 1) {
    const old = await database
      .selectFrom("tasks")
      .select("id")
      .where("ended_at_ms", "<", BigInt(beforeMs))
      .where("files_until_ms", "is", null)
      .limit(1)
      .executeTakeFirst();
    if (old === undefined) return;
    await writer.submit({ kind: "forget_tasks", beforeMs });
  }
}

/** A file belongs to a task that runs, or to one whose result names it. */
async function isNamed(database: Database, taskId: string, name: string): Promise<boolean> {
  const row = await database
    .selectFrom("tasks")
    .select(["state", "result", "files_until_ms"])
    .where("id", "=", taskId)
    .executeTakeFirst();
  if (row === undefined) return false;
  if (row.state === "running") return true;
  return row.result !== null && row.files_until_ms !== null && storedFileNames(row.result).includes(name);
}
