import { openSqlite } from "../runtime/sqlite.ts";
import { SCHEMA_WORDS } from "./engine.ts";
import type { KeptDatabase, KeptTables } from "./kept-tables.ts";
import { keptResponses } from "./migrations/0009-kept-responses.ts";
import { kyselyOver } from "./sqlite.ts";

/** The form of the tables: a later one has its number here, and its statements below. */
const FORM = 1n;

/**
 * Opens the file of answers that are kept, for reading and writing; makes it where it is missing. What was written
 * outlives the process; the last of it may be lost with the machine's power, and the rest is whole.
 */
export function openKeptFile(path: string): KeptDatabase {
  const database = openSqlite(path);
  database.execute("pragma busy_timeout = 1000");
  // Room that deleted answers leave goes back to the disk.
  database.execute("pragma auto_vacuum = incremental");
  database.execute("pragma journal_mode = wal");
  database.execute("pragma synchronous = normal");
  const { user_version: form } = database.prepare("pragma user_version").get() ?? {};
  if (typeof form === "bigint" && form > FORM)
    throw new Error(`${path} was made by a newer version of Switchyard. Start that version, or delete it.`);
  if (form !== FORM) {
    database.execute("begin immediate");
    for (const statement of keptResponses(SCHEMA_WORDS.sqlite)) database.execute(statement);
    database.execute(`pragma user_version = ${FORM}`);
    database.execute("commit");
  }
  return kyselyOver<KeptTables>(database);
}
