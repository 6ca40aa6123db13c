import type { Assets } from "../assets/assets.ts";
import { describeError } from "../core/log/log.ts";
import type { Database } from "../db/schema.ts";
import { createRounds } from "./rounds.ts";
import type { RunParts } from "./run/run.ts";
import { storedFileNames } from "./stored-task.ts";

/** Lets go of files and tasks whose time is over, and of files that nobody knows of. */
export interface Retention {
  start(): void;
  /** Resolves when nothing of it is under way. */
  close(): Promise<void>;
}

/** What it is made of. */
export interface RetentionParts extends Pick<
  RunParts,
  "database" | "writer" | "clock" | "log" | "failpoint" | "settings"
> {
  readonly assets: Pick<Assets, "remove" | "sweep">;
}

/** How often it is looked for what is kept no longer. */
const ROUND_MS = 60_000;

/** How often it is looked for files that no task names. */
const ORPHANS_MS = 60 * 60 * 1000;

/** A process that never lives for long looks for both as well, but not while it comes up. */
const FIRST_MS = { round: 1_000, orphans: 60_000 } as const;

/** Tasks whose files are let go of at a time. */
const MAX_TASKS = 100;

/** Tasks are deleted in parts, of which a round has at most so many. */
const MAX_PARTS = 20;

/** Retention by the settings that are in force. */
export function createRetention(parts: RetentionParts): Retention {
  const { clock, log, assets } = parts;
  let closed = false;
  const isClosed = (): boolean => closed;

  const guarded = (what: string, work: () => Promise<void>) => (): Promise<void> =>
    work().catch((error: unknown) => log.error(what, { error: describeError(error) }));

  const kept = createRounds(
    clock,
    ROUND_MS,
    guarded("what is kept no longer could not be let go of", async () => {
      await forgetFiles(parts, isClosed);
      await forgetTasks(parts, isClosed);
    }),
  );
  const orphans = createRounds(
    clock,
    ORPHANS_MS,
    guarded("files that no task names could not be looked for", async () => {
      await assets.sweep((taskId, name) => isNamed(parts.database, taskId, name));
    }),
  );

  return {
    start() {
      kept.start(FIRST_MS.round);
      orphans.start(FIRST_MS.orphans);
    },
    async close() {
      closed = true;
      await Promise.all([kept.close(), orphans.close()]);
    },
  };
}

/** First the row says that the files are gone, then they go: whoever reads the row is never sent to files that may miss. */
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

/** Asks first, so that a gateway with nothing to do writes nothing. */
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
