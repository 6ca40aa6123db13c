import { sql } from "kysely";
import type { Clock } from "../../core/time/clock.ts";
import type { Database } from "../../db/schema.ts";
import type { Keys } from "../../keys/keys.ts";
import type { Writer } from "../../ledger/writer.ts";
import type { Tasks } from "../../tasks/tasks.ts";
import type { StoreReader } from "../store-read.ts";
import { notFound } from "./views.ts";

/** What accounts are closed with. */
export interface ClosingParts {
  readonly database: Database;
  readonly read: StoreReader;
  readonly writer: Writer;
  readonly keys: Pick<Keys, "forget">;
  readonly tasks: Pick<Tasks, "cancel">;
  readonly clock: Clock;
}

/** Pending tasks that are cancelled at a time. */
const MAX_TASKS = 100;

/**
 * Closes an account, which may be closed already. Its keys end and its pending tasks are cancelled; what runs goes on
 * and is charged. Once the first command is durable, no hold is made and no task is queued or begun. So what was
 * pending then is all there is. A task that a crash leaves pending is cancelled by the next process that would begin
 * it.
 */
export async function closeAccount(parts: ClosingParts, id: string): Promise<void> {
  const { writer, keys, clock } = parts;
  // Sent at once, the two commit together as a rule; the first alone is enough for the credit.
  const closing = Promise.all([
    writer.submit({ kind: "close_account", account: id }),
    writer.submit({ kind: "revoke_keys", account: id, nowMs: clock.nowMs() }),
  ]);
  // It may be closed although another process did not answer.
  const [answer] = await closing.finally(() => keys.forget());
  if (!answer.ok) throw notFound("account", id);
  await cancelPending(parts, id);
}

async function cancelPending({ database, read, tasks }: ClosingParts, account: string): Promise<void> {
  for (;;) {
    const pending = await read(() =>
      database
        .selectFrom("tasks")
        .select(["id", "kind"])
        // A constant in the statement's text: a partial index is used only where the statement itself has its condition.
        .where("state", "=", sql.lit("pending" as const))
        .where("account_id", "=", account)
        .limit(MAX_TASKS)
        .execute(),
    );
    if (pending.length === 0) return;
    await Promise.all(pending.map(({ id, kind }) => tasks.cancel(kind, id, account)));
  }
}
