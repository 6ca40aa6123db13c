import { expect, test } from "bun:test";
import { openMemoryStore } from "../../../test/simulation/sqlite-memory.ts";
import { commandsFor } from "../../../test/ledger/books.ts";
import { taskCommandsFor } from "../../../test/ledger/task-commands.ts";
import type { SqliteDatabase } from "../../runtime/sqlite.ts";
import { noChanges } from "../decide/changes.ts";
import { referencesOf } from "../decide/state.ts";
import { openSqliteRows } from "./rows.ts";
import { openTableBooks } from "../../../test/simulation/table-books.ts";
import { batchOf } from "./batch.ts";

test("of a task that is not as it was read nothing is written, and whoever writes hears of it", async () => {
  const database = await openMemoryStore();
  const { createAccount, issueKey, grant } = commandsFor((name) => name);
  const { submit, claim } = taskCommandsFor((name) => name);
  openTableBooks(database).apply([createAccount("a"), issueKey("k"), grant("g", 9n)]);
  openTableBooks(database).apply([submit("x", 9n)]);
  openTableBooks(database).apply([claim("x")]);
  const rows = openSqliteRows(database);
  const row = rows.load(referencesOf([claim("x")])).tasks.get("x");
  if (row === undefined) throw new Error("The task is not there.");
  for (const before of [
    { was: "pending", atEpoch: 1 },
    { was: "running", atEpoch: 0 },
    { was: "running", atEpoch: 2 },
  ] as const) {
    const changedTasks = new Map([["x", { ...row, attempts: 5, ...before }]]);
    expect(() => rows.save(batchOf([], { ...noChanges(), changedTasks }).money!)).toThrow(
      "The row x was not as it had been read.",
    );
  }
  expect(rows.load(referencesOf([claim("x")])).tasks.get("x")).toEqual(row);
  database.close();
});

test("records that go into the tables together write an account and a key once, with the sum of what they change", async () => {
  const database = await openMemoryStore();
  const { createAccount, issueKey, grant } = commandsFor((name) => name);
  openTableBooks(database).apply([createAccount("a"), createAccount("b"), issueKey("k"), grant("g", 100n)]);
  const change = (id: string, balance: bigint, spent: bigint) => ({
    ...noChanges(),
    accounts: new Map([[id, { id, balance, held: 0n }]]),
    keys: new Map([["k", { id: "k", spent, held: 0n }]]),
  });
  const all = [change("a", -30n, 30n), change("b", 7n, 0n), change("a", -50n, 50n)];
  const rows = openSqliteRows(database);
  const written = () => database.prepare("select total_changes() as rows").get()?.["rows"] as bigint;
  const before = written();
  rows.save(all.flatMap((changes) => batchOf([], changes).money ?? []));
  expect(written() - before).toBe(3n);
  expect(database.prepare("select id, balance from accounts order by id").all()).toEqual([
    { id: "a", balance: 20n },
    { id: "b", balance: 7n },
  ]);
  expect(database.prepare("select spent from keys").all()).toEqual([{ spent: 80n }]);
  database.close();
});

test("two records of one account are both written, by one change of its row", async () => {
  const database = await openMemoryStore();
  const { createAccount, grant } = commandsFor((name) => name);
  openTableBooks(database).apply([createAccount("a"), grant("g", 1n)]);
  const given = { ...noChanges(), accounts: new Map([["a", { id: "a", balance: 7n, held: 0n }]]) };
  const rows = openSqliteRows(database);
  const written = () => database.prepare("select total_changes() as rows").get()?.["rows"] as bigint;
  const before = written();
  rows.save([given, given].flatMap((changes) => batchOf([], changes).money ?? []));
  expect(written() - before).toBe(1n);
  expect(database.prepare("select balance from accounts").all()).toEqual([{ balance: 15n }]);
  database.close();
});

test("prices that many records go by are written once, as the first of them has them", async () => {
  const database = await openMemoryStore();
  let runs = 0;
  const counted: SqliteDatabase = {
    ...database,
    prepare(text) {
      const statement = database.prepare(text);
      if (!text.startsWith("insert into price_versions")) return statement;
      return { ...statement, run: (...values) => ((runs += 1), statement.run(...values)) };
    },
  };
  const goingBy = (version: string, model: string) => ({
    ...noChanges(),
    prices: new Map([[version, { version, model, rules: "[]", createdAtMs: 1 }]]),
  });
  const all = [goingBy("v1", "one"), goingBy("v2", "two"), goingBy("v1", "another"), goingBy("v2", "two")];
  openSqliteRows(counted).save(all.flatMap((changes) => batchOf([], changes).money ?? []));
  expect(runs).toBe(2);
  expect(database.prepare("select version, model from price_versions order by version").all()).toEqual([
    { version: "v1", model: "one" },
    { version: "v2", model: "two" },
  ]);
  database.close();
});

test("tasks are read as they were written, those that wait and run are counted, and what was asked stays until the end", async () => {
  const database = await openMemoryStore();
  const { createAccount, issueKey, grant } = commandsFor((name) => name);
  const { submit, claim, finish } = taskCommandsFor((name) => name);
  openTableBooks(database).apply([createAccount("a"), issueKey("k"), grant("g", 9n)]);
  const rows = openSqliteRows(database);
  const read = (): readonly unknown[] => {
    const { tasks, pending, running } = rows.load(
      referencesOf([submit("x", 1n), submit("y", 1n), claim("x", { provider: "p" })]),
    );
    const asked = database.prepare("select task_id from task_payloads order by 1").all();
    return [
      ["x", "y"].map((name) => [tasks.get(name)?.state, tasks.get(name)?.epoch, tasks.get(name)?.endedAtMs]),
      [pending.get("a"), running.get("p")],
      asked.map((row) => row["task_id"]),
    ];
  };
  openTableBooks(database).apply([submit("x", 1n), submit("y", 1n)]);
  openTableBooks(database).apply([claim("x", { provider: "p" })]);
  const waits = ["pending", 0, null];
  expect(read()).toEqual([
    [["running", 1, null], waits],
    [1, 1],
    ["x", "y"],
  ]);
  openTableBooks(database).apply([finish("x", 1n, { nowMs: 5 })]);
  expect(read()).toEqual([[["completed", 1, 5], waits], [1, 0], ["y"]]);
  database.close();
});
