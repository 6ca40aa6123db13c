import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { openSqlite } from "../runtime/sqlite.ts";
import { openKeptFile } from "./kept-file.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-kept-file-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const item = { account_id: "a", id: "item", response_id: "r", created_at_ms: 1n };

/** What the file itself says under a name. */
function told(file: string, name: string): unknown {
  const database = openSqlite(file);
  const [value] = Object.values(database.prepare(`pragma ${name}`).get() ?? {});
  database.close();
  return value;
}

test("a file is made once and keeps what it has", async () => {
  const file = join(folder, "kept.db");
  const made = openKeptFile(file);
  await made.insertInto("kept_items").values(item).execute();
  await made.destroy();
  const again = openKeptFile(file);
  expect(await again.selectFrom("kept_items").selectAll().execute()).toEqual([item]);
  await again.destroy();
});

test("a file gives room back, and its readers do not wait for its writer", async () => {
  const file = join(folder, "form.db");
  await openKeptFile(file).destroy();
  // 2 is `incremental`.
  expect(told(file, "auto_vacuum")).toBe(2n);
  expect(told(file, "journal_mode")).toBe("wal");
});

test("a file that is held is waited for by a second, and is synced when its log is folded", async () => {
  const kept = openKeptFile(join(folder, "held.db"));
  expect((await sql`pragma busy_timeout`.execute(kept)).rows).toEqual([{ timeout: 1_000n }]);
  // 1 is `normal`.
  expect((await sql`pragma synchronous`.execute(kept)).rows).toEqual([{ synchronous: 1n }]);
  await kept.destroy();
});

test("a file of a later form is left alone, and told by its path", async () => {
  const file = join(folder, "later.db");
  await openKeptFile(file).destroy();
  expect(told(file, "user_version")).toBe(1n);
  const database = openSqlite(file);
  database.execute("pragma user_version = 2");
  database.close();
  expect(() => openKeptFile(file)).toThrow(`${file} was made by a newer version of Switchyard.`);
});
