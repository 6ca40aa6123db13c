import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { openSqlite } from "../runtime/sqlite.ts";
import { openForReading } from "./sqlite.ts";
import { isDiskFull, openForFigures, openForWriting } from "./sqlite-file.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-sqlite-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const HOLDER = `
  const database = new (require("bun:sqlite").Database)(process.argv[1]);
  database.run("begin exclusive");
  process.stdout.write("held");
  setTimeout(() => database.run("commit"), 50);
`;

/** Whether the file could be opened while another process held it for a moment longer. */
async function opensWhileHeld(file: string): Promise<boolean> {
  const holder = Bun.spawn([process.execPath, "-e", HOLDER, file], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
  });
  await holder.stdout.getReader().read();
  try {
    openForWriting(file).close();
    return true;
  } catch {
    return false;
  } finally {
    await holder.exited;
  }
}

test("a file that another connection holds for a moment is waited for", async () => {
  // On a machine that is busy the holder may take longer than is waited; without a wait no try succeeds.
  const tries: boolean[] = [];
  for (let i = 0; i < 5 && !tries.includes(true); i++)
    tries.push(await opensWhileHeld(join(folder, `${i}.db`)));
  expect(tries).toContain(true);
});

test("who reads is not in the way of the writer, and sees one moment", () => {
  const file = join(folder, "read.db");
  const writer = openForWriting(file);
  writer.execute("create table t (n integer)");
  const reader = openSqlite(file);
  reader.execute("begin");
  const rows = reader.prepare("select n from t");
  expect(rows.all()).toEqual([]);
  writer.execute("insert into t values (1)");
  expect(rows.all()).toEqual([]);
  reader.execute("commit");
  expect(rows.all()).toEqual([{ n: 1n }]);
  reader.close();
  writer.close();
});

test("the writer puts in no row that refers to none, and replaces none behind the triggers' back", () => {
  const writer = openForWriting(join(folder, "rules.db"));
  writer.execute("create table a (id text primary key, n integer)");
  writer.execute("create table b (a text references a (id))");
  expect(() => writer.execute("insert into b values ('x')")).toThrow("FOREIGN KEY");
  writer.execute("insert into a values ('x', 1)");
  writer.execute("create trigger kept before delete on a begin select raise(abort, 'it is kept'); end");
  expect(() => writer.execute("replace into a values ('x', 2)")).toThrow("it is kept");
  writer.close();
});

test("the log is folded into the file in steps of about 16 MiB, not at each commit of a few", () => {
  const file = join(folder, "log.db");
  const writer = openForWriting(file);
  writer.execute("create table t (bytes blob)");
  writer.execute("pragma wal_checkpoint(truncate)");
  const folded = statSync(file).size;
  const write = (mib: number): void => {
    for (let i = 0; i < mib; i += 1) writer.execute("insert into t values (zeroblob(1024 * 1024))");
  };
  write(14);
  expect(statSync(file).size).toBe(folded);
  write(4);
  expect(statSync(file).size).toBeGreaterThan(14 * 1024 * 1024);
  writer.close();
});

test("reads wait a second for a file that is held, and write nothing", async () => {
  const file = join(folder, "reads.db");
  const writer = openForWriting(file);
  writer.execute("create table t (n integer)");
  const reads = openForReading(file);
  expect((await sql`pragma busy_timeout`.execute(reads)).rows).toEqual([{ timeout: 1_000n }]);
  expect(await sql`insert into t values (1)`.execute(reads).catch(String)).toContain("readonly");
  await reads.destroy();
  writer.close();
});

test("reads make no file where there is none", () => {
  const file = join(folder, "missing.db");
  expect(() => openForReading(file)).toThrow("unable to open");
  expect(existsSync(file)).toBe(false);
});

test("figures wait a second for a file that is held, and are folded into it in large steps", () => {
  const file = join(folder, "figures.db");
  openForWriting(file).close();
  const figures = openForFigures(file);
  const told = ["busy_timeout", "synchronous", "wal_autocheckpoint"].map((name) =>
    Object.values(figures.prepare(`pragma ${name}`).get() ?? {}),
  );
  // 1 is `normal`: the log is synced when it is folded, and not at each commit.
  expect(told).toEqual([[1_000n], [1n], [4_000n]]);
  figures.close();
});

test("a full disk is known by the text of SQLite's error", () => {
  expect(isDiskFull(new Error("SQLiteError: database or disk is full"))).toBe(true);
  for (const other of [new Error("database is locked"), "database or disk is full", undefined])
    expect(isDiskFull(other)).toBe(false);
});
