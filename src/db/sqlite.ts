import {
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteDialect,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import { openSqlite, type SqliteDatabase, type SqliteValue } from "../runtime/sqlite.ts";
import type { Database, Tables } from "./schema.ts";

/** Opens typed reads over the file; the writer and they never block each other. */
export function openForReading(path: string): Database {
  const database = openSqlite(path, { readonly: true });
  database.execute("pragma busy_timeout = 1000");
  database.execute("pragma query_only = on");
  return kyselyOver(database);
}

/** A query builder over an open SQLite database. */
export function kyselyOver<Held = Tables>(database: SqliteDatabase): Kysely<Held> {
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
  return new Kysely<Held>({
    dialect: {
      createAdapter: () => adapter,
      createDriver: () => dialect.createDriver(),
      createIntrospector: (db) => dialect.createIntrospector(db),
      createQueryCompiler: () => dialect.createQueryCompiler(),
    },
  });
}

/** A query builder that compiles statements and runs none. */
export function sqliteCompiler(): Database {
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });
}
