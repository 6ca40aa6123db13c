import { Database } from "bun:sqlite";

/** A value that SQLite stores. Integers come back as `bigint`, whole and exact. */
export type SqliteValue = string | bigint | number | Uint8Array | null;

/** A row as SQLite gives it. */
export type SqliteRow = Readonly<Record<string, SqliteValue>>;

/** A compiled statement. */
export interface SqliteStatement {
  /** Runs it and tells how many rows it changed. */
  run(...values: SqliteValue[]): number;
  get(...values: SqliteValue[]): SqliteRow | undefined;
  all(...values: SqliteValue[]): SqliteRow[];
  /** Whether the statement returns rows. */
  readonly givesRows: boolean;
}

/** An open database file. */
export interface SqliteDatabase {
  /** Runs statements that return nothing. */
  execute(sql: string): void;
  prepare(sql: string): SqliteStatement;
  close(): void;
}

/** Opens the file at `path`, made when it is missing unless `readonly`. Throws SQLite's error when it cannot. */
export function openSqlite(path: string, options: { readonly readonly?: boolean } = {}): SqliteDatabase {
  const database = new Database(
    path,
    options.readonly === true
      ? { readonly: true, safeIntegers: true }
      : { readwrite: true, create: true, safeIntegers: true },
  );
  return {
    execute: (sql) => {
      database.run(sql);
    },
    prepare(sql) {
      const statement = database.query<SqliteRow, SqliteValue[]>(sql);
      return {
        run: (...values) => statement.run(...values).changes,
        get: (...values) => statement.get(...values) ?? undefined,
        all: (...values) => statement.all(...values),
        givesRows: statement.columnNames.length > 0,
      };
    },
    close: () => database.close(),
  };
}
