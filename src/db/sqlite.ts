import { Kysely, SqliteAdapter, SqliteDialect } from "kysely";
import { openSqlite, type SqliteDatabase, type SqliteValue } from "../runtime/sqlite.ts";
import type { Database, Tables } from "./schema.ts";

/** Opens the database for the writer's thread: write-ahead log, every commit synced to the disk. */
export function openForWriting(path: string): SqliteDatabase {
  const database = openSqlite(path);
  // Before all else: a connection that is closing, of an earlier process or of the audit, may hold the file for a
  // moment.
  database.execute("pragma busy_timeout = 1000");
  database.execute("pragma journal_mode = wal");
  database.execute("pragma synchronous = full");
  database.execute("pragma foreign_keys = on");
  // Without it a replaced row is deleted without the triggers.
  database.execute("pragma recursive_triggers = on");
  // The log is folded back in steps of about 16 MiB, so that no commit waits for a long fold.
  database.execute("pragma wal_autocheckpoint = 4000");
  return database;
}

/** Opens typed reads over the file; the writer and they never block each other. */
export function openForReading(path: string): Database {
  const database = openSqlite(path, { readonly: true });
  database.execute("pragma busy_timeout = 1000");
  database.execute("pragma query_only = on");
  return kyselyOver(database);
}

/** A query builder over an open SQLite database. */
export function kyselyOver(database: SqliteDatabase): Database {
  const dialect = new SqliteDialect({
    database: {
      close: () => database.close(),
      prepare(sql) {
        const statement = database.prepare(sql);
        return {
          reader: statement.givesRows,
          all: (values) => statement.all(...(values as SqliteValue[])),
          run: (values) => ({ changes: statement.run(...(values as SqliteValue[])), lastInsertRowid: 0 }),
          *iterate(values) {
            yield* statement.all(...(values as SqliteValue[]));
          },
        };
      },
    },
  });
  // SQLite changes its schema in transactions like anything else; the adapter assumes that it cannot.
  const adapter = Object.defineProperty(new SqliteAdapter(), "supportsTransactionalDdl", { value: true });
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => adapter,
      createDriver: () => dialect.createDriver(),
      createIntrospector: (db) => dialect.createIntrospector(db),
      createQueryCompiler: () => dialect.createQueryCompiler(),
    },
  });
}
