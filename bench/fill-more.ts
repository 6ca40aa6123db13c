import { sql } from "kysely";
import { type ErrorKind, ERRORS } from "../src/core/errors.ts";
import type { Engine } from "../src/db/engine.ts";
import type { Database } from "../src/db/schema.ts";
import { writeRefusals } from "../src/ledger/refusals.ts";

// Makes the rest of a store from the requests that it was filled with: tasks, refusals, and the models' names.

const HOUR_MS = 3_600_000;
/** Tasks are deleted when they are older than 30 days. */
const TASKS_MS = 29 * 24 * HOUR_MS;
const REFUSALS = 10_000;
const CODES: readonly ErrorKind[] = [
  "invalid_request_error",
  "auth_error",
  "insufficient_credits",
  "rate_limit_error",
];

const TASK_COLUMNS = (
  "id kind account_id key_id hold_id request_id model state epoch provider attempts terms warnings timeout_sec " +
  "deadline_ms result error_type charge created_at_ms started_at_ms ended_at_ms"
).split(" ") as "id"[];

/** Makes a task of every second request of the last 29 days. Returns how many there are. */
export async function fillTasks(database: Database, nowMs: number): Promise<bigint> {
  return database.transaction().execute(async (tx) => {
    const { numInsertedOrUpdatedRows } = await tx
      .insertInto("tasks")
      .columns(TASK_COLUMNS)
      .expression(
        sql`select 'img_' || substr(id, 5), case when seq % 20 = 0 then 'video' else 'image' end, account_id, key_id,
            hold_id, id, model, case outcome when 'completed' then 'completed' else 'failed' end,
            1, provider, 1, '{"pricedAtMs":0}', '[]', 600, admitted_at_ms + 600000,
            case outcome when 'completed' then '{"files":[]}' end,
            case outcome when 'completed' then null else 'upstream_error' end,
            case outcome when 'completed' then charge end, admitted_at_ms, admitted_at_ms, ended_at_ms
          from requests where seq % 2 = 0 and outcome <> 'client_gone' and ended_at_ms > ${BigInt(nowMs - TASKS_MS)}
          order by seq`,
      )
      .executeTakeFirstOrThrow();
    await sql`update holds set task_id = (select id from tasks where tasks.hold_id = holds.id)
      where id in (select hold_id from tasks)`.execute(tx);
    return numInsertedOrUpdatedRows ?? 0n;
  });
}

/** Writes as many refusals as are kept, and counts of a year. */
export async function fillRefusals(database: Database, engine: Engine, nowMs: number): Promise<void> {
  const hour = Math.floor(nowMs / HOUR_MS);
  const of = (number: number) => {
    const code = CODES[number % CODES.length] as ErrorKind;
    const key = `key_filled_${number % 200}`;
    return { code, status: ERRORS[code].status, model: "openai/gpt-5.6-0", key };
  };
  const counts = Array.from({ length: 365 * 24 * 6 }, (_, i) => ({
    ...of(i),
    timeMs: (hour - Math.floor(i / 6)) * HOUR_MS,
    refusals: 1 + (i % 9),
  }));
  const rows = Array.from({ length: REFUSALS }, (_, i) => ({
    ...of(i),
    id: `req_refused_${i}`,
    atMs: nowMs - (REFUSALS - i) * 1_000,
    field: i % 4 === 0 ? "messages" : null,
    account: `acct_filled_${Math.floor((i % 200) / 4)}`,
    path: "/api/v1/chat/completions",
  }));
  await writeRefusals(database, engine, { rows, counts });
}

/** A filter by a model is answered where there is a price of it. */
export async function fillModels(database: Database, atMs: number): Promise<void> {
  const models = await database.selectFrom("requests").select("model").distinct().execute();
  for (const { model } of models)
    await database
      .insertInto("price_versions")
      .values({ version: `filled ${model}`, model, rules: "{}", created_at_ms: BigInt(atMs) })
      .execute();
}
