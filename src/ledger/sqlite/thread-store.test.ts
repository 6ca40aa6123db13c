import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { printedOnFullDisk } from "../../../test/files.ts";
import { migrate } from "../../db/migrate.ts";
import { kyselyOver } from "../../db/sqlite.ts";
import { openForWriting } from "../../db/sqlite-file.ts";
import { NO_REFERENCES } from "../decide/state.ts";
import { type BooksStore, openThreadStore } from "./thread-store.ts";

const PING = { records: [{ sql: "update store_health set pings = pings + 1", values: [] }] };

let folder: string;
let store: BooksStore;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "switchyard-thread-"));
  const databaseFile = join(folder, "switchyard.db");
  const database = kyselyOver(openForWriting(databaseFile));
  await migrate(database, "sqlite");
  await database.destroy();
  store = openThreadStore({ databaseFile, failpoint: null }, () => undefined);
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const why = (asked: Promise<unknown>) =>
  asked.then(
    () => "done",
    (error: Error) => error.message,
  );

test("the thread answers in the order of asking", async () => {
  const [found, written] = await Promise.all([store.load(NO_REFERENCES), store.write(PING)]);
  expect(found.accounts.size).toBe(0);
  expect(written).toEqual({ rows: [[]] });
});

test("what is asked when the tables are closed is refused, and so is what has no answer yet", async () => {
  await store.load(NO_REFERENCES);
  const unanswered = why(store.write(PING));
  await store.close();
  expect(await unanswered).toBe("The ledger's thread was closed.");
  expect(await why(store.load(NO_REFERENCES))).toBe("The ledger's thread is closed.");
});

test("what a thread has not answered when it dies is refused with the reason, each time", async () => {
  const databaseFile = join(folder, "later", "switchyard.db");
  const dying = openThreadStore({ databaseFile, failpoint: null }, () => undefined);
  const both = await Promise.all([why(dying.load(NO_REFERENCES)), why(dying.write(PING))]);
  for (const reason of both) expect(reason).toStartWith("The ledger's thread ended: ");
  expect(await why(dying.load(NO_REFERENCES))).toStartWith("The ledger's thread ended: ");
  await dying.close();
});

test("that the disk has failed to keep a commit is told with the reason, and nothing is told before", () => {
  const imported = (name: string): string => `await import(${JSON.stringify(join(import.meta.dir, name))})`;
  const script = `
    const { openThreadStore } = ${imported("thread-store.ts")};
    const { NO_REFERENCES } = ${imported("../decide/state.ts")};
    const settings = { databaseFile: ${JSON.stringify(join(folder, "switchyard.db"))}, failpoint: null };
    const lost = [];
    const store = openThreadStore(settings, (reason) => lost.push(reason));
    await store.load(NO_REFERENCES);
    let [tries, before, written] = [0];
    do {
      before = [...lost];
      written = await store.write(${JSON.stringify(PING)});
    } while ("rows" in written && (tries += 1) < 99);
    console.log(JSON.stringify({ wasDone: tries > 0, before, written, lost }));
    await store.close();
  `;
  // Room for the files at their start and for a few commits.
  expect(JSON.parse(printedOnFullDisk(script, 100))).toEqual({
    wasDone: true,
    before: [],
    written: { failure: "disk I/O error", passing: true },
    lost: ["disk I/O error"],
  });
});
