import { afterEach, beforeEach } from "bun:test";
import { sql } from "kysely";
import { Migrator } from "kysely/migration";
import { type Engine, SCHEMA_WORDS } from "../../src/db/engine.ts";
import { MIGRATIONS } from "../../src/db/migrate.ts";
import { initial } from "../../src/db/migrations/0001-initial.ts";
import type { Database } from "../../src/db/schema.ts";
import type { TestEngine, TestPlace } from "../gateway/engines.ts";
import { openAt } from "./books.ts";

// Stores as earlier versions left them, and what is in a store.

/** A new and empty store, before any migration. */
export interface EmptyStore {
  readonly place: TestPlace["place"];
  readonly database: Database;
}

/** A store of its own for each test of a `describe`. */
export function useEmptyStore(engine: TestEngine): EmptyStore {
  let place: TestPlace;
  let database: Database;
  beforeEach(async () => {
    place = await engine.newPlace();
    database = openAt(place.place);
  });
  afterEach(async () => {
    await database.destroy();
    await place.remove();
  });
  return {
    get place() {
      return place.place;
    },
    get database() {
      return database;
    },
  };
}

/** A column as both engines can tell it: table, name, kind, whether it may be null. */
export type Column = readonly [table: string, column: string, kind: string, nullable: boolean];

/** One word for each type of either engine. */
const KINDS: Readonly<Record<string, string>> = {
  text: "text",
  TEXT: "text",
  integer: "integer",
  INTEGER: "integer",
  bigint: "integer",
};

/** The columns of all tables, but for those of migrations. */
export async function columnsOf(database: Database, engine: Engine): Promise<readonly Column[]> {
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
export async function contentOf(database: Database, engine: Engine): Promise<readonly string[]> {
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
export const migrateToFirst = (database: Database, engine: Engine): Promise<void> =>
  migrateWith(database, engine, { "0001-initial": initial });

/** A store as a version that knew no more than these migrations left it. */
export async function migrateWith(
  database: Database,
  engine: Engine,
  migrations: typeof MIGRATIONS,
): Promise<void> {
  const asMigration = (statementsIn: (typeof MIGRATIONS)[string]) => ({
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
export const FIRST_ROWS = [
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

/** A store of the first version with these rows. */
export async function fillFirst(database: Database, engine: Engine): Promise<void> {
  await migrateToFirst(database, engine);
  for (const statement of FIRST_ROWS) await sql.raw(statement).execute(database);
}

/** Statements of all migrations. */
export const statementsOf = (engine: Engine): number =>
  Object.values(MIGRATIONS).reduce((sum, of) => sum + of(SCHEMA_WORDS[engine]).length, 0);

/** Statements of the migrations after the first. */
export const laterStatementsOf = (engine: Engine): number =>
  statementsOf(engine) - initial(SCHEMA_WORDS[engine]).length;
