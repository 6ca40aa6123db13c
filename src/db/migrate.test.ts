import { expect, test } from "bun:test";
import { sql } from "kysely";
import { describeOnEngines, type TestEngine } from "../../test/gateway/engines.ts";
import { auditBooks } from "../../test/ledger/books.ts";
import {
  type Column,
  columnsOf,
  contentOf,
  fillFirst,
  FIRST_ROWS,
  migrateWith,
  statementsOf,
  useEmptyStore,
} from "../../test/ledger/old-stores.ts";
import { sharedCluster } from "../../test/postgres/cluster.ts";
import { describeOnPostgres } from "../../test/postgres/on-postgres.ts";
import { TASK_STATES, type TaskState, TRANSITIONS } from "../core/task.ts";
import type { Engine } from "./engine.ts";
import { migrate, MIGRATIONS } from "./migrate.ts";
import { initial } from "./migrations/0001-initial.ts";
import { books } from "./migrations/0002-books.ts";
import { keyLimits } from "./migrations/0003-key-limits.ts";
import { openUnhurried } from "./postgres.ts";
import type { Database } from "./schema.ts";
import { kyselyOver } from "./sqlite.ts";
import { openForWriting } from "./sqlite-file.ts";

test("migrations that have shipped keep their names, by which stores know them", () => {
  expect(Object.keys(MIGRATIONS).join(" ")).toStartWith(
    "0001-initial 0002-books 0003-key-limits 0004-tasks 0005-journal 0007-journal-gaps 0008-allotments 0009-kept-responses 0010-routes",
  );
});

function testMigrations(engine: TestEngine): void {
  const store = useEmptyStore(engine);

  test("run once: a second start changes nothing", async () => {
    await migrate(store.database, engine.name);
    const before = await contentOf(store.database, engine.name);
    let statements = 0;
    await migrate(store.database, engine.name, () => void (statements += 1));
    expect(statements).toBe(0);
    expect(await contentOf(store.database, engine.name)).toEqual(before);
  });

  test("bring a store of the first version along with its money, its keys and its requests", async () => {
    await fillFirst(store.database, engine.name);
    await migrate(store.database, engine.name);

    const accounts = store.database.selectFrom("accounts").select(["id", "balance", "held"]).orderBy("id");
    expect(await accounts.execute()).toEqual([
      { id: "a", balance: 875n, held: 30n },
      { id: "b", balance: 5n, held: 0n },
    ]);
    const keys = store.database
      .selectFrom("keys")
      .select(["id", "budget", "spent", "held", "revoked_at_ms"])
      .orderBy("id");
    expect(await keys.execute()).toEqual([
      { id: "k1", budget: null, spent: 25n, held: 20n, revoked_at_ms: null },
      { id: "k2", budget: null, spent: 100n, held: 10n, revoked_at_ms: 40n },
      { id: "k3", budget: null, spent: 0n, held: 0n, revoked_at_ms: null },
    ]);
    const ledger = store.database
      .selectFrom("ledger")
      .select(["cause", "key_id", "amount", "balance_after"])
      .orderBy("seq");
    expect(await ledger.execute()).toEqual([
      { cause: "g1:grant", key_id: null, amount: 1000n, balance_after: 1000n },
      { cause: "g2:grant", key_id: null, amount: 5n, balance_after: 5n },
      { cause: "h1:settle", key_id: "k1", amount: -25n, balance_after: 975n },
      { cause: "h2:settle", key_id: "k2", amount: -100n, balance_after: 875n },
      { cause: "h2:loss", key_id: null, amount: -7n, balance_after: 0n },
    ]);
    const holds = await store.database.selectFrom("holds").selectAll().orderBy("id").execute();
    expect(holds.map((hold) => `${hold.id} ${hold.state} ${hold.model} ${hold.expected_cost}`)).toEqual([
      "h1 settled m1 0",
      "h2 settled m2 0",
      "h3 voided m1 0",
      "h4 held m1 0",
      "h5 held m2 0",
    ]);
    const requests = await store.database.selectFrom("requests").selectAll().orderBy("id").execute();
    const rows: readonly object[] = requests.map((row) => Object.assign(row, { seq: undefined }));
    expect(rows).toEqual([
      request("1", { charge: 25n, usage: '{"input":9}', admitted: 10n, ended: 11n }),
      request("2", {
        key_id: "k2",
        model: "m2",
        price_version: "v2",
        outcome: "client_gone",
        charge: 100n,
        usage: "{}",
        flags: '["above_hold"]',
        admitted: 12n,
        ended: 13n,
      }),
      request("3", { outcome: "upstream_error", admitted: 14n, ended: 15n }),
    ]);
    await auditBooks(store.database);
  });

  test("bring keys of the second version along without limits, and keep out limits that let nothing through", async () => {
    await migrateWith(store.database, engine.name, { "0001-initial": initial, "0002-books": books });
    await sql.raw(FIRST_ROWS[0] ?? "").execute(store.database);
    await sql
      .raw(
        `insert into keys (id, account_id, name, hash, hint, models, created_at_ms, budget, spent, held)
          values ('k1', 'a', 'one', 'hash1', 'sk-1', '["m"]', 3, 900, 125, 30)`,
      )
      .execute(store.database);
    const before = await store.database.selectFrom("keys").selectAll().execute();
    await migrate(store.database, engine.name);
    const limits = { requests_per_minute: null, tokens_per_minute: null, concurrency: null };
    expect(await store.database.selectFrom("keys").selectAll().execute()).toEqual(
      before.map((row) => Object.assign(row, limits, { allotted: 0n, routes: 0n })),
    );
    for (const column of Object.keys(limits)) {
      await sql.raw(`update keys set ${column} = 1`).execute(store.database);
      const refusal: unknown = await sql
        .raw(`update keys set ${column} = 0`)
        .execute(store.database)
        .catch((error: unknown) => error);
      expect(String(refusal).toLowerCase()).toContain("check constraint");
    }
  });

  test("bring a store of the third version along with its holds, which are no task's, and its empty queue", async () => {
    await migrateWith(store.database, engine.name, {
      "0001-initial": initial,
      "0002-books": books,
      "0003-key-limits": keyLimits,
    });
    for (const statement of [
      `insert into accounts (id, name, balance, held, created_at_ms) values ('a', 'A', 75, 30, 1)`,
      `insert into keys (id, account_id, name, hash, hint, created_at_ms, spent, held)
        values ('k', 'a', 'one', 'hash', 'sk-1', 3, 25, 30)`,
      `insert into price_versions (version, model, rules, created_at_ms) values ('v', 'm', '{}', 1)`,
      `insert into holds (id, account_id, key_id, request_id, boot_id, model, amount, expected_cost, state,
          price_version, created_at_ms, expires_at_ms, ended_at_ms, end_reason, settled) values
        ('h1', 'a', 'k', 'r1', 'boot', 'm', 50, 5, 'settled', 'v', 10, 99, 11, 'completed', 25),
        ('h2', 'a', 'k', 'r2', 'boot', 'm', 30, 5, 'held', 'v', 12, 99, null, null, null)`,
      `insert into ledger (cause, account_id, key_id, counter, amount, balance_after, kind, request_id, created_at_ms)
        values ('g:grant', 'a', null, 'funding', 100, 100, 'grant', 'q', 6),
          ('h1:settle', 'a', 'k', 'revenue', -25, 75, 'settle', 'r1', 11)`,
      `insert into requests (id, account_id, key_id, hold_id, model, outcome, charge, price_version, attempts,
          admitted_at_ms, held_at_ms, ended_at_ms, settled_at_ms)
        values ('r1', 'a', 'k', 'h1', 'm', 'completed', 25, 'v', '[]', 10, 10, 11, 11)`,
    ])
      await sql.raw(statement).execute(store.database);
    const holds = (): Promise<readonly object[]> =>
      store.database.selectFrom("holds").selectAll().orderBy("id").execute();
    const before = await holds();
    await migrate(store.database, engine.name);
    expect(await holds()).toEqual(before.map((row) => Object.assign(row, { task_id: null })));
    expect(await store.database.selectFrom("tasks").selectAll().execute()).toEqual([]);
    await auditBooks(store.database);
  });

  test("bring a store of the ninth version along, which goes on beside this one: no cost is known, and no key may ask for a route", async () => {
    const before = Object.entries(MIGRATIONS).filter(([name]) => name < "0010");
    await migrateWith(store.database, engine.name, Object.fromEntries(before));
    const write = (n: number) =>
      [
        `insert into keys (id, account_id, name, hash, hint, models, budget, requests_per_minute, tokens_per_minute,
            concurrency, expires_at_ms, created_at_ms)
          values ('k${n}', 'a', 'n', 'hash${n}', 'sk-', null, null, null, null, null, null, 3)`,
        `insert into requests (id, account_id, key_id, hold_id, model, provider, outcome, charge, price_version, usage,
            flags, attempts, admitted_at_ms, held_at_ms, first_byte_at_ms, ended_at_ms, settled_at_ms)
          values ('r${n}', 'a', 'k${n}', 'h${n}', 'm', 'p', 'completed', 0, 'v', '{}', null, '[]', 1, 1, null, 2, 2)`,
      ].map((statement) => sql.raw(statement).execute(store.database));
    await sql.raw(FIRST_ROWS[0] ?? "").execute(store.database);
    await Promise.all(write(1));
    await migrate(store.database, engine.name);
    await Promise.all(write(2));
    const keys = store.database.selectFrom("keys").select(["id", "routes"]).orderBy("id");
    expect(await keys.execute()).toEqual(["k1", "k2"].map((id) => ({ id, routes: 0n })));
    const requests = store.database.selectFrom("requests").select(["id", "cost"]).orderBy("id");
    expect(await requests.execute()).toEqual(["r1", "r2"].map((id) => ({ id, cost: null })));
    const refusal: unknown = await sql`update keys set routes = 2`
      .execute(store.database)
      .catch((error: unknown) => error);
    expect(String(refusal).toLowerCase()).toContain("check constraint");
  });

  test("bring a store of the thirteenth version along: usage by five minutes begins after what was counted by then", async () => {
    const before = Object.entries(MIGRATIONS).filter(([name]) => name < "0014");
    await migrateWith(store.database, engine.name, Object.fromEntries(before));
    for (const timeMs of [3_600_000, 7_200_000])
      await sql
        .raw(
          `insert into usage_rollups values (3600000, 'outcome', ${timeMs}, '', '', '', '', 'completed',
            1, 0, 1, 1, 0, 0, 0, 5, 0, 0, '[]', '[]', 1, 9)`,
        )
        .execute(store.database);
    await store.database.updateTable("usage_mark").set({ request_seq: 9n }).execute();
    await migrate(store.database, engine.name);
    expect(await store.database.selectFrom("usage_recent_mark").selectAll().execute()).toEqual([
      { request_seq: 9n, from_ms: 10_800_000n },
    ]);
  });

  test("leave a task only the ways that it can go", async () => {
    await migrate(store.database, engine.name);
    await sql
      .raw(`insert into accounts (id, name, created_at_ms) values ('a', 'A', 1)`)
      .execute(store.database);
    for (const from of TASK_STATES) {
      for (const to of TASK_STATES) {
        await sql.raw("delete from tasks").execute(store.database);
        await sql
          .raw(
            `insert into tasks (id, kind, account_id, key_id, hold_id, request_id, model, terms, warnings, timeout_sec,
                deadline_ms, created_at_ms, ${STATE_COLUMNS.join(", ")})
              values ('t', 'image', 'a', 'k', 'h', 'r', 'm', '{}', '[]', 60, 1, 1, ${valuesOfState(from).join(", ")})`,
          )
          .execute(store.database);
        const values = valuesOfState(to);
        const change = STATE_COLUMNS.map((column, i) => `${column} = ${values[i]}`);
        const gone = await sql
          .raw(`update tasks set ${change.join(", ")}`)
          .execute(store.database)
          .then(
            () => "goes",
            (error: unknown) => String(error),
          );
        const isWay = from === to || TRANSITIONS[from].includes(to);
        expect(`${from} to ${to}: ${gone}`).toContain(isWay ? "goes" : "a task does not go this way");
      }
    }
  });

  test("leave the ledger protected", async () => {
    await fillFirst(store.database, engine.name);
    await migrate(store.database, engine.name);
    for (const statement of ["update ledger set amount = 0", "delete from ledger"]) {
      const refusal: unknown = await sql
        .raw(statement)
        .execute(store.database)
        .catch((error: unknown) => error);
      expect(String(refusal)).toContain("ledger rows are never");
    }
  });

  test("make tables for kept answers on a server, and leave these to a file of their own on SQLite", async () => {
    await migrate(store.database, engine.name);
    const read = sql`select id from kept_responses`.execute(store.database);
    const told = await read.then(({ rows }) => `${rows.length} rows`, String);
    const expected = { sqlite: "no such table: kept_responses", postgres: "0 rows" };
    expect(told).toContain(expected[engine.name]);
  });

  test("refuse a store of a newer version, and say so", async () => {
    await migrate(store.database, engine.name);
    await sql`insert into kysely_migration (name, timestamp) values ('0011-later', '2100-01-01T00:00:00.000Z')`.execute(
      store.database,
    );
    const refused = await migrate(store.database, engine.name).then(
      () => "",
      (error: Error) => error.message,
    );
    const cannot = {
      sqlite: "The database could not be brought up to date",
      postgres: "The database of DATABASE_URL cannot be used",
    };
    expect(refused).toBe(
      `${cannot[engine.name]}: It was made by a newer version of Switchyard, which knows the migration 0011-later. Start that version.`,
    );
  });
}

/** What a task has in each state, of all that depends on it. */
const IN_STATE: Readonly<Record<TaskState, Readonly<Record<string, string>>>> = {
  pending: {},
  running: { owner: "'b'", lease_until_ms: "1" },
  completed: { result: "'{}'", charge: "1", ended_at_ms: "1" },
  failed: { error_type: "'timeout_error'", ended_at_ms: "1" },
  cancelled: { ended_at_ms: "1" },
};

const STATE_COLUMNS = ["state", ...new Set(Object.values(IN_STATE).flatMap((values) => Object.keys(values)))];
const valuesOfState = (state: TaskState): readonly string[] =>
  STATE_COLUMNS.map((column) => (column === "state" ? `'${state}'` : (IN_STATE[state][column] ?? "null")));

function request(
  n: string,
  { admitted, ended, ...rest }: { admitted: bigint; ended: bigint; [column: string]: unknown },
): object {
  return {
    id: `r${n}`,
    account_id: "a",
    key_id: "k1",
    hold_id: `h${n}`,
    model: "m1",
    provider: null,
    outcome: "completed",
    charge: 0n,
    price_version: "v1",
    usage: null,
    flags: null,
    attempts: "[]",
    admitted_at_ms: admitted,
    held_at_ms: admitted,
    first_byte_at_ms: null,
    ended_at_ms: ended,
    settled_at_ms: ended,
    cost: null,
    ...rest,
  };
}

describeOnEngines("migrations", testMigrations);

describeOnPostgres("migrations of both engines", () => {
  test("end in the same tables, columns, kinds and nulls, but for answers that SQLite keeps apart", async () => {
    const ends: Partial<Record<Engine, readonly Column[]>> = {};
    await Promise.all(
      [newSqlite(), await newPostgres()].map(async ({ engine, database, remove }) => {
        await migrate(database, engine);
        const columns = await columnsOf(database, engine);
        ends[engine] = columns.filter(([table]) => !table.startsWith("kept_"));
        await database.destroy();
        await remove();
      }),
    );
    expect(ends.postgres?.length).toBeGreaterThan(60);
    expect(ends.sqlite).toEqual(ends.postgres as readonly Column[]);
  });

  for (const starts of [2, 5]) {
    test(`run once on PostgreSQL when ${starts} processes start at the same time`, async () => {
      const { url, drop } = await (await sharedCluster()).database();
      const databases = Array.from({ length: starts }, () => openUnhurried(url));
      const ran = databases.map(() => 0);
      await Promise.all(
        databases.map((database, i) =>
          migrate(database, "postgres", () => void (ran[i] = (ran[i] ?? 0) + 1)),
        ),
      );
      expect(ran.toSorted((a, b) => a - b)).toEqual([
        ...Array.from({ length: starts - 1 }, () => 0),
        statementsOf("postgres"),
      ]);
      await Promise.all(databases.map((database) => database.destroy()));
      await drop();
    });
  }
});

interface Opened {
  readonly engine: Engine;
  readonly database: Database;
  remove(): Promise<void>;
}

function newSqlite(): Opened {
  return {
    engine: "sqlite",
    database: kyselyOver(openForWriting(":memory:")),
    remove: async () => {},
  };
}

async function newPostgres(): Promise<Opened> {
  const { url, drop } = await (await sharedCluster()).database();
  return { engine: "postgres", database: openUnhurried(url), remove: drop };
}
