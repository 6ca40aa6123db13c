import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { sql } from "kysely";
import { Migrator } from "kysely/migration";
import { describeOnEngines, type TestEngine, type TestPlace } from "../../test/gateway/engines.ts";
import { auditBooks } from "../../test/ledger/books.ts";
import { sharedCluster } from "../../test/postgres/cluster.ts";
import { describeOnPostgres } from "../../test/postgres/on-postgres.ts";
import { parseFailpoint } from "../core/failpoint.ts";
import { TASK_STATES, type TaskState, TRANSITIONS } from "../core/task.ts";
import { type Engine, SCHEMA_WORDS } from "./engine.ts";
import { migrate } from "./migrate.ts";
import { initial } from "./migrations/0001-initial.ts";
import { books } from "./migrations/0002-books.ts";
import { keyLimits } from "./migrations/0003-key-limits.ts";
import { tasks } from "./migrations/0004-tasks.ts";
import { openUnhurried } from "./postgres.ts";
import type { Database } from "./schema.ts";
import { kyselyOver, openForWriting } from "./sqlite.ts";

const openAt = ({ place }: TestPlace): Database =>
  "file" in place ? kyselyOver(openForWriting(place.file)) : openUnhurried(place.url);

/** A column as both engines can tell it: table, name, kind, whether it may be null. */
type Column = readonly [table: string, column: string, kind: string, nullable: boolean];

/** One word for each type of either engine. */
const KINDS: Readonly<Record<string, string>> = {
  text: "text",
  TEXT: "text",
  integer: "integer",
  INTEGER: "integer",
  bigint: "integer",
};

async function columnsOf(database: Database, engine: Engine): Promise<readonly Column[]> {
  const { rows } = await (
    engine === "postgres"
      ? sql<{ t: string; c: string; kind: string; nullable: boolean | bigint }>`
          select table_name as t, column_name as c, data_type as kind, is_nullable = 'YES' as nullable
          from information_schema.columns where table_schema = 'public'`
      : // A primary key is never null; SQLite says so only of tables without row ids.
        sql<{ t: string; c: string; kind: string; nullable: boolean | bigint }>`
          select m.name as t, c.name as c, c.type as kind, c."notnull" = 0 and c.pk = 0 as nullable
          from sqlite_schema m join pragma_table_info(m.name) c where m.type = 'table'`
  ).execute(database);
  return rows
    .filter(({ t }) => !t.startsWith("kysely_") && !t.startsWith("sqlite_"))
    .map(({ t, c, kind, nullable }): Column => [t, c, KINDS[kind] ?? kind, Boolean(Number(nullable))])
    .toSorted((one, other) => (`${one[0]} ${one[1]}` < `${other[0]} ${other[1]}` ? -1 : 1));
}

/** All rows of all tables, as text that can be compared. */
async function contentOf(database: Database, engine: Engine): Promise<readonly string[]> {
  const columns = await columnsOf(database, engine);
  const rows = await Promise.all(
    [...new Set(columns.map(([table]) => table))].map(async (table) => {
      const { rows } = await sql`select * from ${sql.table(table)}`.execute(database);
      return rows.map((row) => `${table} ${Bun.inspect(row)}`);
    }),
  );
  return [...columns.map(String), ...rows.flat().sort()];
}

/** A store as the first version left it. */
const migrateToFirst = (database: Database, engine: Engine): Promise<void> =>
  migrateWith(database, engine, { "0001-initial": initial });

/** A store as a version that knew no more than these migrations left it. */
async function migrateWith(
  database: Database,
  engine: Engine,
  migrations: Readonly<Record<string, typeof initial>>,
): Promise<void> {
  const asMigration = (statementsIn: typeof initial) => ({
    async up(db: Database): Promise<void> {
      for (const statement of statementsIn(SCHEMA_WORDS[engine])) await sql.raw(statement).execute(db);
    },
  });
  const { error } = await new Migrator({
    db: database,
    provider: {
      getMigrations: async () =>
        Object.fromEntries(
          Object.entries(migrations).map(([name, statementsIn]) => [name, asMigration(statementsIn)]),
        ),
    },
  }).migrateToLatest();
  if (error !== undefined) throw error as Error;
}

/** Two accounts, two keys and one without use, a hold in each state, one that was charged above itself, and a loss. */
const FIRST_ROWS = [
  `insert into accounts (id, name, balance, held, created_at_ms) values ('a', 'A', 875, 30, 1), ('b', 'B', 5, 0, 2)`,
  `insert into keys (id, account_id, name, hash, hint, created_at_ms, revoked_at_ms) values
    ('k1', 'a', 'one', 'hash1', 'sk-1', 3, null), ('k2', 'a', 'two', 'hash2', 'sk-2', 4, 40),
    ('k3', 'b', 'three', 'hash3', 'sk-3', 5, null)`,
  `insert into price_versions (version, model, rules, created_at_ms) values
    ('v1', 'm1', '{"input":"1"}', 1), ('v2', 'm2', '{}', 2)`,
  `insert into holds (id, account_id, key_id, request_id, boot_id, amount, state, price_version, created_at_ms,
      expires_at_ms, ended_at_ms, end_reason, settled, usage, flags) values
    ('h1', 'a', 'k1', 'r1', 'boot', 50, 'settled', 'v1', 10, 99, 11, 'completed', 25, '{"input":9}', null),
    ('h2', 'a', 'k2', 'r2', 'boot', 60, 'settled', 'v2', 12, 99, 13, 'client_gone', 100, '{}', '["above_hold"]'),
    ('h3', 'a', 'k1', 'r3', 'boot', 70, 'voided', 'v1', 14, 99, 15, 'upstream_error', null, null, null),
    ('h4', 'a', 'k1', 'r4', 'boot', 20, 'held', 'v1', 16, 99, null, null, null, null, null),
    ('h5', 'a', 'k2', 'r5', 'boot', 10, 'held', 'v2', 17, 99, null, null, null, null, null)`,
  `insert into ledger (cause, account_id, counter, amount, balance_after, kind, request_id, reason, created_at_ms)
    values ('g1:grant', 'a', 'funding', 1000, 1000, 'grant', 'q1', 'paid', 6),
    ('g2:grant', 'b', 'funding', 5, 5, 'grant', 'q2', 'paid', 7),
    ('h1:settle', 'a', 'revenue', -25, 975, 'settle', 'r1', 'completed', 11),
    ('h2:settle', 'a', 'revenue', -100, 875, 'settle', 'r2', 'client_gone', 13),
    ('h2:loss', 'operator', 'operator_loss', -7, 0, 'loss', 'r2', 'client_gone', 13)`,
];

async function fillFirst(database: Database, engine: Engine): Promise<void> {
  await migrateToFirst(database, engine);
  for (const statement of FIRST_ROWS) await sql.raw(statement).execute(database);
}

/** Statements of the migrations after the first. */
const laterStatementsOf = (engine: Engine): number =>
  books(SCHEMA_WORDS[engine]).length +
  keyLimits(SCHEMA_WORDS[engine]).length +
  tasks(SCHEMA_WORDS[engine]).length;

const statementsOf = (engine: Engine): number =>
  initial(SCHEMA_WORDS[engine]).length + laterStatementsOf(engine);

function testMigrations(engine: TestEngine): void {
  let place: TestPlace;
  let database: Database;
  beforeEach(async () => {
    place = await engine.newPlace();
    database = openAt(place);
  });
  afterEach(async () => {
    await database.destroy();
    await place.remove();
  });

  test("look every row up: a store with many of them is brought along as well", async () => {
    await migrateToFirst(database, engine.name);
    const rows = 50_000;
    const numbers = `with recursive numbers (i) as (select 1 union all select i + 1 from numbers where i < ${rows})`;
    for (const statement of [
      `insert into accounts (id, name, balance, created_at_ms) values ('a', 'A', 1, 1)`,
      `insert into price_versions (version, model, rules, created_at_ms) values ('v', 'm', '{}', 1)`,
      `${numbers} insert into keys (id, account_id, name, hash, hint, created_at_ms)
        select 'k' || i, 'a', 'n', 'hash' || i, 'sk', 1 from numbers where i <= 1000`,
      `${numbers} insert into holds (id, account_id, key_id, request_id, boot_id, amount, state, price_version,
          created_at_ms, expires_at_ms, ended_at_ms, end_reason, settled)
        select 'h' || i, 'a', 'k' || (1 + i % 1000), 'r' || i, 'b', 2, 'settled', 'v', 1, 2, 3, 'completed', 1 from numbers`,
      `${numbers} insert into ledger (cause, account_id, counter, amount, balance_after, kind, created_at_ms)
        select 'h' || i || ':settle', 'a', 'revenue', -1, 0, 'settle', 1 from numbers`,
    ])
      await sql.raw(statement).execute(database);
    await migrate(database, engine.name);
    const { rows: sums } = await sql`select
      (select count(*) from keys where spent = ${rows / 1000}) as keys,
      (select count(*) from ledger join holds on holds.id || ':settle' = ledger.cause
        where ledger.key_id = holds.key_id) as entries`.execute(database);
    expect(sums).toEqual([{ keys: 1000n, entries: BigInt(rows) }]);
  });

  test("run once: a second start changes nothing", async () => {
    await migrate(database, engine.name);
    const before = await contentOf(database, engine.name);
    let statements = 0;
    await migrate(database, engine.name, () => void (statements += 1));
    expect(statements).toBe(0);
    expect(await contentOf(database, engine.name)).toEqual(before);
  });

  test("bring a store of the first version along with its money, its keys and its requests", async () => {
    await fillFirst(database, engine.name);
    await migrate(database, engine.name);

    const accounts = database.selectFrom("accounts").select(["id", "balance", "held"]).orderBy("id");
    expect(await accounts.execute()).toEqual([
      { id: "a", balance: 875n, held: 30n },
      { id: "b", balance: 5n, held: 0n },
    ]);
    const keys = database
      .selectFrom("keys")
      .select(["id", "budget", "spent", "held", "revoked_at_ms"])
      .orderBy("id");
    expect(await keys.execute()).toEqual([
      { id: "k1", budget: null, spent: 25n, held: 20n, revoked_at_ms: null },
      { id: "k2", budget: null, spent: 100n, held: 10n, revoked_at_ms: 40n },
      { id: "k3", budget: null, spent: 0n, held: 0n, revoked_at_ms: null },
    ]);
    const ledger = database
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
    const holds = await database.selectFrom("holds").selectAll().orderBy("id").execute();
    expect(holds.map((hold) => `${hold.id} ${hold.state} ${hold.model} ${hold.expected_cost}`)).toEqual([
      "h1 settled m1 0",
      "h2 settled m2 0",
      "h3 voided m1 0",
      "h4 held m1 0",
      "h5 held m2 0",
    ]);
    const requests = await database.selectFrom("requests").selectAll().orderBy("id").execute();
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
    await auditBooks(database);
  });

  test("bring keys of the second version along without limits, and keep out limits that let nothing through", async () => {
    await migrateWith(database, engine.name, { "0001-initial": initial, "0002-books": books });
    await sql.raw(FIRST_ROWS[0] ?? "").execute(database);
    await sql
      .raw(
        `insert into keys (id, account_id, name, hash, hint, models, created_at_ms, budget, spent, held)
          values ('k1', 'a', 'one', 'hash1', 'sk-1', '["m"]', 3, 900, 125, 30)`,
      )
      .execute(database);
    const before = await database.selectFrom("keys").selectAll().execute();
    await migrate(database, engine.name);
    const limits = { requests_per_minute: null, tokens_per_minute: null, concurrency: null };
    expect(await database.selectFrom("keys").selectAll().execute()).toEqual(
      before.map((row) => Object.assign(row, limits)),
    );
    for (const column of Object.keys(limits)) {
      await sql.raw(`update keys set ${column} = 1`).execute(database);
      const refusal: unknown = await sql
        .raw(`update keys set ${column} = 0`)
        .execute(database)
        .catch((error: unknown) => error);
      expect(String(refusal).toLowerCase()).toContain("check constraint");
    }
  });

  test("bring a store of the third version along with its holds, which are no task's, and its empty queue", async () => {
    await migrateWith(database, engine.name, {
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
      await sql.raw(statement).execute(database);
    const holds = (): Promise<readonly object[]> =>
      database.selectFrom("holds").selectAll().orderBy("id").execute();
    const before = await holds();
    await migrate(database, engine.name);
    expect(await holds()).toEqual(before.map((row) => Object.assign(row, { task_id: null })));
    expect(await database.selectFrom("tasks").selectAll().execute()).toEqual([]);
    await auditBooks(database);
  });

  test("leave a task only the ways that it can go", async () => {
    await migrate(database, engine.name);
    await sql.raw(`insert into accounts (id, name, created_at_ms) values ('a', 'A', 1)`).execute(database);
    for (const from of TASK_STATES) {
      for (const to of TASK_STATES) {
        await sql.raw("delete from tasks").execute(database);
        await sql
          .raw(
            `insert into tasks (id, kind, account_id, key_id, hold_id, request_id, model, terms, warnings, timeout_sec,
                deadline_ms, created_at_ms, ${STATE_COLUMNS.join(", ")})
              values ('t', 'image', 'a', 'k', 'h', 'r', 'm', '{}', '[]', 60, 1, 1, ${valuesOfState(from).join(", ")})`,
          )
          .execute(database);
        const values = valuesOfState(to);
        const change = STATE_COLUMNS.map((column, i) => `${column} = ${values[i]}`);
        const gone = await sql
          .raw(`update tasks set ${change.join(", ")}`)
          .execute(database)
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
    await fillFirst(database, engine.name);
    await migrate(database, engine.name);
    for (const statement of ["update ledger set amount = 0", "delete from ledger"]) {
      const refusal: unknown = await sql
        .raw(statement)
        .execute(database)
        .catch((error: unknown) => error);
      expect(String(refusal)).toContain("ledger rows are never");
    }
  });

  describe("that fail", () => {
    for (const start of ["nothing", "the first version"] as const) {
      test(`at any of their statements leave ${start} as it was, and the next start succeeds`, async () => {
        if (start === "the first version") await fillFirst(database, engine.name);
        const steps = start === "nothing" ? statementsOf(engine.name) : laterStatementsOf(engine.name);
        const before = await contentOf(database, engine.name);
        for (let n = 1; n <= steps; n += 1) {
          const failpoint = parseFailpoint(`migrate.before_statement:throw:${n}`, () => {});
          const failed: unknown = await migrate(database, engine.name, failpoint).catch(
            (error: unknown) => error,
          );
          expect(String(failed)).toContain("failpoint migrate.before_statement");
          expect(await contentOf(database, engine.name)).toEqual(before);
        }
        await migrate(
          database,
          engine.name,
          parseFailpoint(`migrate.before_statement:throw:${steps + 1}`, () => {}),
        );
        await auditBooks(database);
        expect((await columnsOf(database, engine.name)).length).toBeGreaterThan(before.length);
      });
    }

    for (const n of [1, 8, 14, laterStatementsOf(engine.name)]) {
      test(`because the process is killed before statement ${n} leave the first version as it was`, async () => {
        await fillFirst(database, engine.name);
        const before = await contentOf(database, engine.name);
        const script = `
          const { openStore } = await import(${JSON.stringify(`${import.meta.dir}/../ledger/store.ts`)});
          const { parseFailpoint } = await import(${JSON.stringify(`${import.meta.dir}/../core/failpoint.ts`)});
          const kill = () => process.kill(process.pid, "SIGKILL");
          const failpoint = parseFailpoint("migrate.before_statement:kill:${n}", kill);
          await openStore({ place: ${JSON.stringify(place.place)}, failpoint, writerFailpoint: undefined, kill });
        `;
        const child = Bun.spawn([process.execPath, "-e", script], { stdout: "ignore", stderr: "ignore" });
        await child.exited;
        expect(child.signalCode).toBe("SIGKILL");
        expect(await contentOf(database, engine.name)).toEqual(before);
        await migrate(database, engine.name);
        await auditBooks(database);
      });
    }
  });

  test("refuse a store of a newer version, and say so", async () => {
    await migrate(database, engine.name);
    await sql`insert into kysely_migration (name, timestamp) values ('0009-later', '2100-01-01T00:00:00.000Z')`.execute(
      database,
    );
    const refused = await migrate(database, engine.name).then(
      () => "",
      (error: Error) => error.message,
    );
    const cannot = {
      sqlite: "The database could not be brought up to date",
      postgres: "The database of DATABASE_URL cannot be used",
    };
    expect(refused).toBe(
      `${cannot[engine.name]}: It was made by a newer version of Switchyard, which knows the migration 0009-later. Start that version.`,
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
    ...rest,
  };
}

describeOnEngines("migrations", testMigrations);

describeOnPostgres("migrations of both engines", () => {
  test("end in the same tables, columns, kinds and nulls", async () => {
    const ends: Partial<Record<Engine, readonly Column[]>> = {};
    await Promise.all(
      [newSqlite(), await newPostgres()].map(async ({ engine, database, remove }) => {
        await migrate(database, engine);
        ends[engine] = await columnsOf(database, engine);
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
