import { migrate } from "../../src/db/migrate.ts";
import { kyselyOver } from "../../src/db/sqlite.ts";
import { openSqlite, type SqliteDatabase } from "../../src/runtime/sqlite.ts";

let schema: Promise<readonly string[]> | undefined;

/** An empty store in memory with the current schema, made in a millisecond: there is no disk and nothing to sync. */
export async function openMemoryStore(): Promise<SqliteDatabase> {
  schema ??= readSchema();
  const statements = await schema;
  const database = openSqlite(":memory:");
  database.execute("pragma foreign_keys = on");
  database.execute("pragma recursive_triggers = on");
  for (const statement of statements) database.execute(statement);
  return database;
}

/** The statements of all migrations for SQLite. */
async function readSchema(): Promise<readonly string[]> {
  const migrated = openSqlite(":memory:");
  await migrate(kyselyOver(migrated), "sqlite");
  const made = migrated
    .prepare(
      `select sql from sqlite_master where sql is not null and name not like 'sqlite_%' and name not like 'kysely_%'
       order by case type when 'table' then 0 else 1 end`,
    )
    .all()
    .map(({ sql }) => String(sql));
  migrated.close();
  return [
    ...made,
    "insert into store_health (pings) values (0)",
    "insert into journal (journal, number, is_closed) values (null, 0, 1)",
  ];
}
