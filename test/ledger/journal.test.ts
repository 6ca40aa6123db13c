import { afterEach, beforeEach, expect, test } from "bun:test";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { systemClock } from "../../src/core/time/clock.ts";
import { migrate } from "../../src/db/migrate.ts";
import { openForWriting } from "../../src/db/sqlite-file.ts";
import { kyselyOver } from "../../src/db/sqlite.ts";
import type { Settle, Void } from "../../src/ledger/commands.ts";
import type { Intent } from "../../src/ledger/sqlite/intents.ts";
import { openIntents, readIntents } from "../../src/ledger/sqlite/intents.ts";
import { openJournalStore } from "../../src/ledger/sqlite/journal-store.ts";
import { type Keeper, openKeeper } from "../../src/ledger/sqlite/keeper.ts";
import { openSqliteStore } from "../../src/ledger/sqlite/store.ts";
import { readMark, takeOverJournal } from "../../src/ledger/sqlite/take-over.ts";
import type { SqliteDatabase } from "../../src/runtime/sqlite.ts";
import { assertBooks } from "../simulation/check-books.ts";
import type { Fate } from "../simulation/kept-books.ts";
import { commandsFor } from "./books.ts";

const SEED = Number(process.env.SWITCHYARD_TEST_SEED ?? "1");
const LONG = process.env.SWITCHYARD_TEST_LONG === "1";

let folder: string;
let file: string;
let database: SqliteDatabase;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "switchyard-journal-"));
  file = join(folder, "switchyard.db");
  database = openForWriting(file);
  await migrate(kyselyOver(database), "sqlite");
});
afterEach(() => {
  database.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Process {
  readonly keeper: Keeper;
  readonly left: readonly Intent[];
  incomplete: boolean;
  lost: string | undefined;
  /** As a kill leaves it: nothing more comes to the tables. */
  kill(): void;
}

/** A process over the real files; each transaction asks `fateOf` what becomes of it. */
async function start(fateOf: () => Fate = () => "done"): Promise<Process> {
  const state = { incomplete: false, lost: undefined as string | undefined, isDead: false };
  const taken = takeOverJournal({
    database,
    prefix: `${file}.journal`,
    newId: () => crypto.randomUUID(),
    onIncomplete: () => (state.incomplete = true),
  });
  const tables = openSqliteStore(database);
  const store = openJournalStore({
    ...taken,
    tables: {
      load: async (references) => tables.load(references),
      async write(batch) {
        await Promise.resolve();
        const fate = state.isDead ? "lost before" : fateOf();
        if (fate === "refused") return { failure: "the disk is full", passing: true };
        if (fate === "lost before") throw new Error("the thread died");
        const written = tables.write(batch);
        if (fate === "lost after") throw new Error("the thread died");
        return written;
      },
      current: async () => {},
      close: async () => {},
    },
    readMark: () => readMark(database),
    onLost: (reason) => (state.lost = reason),
    isLost: () => state.lost !== undefined,
    pace: systemClock,
  });
  const left = readIntents(`${file}.intents`, taken.journal.id);
  const keeper = await openKeeper({
    store,
    left,
    openIntents: (open) => openIntents(`${file}.intents`, taken.journal.id, open),
    lost: () => state.lost,
  });
  return Object.assign(state, { keeper, left, kill: () => void (state.isDead = true) });
}

const { createAccount, issueKey, grant, hold, settle, voided } = commandsFor((name) => name);

async function insist(keeper: Keeper, command: Settle | Void) {
  for (let tries = 0; tries < 200; tries += 1) {
    const outcomes = await keeper.execute([command]).catch(() => undefined);
    const [outcome] = outcomes ?? [];
    if (outcome !== undefined && "answer" in outcome) return outcome.answer;
  }
  throw new Error("The keeper takes nothing.");
}

const balance = (): bigint =>
  database.prepare("select balance from accounts where id = 'a'").get()?.balance as bigint;

test("what was charged stands in the tables after any faults and kills, each charge once", async () => {
  await (await start()).keeper.execute([createAccount("a"), issueKey("k"), grant("g", 1_000_000n)]);
  let [left, charged, round] = [1_000_000n, 0, 0];
  const fates: readonly Fate[] = ["refused", "lost before", "lost after"];
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(9), { minLength: 30, maxLength: 60, size: "max" }), async (choices) => {
      round += 1;
      let next = 0;
      const choose = (): number => choices[(next += 1) % choices.length] as number;
      const one = await start(() => fates[choose()] ?? "done");
      for (const [i, choice] of choices.entries()) {
        const name = `h${round}-${i}`;
        const made = await Promise.resolve()
          .then(() => one.keeper.hold(hold(name, 20n)))
          .catch(() => undefined);
        if (made?.ok !== true || choice === 9) continue;
        if (choice === 8) await one.keeper.current().catch(() => undefined);
        const answer = await insist(one.keeper, choice === 7 ? voided(name) : settle(name, BigInt(choice)));
        if (!answer.ok) throw new Error("A hold was not known.");
        if ("charged" in answer) left -= answer.charged;
        charged += 1;
      }
      expect(one.lost).toBeUndefined();
      one.kill();
      const two = await start();
      expect(two.incomplete).toBe(false);
      // Holds that had not ended are known, and are ended by whoever takes over.
      const ends = two.keeper.abandoned({ bootId: "b2", nowMs: 3, steadyMs: 0 });
      for (const end of ends) await two.keeper.execute([end]);
      await two.keeper.current();
      expect(balance()).toBe(left);
      await assertBooks((sql) => database.prepare(sql).all());
      expect(await two.keeper.compare()).toEqual([]);
      two.kill();
    }),
    { seed: SEED, numRuns: LONG ? 400 : 12 },
  );
  expect(charged).toBeGreaterThan(100);
}, 600_000);

test("a journal cut at any byte holds every record before the cut, and none after it", async () => {
  const one = await start();
  await one.keeper.execute([createAccount("a"), issueKey("k"), grant("g", 1_000n)]);
  await one.keeper.current();
  one.kill();
  // The tables, with nothing of what comes now.
  database.execute("pragma wal_checkpoint(truncate)");
  copyFileSync(file, `${file}.before`);
  const ends: number[] = [];
  for (let i = 0; i < 6; i += 1) {
    await one.keeper.hold(hold(`h${i}`, 100n));
    await one.keeper.execute([settle(`h${i}`, 10n)]);
    ends.push(lastByte(readFileSync(`${file}.journal-a`)));
  }
  const whole = readFileSync(`${file}.journal-a`);
  const last = ends.at(-1) as number;
  for (let cut = 64; cut <= last; cut += LONG ? 1 : 37) {
    database.close();
    copyFileSync(`${file}.before`, file);
    const bytes = Buffer.from(whole);
    // What the disk had not taken yet is what stood there before.
    bytes.fill(cut % 2 === 0 ? 0 : 0xa5, cut);
    writeFileSync(`${file}.journal-a`, bytes);
    database = openForWriting(file);
    const two = await start();
    expect([cut, balance()]).toEqual([cut, 1_000n - 10n * BigInt(ends.filter((end) => end <= cut).length)]);
    await assertBooks((sql) => database.prepare(sql).all());
    two.kill();
  }
}, 600_000);

/** Where the last record ends: behind it nothing was written. */
function lastByte(bytes: Buffer): number {
  let end = bytes.length;
  while (bytes[end - 1] === 0) end -= 1;
  return end;
}

test("goes on in the other file once its records are durable, over and over", async () => {
  const one = await start();
  await one.keeper.execute([createAccount("a"), issueKey("k"), grant("g", 1_000_000n)]);
  const rounds = LONG ? 12_000 : 3_000;
  for (let i = 0; i < rounds; i += 1) {
    await one.keeper.hold(hold(`h${i}`, 1n));
    await one.keeper.execute([settle(`h${i}`, 1n, { usage: JSON.stringify({ filler: "x".repeat(600) }) })]);
  }
  one.kill();
  const two = await start();
  expect(two.incomplete).toBe(false);
  expect(balance()).toBe(1_000_000n - BigInt(rounds));
  await assertBooks((sql) => database.prepare(sql).all());
  await two.keeper.close();
}, 600_000);

test("a database that was copied without its journal is told to be incomplete; one that was closed is not", async () => {
  const one = await start();
  await one.keeper.execute([createAccount("a"), issueKey("k"), grant("g", 1_000n)]);
  await one.keeper.hold(hold("h", 10n));
  await one.keeper.execute([settle("h", 10n)]);
  one.kill();
  for (const name of ["a", "b"]) rmSync(`${file}.journal-${name}`);
  const two = await start();
  expect(two.incomplete).toBe(true);
  await two.keeper.close();
  for (const name of ["a", "b"]) rmSync(`${file}.journal-${name}`);
  const three = await start();
  expect(three.incomplete).toBe(false);
  await three.keeper.close();
});

test("an older copy of the database does not get records that do not follow it", async () => {
  const one = await start();
  await one.keeper.execute([createAccount("a"), issueKey("k"), grant("g", 1_000_000n)]);
  await one.keeper.current();
  database.execute("pragma wal_checkpoint(truncate)");
  copyFileSync(file, `${file}.before`);
  for (let i = 0; i < 4_000; i += 1) {
    await one.keeper.hold(hold(`h${i}`, 1n));
    await one.keeper.execute([settle(`h${i}`, 1n, { usage: JSON.stringify({ filler: "x".repeat(600) }) })]);
  }
  one.kill();
  database.close();
  for (const suffix of ["-wal", "-shm"]) rmSync(`${file}${suffix}`, { force: true });
  copyFileSync(`${file}.before`, file);
  database = openForWriting(file);
  const two = await start();
  expect(two.incomplete).toBe(true);
  expect(balance()).toBe(1_000_000n);
  await two.keeper.close();
}, 600_000);

test("a database that is locked at the start is told as that, and its journal is left alone", async () => {
  const one = await start();
  await one.keeper.execute([createAccount("a"), issueKey("k"), grant("g", 1_000n)]);
  await one.keeper.current();
  await one.keeper.hold(hold("h", 10n));
  await one.keeper.execute([settle("h", 10n)]);
  one.kill();
  const other = openForWriting(file);
  other.execute("begin immediate");
  const refused: unknown = await start().then(
    () => "it started",
    (error: Error) => error.message,
  );
  expect(refused).toMatch(/^The database cannot be written now: database is locked/);
  other.execute("rollback");
  other.close();
  const two = await start();
  expect(balance()).toBe(990n);
  two.kill();
});

test("a journal of another database is set aside, and notes that belong to it are not read", async () => {
  const one = await start();
  await one.keeper.execute([createAccount("a"), issueKey("k"), grant("g", 1_000n)]);
  await one.keeper.hold(hold("open", 10n));
  await one.keeper.hold(hold("h", 10n));
  await one.keeper.execute([settle("h", 10n)]);
  one.kill();
  const records = readFileSync(`${file}.journal-a`);
  database.execute("update journal set journal = 'another'");
  const two = await start();
  expect([two.incomplete, two.left]).toEqual([true, []]);
  expect(two.keeper.held().accounts.size).toBe(0);
  const aside = readdirSync(folder).filter((name) => name.startsWith("switchyard.db.journal-a.before-"));
  expect(aside.length).toBe(1);
  expect(readFileSync(join(folder, String(aside[0])))).toEqual(records);
  await two.keeper.close();
});

test("an audit of memory beside requests that end finds nothing wrong, and what is changed past it is found", async () => {
  const one = await start();
  await one.keeper.execute([createAccount("a"), issueKey("k"), grant("g", 1_000_000n)]);
  const ends = Array.from({ length: 200 }, async (_, i) => {
    await one.keeper.hold(hold(`h${i}`, 10n));
    await one.keeper.execute([settle(`h${i}`, 3n)]);
  });
  const looks = Array.from({ length: 20 }, () => one.keeper.compare());
  expect(await Promise.all(looks)).toEqual(looks.map(() => []));
  await Promise.all(ends);
  database.execute("update accounts set balance = balance + 1");
  expect(await one.keeper.compare()).toEqual(["a"]);
  one.kill();
});
