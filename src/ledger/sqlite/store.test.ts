import { expect, test } from "bun:test";
import { openMemoryStore } from "../../../test/simulation/sqlite-memory.ts";
import type { SqliteDatabase } from "../../runtime/sqlite.ts";
import { openSqliteStore, readMark } from "./store.ts";

const PING = { records: [{ sql: "update store_health set pings = pings + 1", values: [] }] };

interface Failing {
  /** The statement that fails. */
  readonly at: string;
  /** Whether the engine has ended the transaction by itself: rolled back, or committed after all. */
  readonly ended?: "rolled back" | "committed";
}

/** A store whose database fails once with a code of SQLite's, with the statements that it was sent. */
async function failing({ at, ended }: Failing, code: string) {
  const database = await openMemoryStore();
  const sent: string[] = [];
  const lost: string[] = [];
  let isWell = false;
  const execute = (text: string): void => {
    sent.push(text);
    if (text === at && !isWell) {
      isWell = true;
      if (ended !== undefined) database.execute(ended === "committed" ? "commit" : "rollback");
      throw Object.assign(new Error(`it says ${code}`), { code });
    }
    database.execute(text);
  };
  const failed: SqliteDatabase = { ...database, execute };
  const store = openSqliteStore(failed, undefined, (reason) => lost.push(reason));
  return { store, sent, lost, database };
}

/** Each primary code that a write can fail with: whether it is the store's fault, which passes, or the write's own. */
const CODES: Readonly<Record<string, "passing" | "refused">> = {
  ABORT: "passing",
  AUTH: "passing",
  BUSY: "passing",
  BUSY_SNAPSHOT: "passing",
  CANTOPEN: "passing",
  CORRUPT: "passing",
  ERROR: "passing",
  FULL: "passing",
  INTERNAL: "passing",
  INTERRUPT: "passing",
  IOERR_NOMEM: "passing",
  IOERR_WRITE: "passing",
  LOCKED: "passing",
  MISUSE: "passing",
  NOMEM: "passing",
  NOTADB: "passing",
  PERM: "passing",
  PROTOCOL: "passing",
  READONLY: "passing",
  SCHEMA: "passing",
  CONSTRAINT_CHECK: "refused",
  CONSTRAINT_FOREIGNKEY: "refused",
  CONSTRAINT_TRIGGER: "refused",
  CONSTRAINT_UNIQUE: "refused",
  MISMATCH: "refused",
  RANGE: "refused",
  TOOBIG: "refused",
};

for (const [code, answer] of Object.entries(CODES))
  test(`${code} is ${answer}, and the next write is done`, async () => {
    const { store, sent, lost, database } = await failing({ at: "begin immediate" }, `SQLITE_${code}`);
    const failure = `it says SQLITE_${code}`;
    expect(store.write(PING)).toEqual(answer === "passing" ? { failure, passing: true } : { failure });
    expect(sent).toEqual(["begin immediate", "rollback"]);
    expect(lost).toEqual([]);
    expect(store.write({ ...PING, number: 1 })).toEqual({ rows: [[]] });
    expect(readMark(database)).toBe(1);
  });

test("a failure of our own code is the write's own", async () => {
  const { store } = await failing({ at: "" }, "");
  const written = store.write({ records: [{ sql: "select ?", values: [Symbol("none")] }] });
  expect(Object.keys(written)).toEqual(["failure"]);
});

test("a write that the tables refuse leaves nothing, and its mark neither", async () => {
  const { store, database } = await failing({ at: "" }, "");
  const twice = { sql: "insert into processes (boot_id, lease_until_ms) values ('b', 1)", values: [] };
  const written = store.write({ records: [...PING.records, twice, twice], number: 7 });
  expect(written).toEqual({ failure: "UNIQUE constraint failed: processes.boot_id" });
  expect(readMark(database)).toBe(0);
  expect(database.prepare("select pings from store_health").get()).toEqual({ pings: 0n });
});

for (const code of ["IOERR_FSYNC", "IOERR_DIR_FSYNC", "IOERR_WRITE"])
  test(`a commit that fails with ${code} is told, since nothing that is written after it can be trusted`, async () => {
    const { store, lost } = await failing({ at: "commit" }, `SQLITE_${code}`);
    expect(store.write(PING)).toEqual({ failure: `it says SQLITE_${code}`, passing: true });
    expect(lost).toEqual([`it says SQLITE_${code}`]);
  });

test("a commit that fails and leaves its transaction open is rolled back", async () => {
  const { store, sent, lost } = await failing({ at: "commit" }, "SQLITE_BUSY");
  expect(store.write(PING)).toEqual({ failure: "it says SQLITE_BUSY", passing: true });
  expect(sent).toEqual(["begin immediate", "commit", "rollback"]);
  expect(lost).toEqual([]);
});

test("a commit that the engine has rolled back by itself is known by its number", async () => {
  const { store, database } = await failing({ at: "commit", ended: "rolled back" }, "SQLITE_FULL");
  expect(store.write({ ...PING, number: 3 })).toEqual({ failure: "it says SQLITE_FULL", passing: true });
  expect(store.write({ ...PING, number: 3 })).toEqual({ rows: [[]] });
  expect(database.prepare("select pings from store_health").get()).toEqual({ pings: 1n });
});

test("a commit that was done although it failed is known by its number", async () => {
  const { store } = await failing({ at: "commit", ended: "committed" }, "SQLITE_FULL");
  expect(store.write({ ...PING, number: 3 })).toEqual({ rows: [[]] });
});

test("a commit that was ended without a number cannot be known", async () => {
  const { store } = await failing({ at: "commit", ended: "rolled back" }, "SQLITE_FULL");
  expect(() => store.write(PING)).toThrow("it says SQLITE_FULL");
});

test("a commit is synced, but for one that the disk need not have at once", async () => {
  const database = await openMemoryStore();
  const store = openSqliteStore(database);
  const synced = (isLazy?: boolean): unknown => {
    expect(store.write(isLazy === undefined ? PING : { ...PING, isLazy })).toEqual({ rows: [[]] });
    return database.prepare("pragma synchronous").get()?.synchronous;
  };
  // 2 is `full`, 1 is `normal`.
  expect([synced(), synced(true), synced(true), synced(), synced(false)]).toEqual([2n, 1n, 1n, 2n, 2n]);
});

test("the moments before the mark, the commit and the answer have their failpoints", async () => {
  const database = await openMemoryStore();
  const passed: string[] = [];
  const store = openSqliteStore(database, (name) => passed.push(name));
  const money = [{ changes: "[[],[]]", payloads: new Map() }];
  store.write(PING);
  expect(passed.splice(0)).toEqual(["writer.before_commit", "writer.after_commit"]);
  store.write({ ...PING, money });
  expect(passed).toEqual(["tables.before_mark", "writer.before_commit", "writer.after_commit"]);
  const dies = openSqliteStore(database, (name) => {
    if (name === "writer.before_commit") throw new Error(name);
  });
  const pings = () => database.prepare("select pings from store_health").get()?.["pings"];
  const before = pings();
  expect(dies.write(PING)).toEqual({ failure: "writer.before_commit" });
  expect(pings()).toBe(before as bigint);
});
