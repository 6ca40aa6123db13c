import { expect, test } from "bun:test";
import { openMemoryStore } from "../../../test/simulation/sqlite-memory.ts";
import { openSqliteStore } from "./store.ts";

const PING = { records: [{ sql: "update store_health set pings = pings + 1", values: [] }] };

/** A store whose database fails at one statement with a code of SQLite's, with the statements that it was sent. */
async function failingAt(statement: string, code: string) {
  const database = await openMemoryStore();
  const sent: string[] = [];
  const lost: string[] = [];
  const execute = (text: string): void => {
    sent.push(text);
    if (text === statement) throw Object.assign(new Error(`it says ${code}`), { code });
    database.execute(text);
  };
  const store = openSqliteStore({ ...database, execute }, undefined, (reason) => lost.push(reason));
  return { store, sent, lost };
}

test("a batch that the store cannot take is a passing failure", async () => {
  const { store, sent } = await failingAt("begin immediate", "SQLITE_FULL");
  expect(store.write(PING)).toEqual({ failure: "it says SQLITE_FULL", passing: true });
  expect(sent).toEqual(["begin immediate", "rollback"]);
});

test("a sync that fails is told, since nothing that is written after it can be trusted", async () => {
  const { store, lost } = await failingAt("commit", "SQLITE_IOERR_FSYNC");
  store.write(PING);
  expect(lost).toEqual(["it says SQLITE_IOERR_FSYNC"]);
});

test("another failure of a commit is rolled back, and is no lost sync", async () => {
  const { store, sent, lost } = await failingAt("commit", "SQLITE_FULL");
  expect(store.write(PING)).toEqual({ failure: "it says SQLITE_FULL", passing: true });
  expect(sent).toEqual(["begin immediate", "commit", "rollback"]);
  expect(lost).toEqual([]);
});
