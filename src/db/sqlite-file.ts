import { openSqlite, type SqliteDatabase } from "../runtime/sqlite.ts";

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

/** Whether this is SQLite's error for a disk that has no room, by its text: what a thread ends with has no code. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && error.message.includes("database or disk is full");
}

/**
 * Opens the database for figures that can be made again from the books. A power failure may take the last of them, in
 * the order of writing. The writer waits for each of their commits, which must therefore be short.
 */
export function openForFigures(path: string): SqliteDatabase {
  const database = openSqlite(path);
  database.execute("pragma busy_timeout = 1000");
  database.execute("pragma synchronous = normal");
  database.execute("pragma wal_autocheckpoint = 4000");
  return database;
}
