import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import type pg from "pg";
import { commandsFor } from "../../../test/ledger/books.ts";
import { taskCommandsFor } from "../../../test/ledger/task-commands.ts";
import { type Database as TestDatabase, sharedCluster } from "../../../test/postgres/cluster.ts";
import { describeOnPostgres } from "../../../test/postgres/on-postgres.ts";
import { migrate } from "../../db/migrate.ts";
import { connectWriter, openUnhurried } from "../../db/postgres.ts";
import type { Command, Outcome } from "../commands.ts";
import { createPostgresExecutor } from "./executor.ts";
import type { Executor } from "../writer.ts";

/**
 * A transaction whose answer was lost may still be on its way to the disk. Meanwhile the writer sends its commands again,
 * or takes them back. These then wait for its locks, and must see what it made.
 */
describeOnPostgres("a batch that waited for another transaction", () => {
  let place: TestDatabase;
  let executor: Executor;
  /** The transaction before, as a server that was given up on goes on with it. */
  let earlier: pg.Client;
  let count = 0;
  let { createAccount, issueKey, grant, hold, voided } = commandsFor((name) => name);
  const id = (name: string): string => `w${count}-${name}`;

  beforeAll(async () => {
    place = await (await sharedCluster()).database();
    const schema = openUnhurried(place.url);
    await migrate(schema, "postgres");
    await schema.destroy();
    executor = createPostgresExecutor(place.url);
    earlier = await connectWriter(place.url);
  });
  afterAll(async () => {
    await executor.close();
    await earlier.end();
    await place.drop();
  });
  beforeEach(async () => {
    count += 1;
    ({ createAccount, issueKey, grant, hold, voided } = commandsFor(id));
    await executor.execute([createAccount("a"), issueKey("k"), grant("g", 50n)]);
  });

  /** Sends `command` while `statements` of another transaction are not committed, which they are once it waits. */
  async function during(statements: readonly string[], command: Command): Promise<Outcome | undefined> {
    await earlier.query("begin");
    await earlier.query(`select 1 from accounts where id = '${id("a")}' for update`);
    for (const statement of statements) await earlier.query(statement);
    const outcomes = executor.execute([command]);
    for (let looks = 0; looks < 500; looks += 1) {
      const { rowCount } = await earlier.query(
        "select 1 from pg_locks where not granted and pid in (select pid from pg_stat_activity where datname = current_database())",
      );
      if (rowCount !== 0) break;
      await Bun.sleep(10);
    }
    await earlier.query("commit");
    return (await outcomes)[0];
  }

  const holdsAll = (): readonly string[] => [
    "insert into price_versions (version, model, rules, created_at_ms) values ('v', 'm', '{}', 1) on conflict do nothing",
    `insert into holds (id, account_id, key_id, request_id, boot_id, model, amount, expected_cost, state,
        price_version, created_at_ms, expires_at_ms)
      values ('${id("h")}', '${id("a")}', '${id("k")}', '${id("req-h")}', 'b1', 'm', 50, 50, 'held', 'v', 1, 2)`,
    `update accounts set held = 50 where id = '${id("a")}'`,
    `update keys set held = 50 where id = '${id("k")}'`,
  ];

  test("leaves a task that is locked for another time when old ones are forgotten", async () => {
    const { submit, cancel } = taskCommandsFor(id);
    await executor.execute([submit("x", 1n), cancel("x")]);
    const isThere = async (): Promise<boolean> => {
      const { rowCount } = await earlier.query("select 1 from tasks where id = $1", [id("x")]);
      return rowCount === 1;
    };
    await earlier.query("begin");
    await earlier.query("select 1 from tasks where id = $1 for update", [id("x")]);
    const forget: Command = { kind: "forget_tasks", beforeMs: 1_000 };
    expect(await executor.execute([forget])).toEqual([{ answer: { ok: true } }]);
    expect(await isThere()).toBe(true);
    await earlier.query("commit");
    await executor.execute([forget]);
    expect(await isThere()).toBe(false);
  });

  test("finds a hold that was made meanwhile when it is to be given back", async () => {
    expect(await during(holdsAll(), voided("h"))).toEqual({ answer: { ok: true } });
    const { rows } = await earlier.query("select state from holds where id = $1", [id("h")]);
    expect(rows).toEqual([{ state: "voided" }]);
  });

  test("is told of its own hold, and not that it leaves no credit for itself", async () => {
    expect(await during(holdsAll(), hold("h", 50n))).toEqual({ answer: { ok: true, amount: 50n } });
  });

  test("is told of its own grant that took credit back", async () => {
    const takes = [
      `insert into ledger (cause, account_id, counter, amount, balance_after, kind, created_at_ms)
        values ('${id("back")}:grant', '${id("a")}', 'funding', -50, 0, 'grant', 1)`,
      `update accounts set balance = 0 where id = '${id("a")}'`,
    ];
    expect(await during(takes, grant("back", -50n))).toEqual({ answer: { ok: true, balance: 0n } });
  });

  test("of records and money never waits in a circle with one of money", async () => {
    const other = createPostgresExecutor(place.url);
    const deadlocks = async (): Promise<bigint> => {
      await earlier.query("select pg_stat_clear_snapshot()");
      const { rows } = await earlier.query<{ n: bigint }>(
        "select deadlocks as n from pg_stat_database where datname = current_database()",
      );
      return rows[0]?.n ?? 0n;
    };
    for (let i = 0; i < 100; i += 1) {
      await Promise.all([
        executor.execute([{ kind: "change_key", key: id("k"), name: `name ${i}` }, grant(`g${i}`, 1n)]),
        other.execute([hold(`h${i}`, 1n), voided(`h${i}`)]),
      ]);
    }
    await other.close();
    // The server counts when a backend has nothing to do, at the latest after a second.
    await Bun.sleep(1_500);
    expect(await deadlocks()).toBe(0n);
  });
});
