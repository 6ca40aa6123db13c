import { afterEach, beforeEach, expect, test } from "bun:test";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { noFailpoint } from "../../src/core/failpoint.ts";
import { systemClock } from "../../src/core/time/clock.ts";
import { migrate } from "../../src/db/migrate.ts";
import { openForWriting } from "../../src/db/sqlite-file.ts";
import { kyselyOver } from "../../src/db/sqlite.ts";
import { checkSnapshot } from "../../src/ledger/audit/audit.ts";
import type { Settle, Void } from "../../src/ledger/commands.ts";
import type { Intent } from "../../src/ledger/intents.ts";
import { openIntents, readIntents } from "../../src/ledger/intents.ts";
import { openJournalStore } from "../../src/ledger/sqlite/journal-store.ts";
import { type Keeper, openKeeper } from "../../src/ledger/sqlite/keeper.ts";
import { endsIn, type Gap } from "../../src/ledger/sqlite/gaps.ts";
import { journalAt } from "../../src/ledger/sqlite/journal-file.ts";
import { openSqliteStore, readMark } from "../../src/ledger/sqlite/store.ts";
import { takeOverJournal } from "../../src/ledger/sqlite/take-over.ts";
import type { SqliteDatabase } from "../../src/runtime/sqlite.ts";
import { LONG, SEED } from "../runs.ts";
import { assertBooks } from "../simulation/check-books.ts";
import type { Fate } from "../simulation/kept-books.ts";
import { commandsFor } from "./books.ts";

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
  readonly gaps: readonly Gap[];
  lost: string | undefined;
  /** As a kill leaves it: nothing more comes to the tables. */
  kill(): void;
}

/** A process over the real files; each transaction after its start asks `fateOf` what becomes of it. */
async function start(fateOf: () => Fate = () => "done"): Promise<Process> {
  const state = { gaps: [] as Gap[], lost: undefined as string | undefined, isDead: false };
  let isUp = false;
  const home = journalAt(`${file}.journal`);
  const taken = takeOverJournal(database, home, () => crypto.randomUUID());
  const tables = openSqliteStore(database);
  const store = await openJournalStore({
    ...taken,
    home,
    tables: {
      load: async (references) => tables.load(references),
      async write(batch) {
        await Promise.resolve();
        const fate = state.isDead ? "lost before" : isUp ? fateOf() : "done";
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
    onGap: (gap) => state.gaps.push(gap),
    onLost: (reason) => (state.lost = reason),
    isLost: () => state.lost !== undefined,
    pace: systemClock,
    failpoint: noFailpoint,
  });
  const left = readIntents(`${file}.intents`, taken.journal.id);
  const keeper = await openKeeper({
    store,
    left,
    openIntents: (open) => openIntents(`${file}.intents`, taken.journal.id, open),
    lost: () => state.lost,
  });
  isUp = true;
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
      expect(two.gaps).toEqual([]);
      // Holds that had not ended are known, and are ended by whoever takes over.
      const ends = two.keeper.abandoned({ bootId: "b2", nowMs: 3, steadyMs: 0 });
      for (const end of ends) await two.keeper.execute([end]);
      await two.keeper.current();
      expect(balance()).toBe(left);
      await assertBooks((sql) => database.prepare(sql).all());
      expect(await two.keeper.compare()).toEqual([]);
      two.kill();
    }),
    { seed: SEED, numRuns: LONG ? 100 : 12 },
  );
  expect(charged).toBeGreaterThan(100);
}, 1_200_000);

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

test("notes cut at any byte tell of every hold before the cut, and of none after it", async () => {
  const notes = `${file}.intents`;
  const one = await start();
  await one.keeper.execute([createAccount("a"), issueKey("k"), grant("g", 1_000n)]);
  const ends: number[] = [];
  for (let i = 0; i < 4; i += 1) {
    await one.keeper.hold(hold(`h${i}`, 100n, { priceVersion: `v${i % 2}` }));
    ends.push(readFileSync(notes).length);
  }
  one.kill();
  const whole = readFileSync(notes);
  for (let cut = 0; cut <= whole.length; cut += LONG ? 1 : 7) {
    writeFileSync(notes, whole.subarray(0, cut));
    const two = await start();
    // A line is whole without its end.
    const known = ends.filter((end) => end - 1 <= cut).length;
    expect([cut, two.left.length]).toEqual([cut, known]);
    expect([cut, two.keeper.held().accounts.get("a") ?? 0n]).toEqual([cut, 100n * BigInt(known)]);
    two.kill();
  }
}, 600_000);

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
  expect(two.gaps).toEqual([]);
  expect(balance()).toBe(1_000_000n - BigInt(rounds));
  await assertBooks((sql) => database.prepare(sql).all());
  await two.keeper.close();
}, 600_000);

/** What the version before wrote for one request, whose row had no cost. */
const BEFORE =
  '[[[["v","m","{}",1]],[["a","-3","0"]],[["k","3","0"]],' +
  '[["h","a","k","req-h","b1","m","10","10","v",1,2,null,"settled","3","completed",2]],[],' +
  '[["h:settle","a","k","revenue","-3","997","settle","req-h","completed",2]],' +
  '[["req-h","a","k","h","m",null,"completed","3","v","{}",null,"[]",1,1,null,2,2]],[],[]],[]]';

test("a record of the version before comes into the tables; a plain request still has the same", async () => {
  await chargedInJournal(settle("h", 3n));
  expect(
    journalAt(`${file}.journal`)
      .read()
      ?.records.map(({ text }) => text),
  ).toEqual([BEFORE]);
  const two = await start();
  expect(requestRow("h")).toMatchObject({ model: "m", price_version: "v", charge: 3n, cost: null });
  await two.keeper.close();
});

test("a charge by the prices of another model comes into the tables with these and its cost, after a kill as well", async () => {
  const served = { model: "m2", priceVersion: "v2", priceRules: '{"input":"2"}' };
  await chargedInJournal(settle("h", 3n, { served, cost: 2n }));
  const two = await start();
  expect(requestRow("h")).toMatchObject({ model: "m2", price_version: "v2", charge: 3n, cost: 2n });
  expect(database.prepare("select version, model, rules from price_versions order by version").all()).toEqual(
    [
      { version: "v", model: "m", rules: "{}" },
      { version: "v2", model: "m2", rules: served.priceRules },
    ],
  );
  expect(balance()).toBe(997n);
  await assertBooks((sql) => database.prepare(sql).all());
  const { checks } = await checkSnapshot(kyselyOver(database), "sqlite", { full: true, nowMs: 0 });
  expect(checks.filter(({ ok }) => !ok)).toEqual([]);
  await two.keeper.close();
});

/** A process that is killed once the journal has the end of the hold `h` of 10; the tables do not. */
async function chargedInJournal(end: Settle): Promise<void> {
  let isStuck = false;
  const { keeper, kill } = await start(() => (isStuck ? "refused" : "done"));
  await keeper.execute([createAccount("a"), issueKey("k"), grant("g", 1_000n)]);
  isStuck = true;
  await keeper.hold(hold("h", 10n));
  expect(await keeper.execute([end])).toEqual([{ answer: { ok: true, charged: 3n } }]);
  kill();
  expect(database.prepare("select id from requests").all()).toEqual([]);
}

const requestRow = (of: string): unknown =>
  database.prepare("select * from requests where hold_id = ?").get(of);

test("a database that was copied without its journal is told to be incomplete; one that was closed is not", async () => {
  const one = await start();
  await one.keeper.execute([createAccount("a"), issueKey("k"), grant("g", 1_000n)]);
  await one.keeper.hold(hold("h", 10n));
  await one.keeper.execute([settle("h", 10n)]);
  one.kill();
  for (const name of ["a", "b"]) rmSync(`${file}.journal-${name}`);
  const two = await start();
  expect(two.gaps.map(({ kind }) => kind)).toEqual(["incomplete"]);
  await two.keeper.close();
  for (const name of ["a", "b"]) rmSync(`${file}.journal-${name}`);
  const three = await start();
  expect(three.gaps).toEqual([]);
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
  putBack();
  const two = await start();
  expect(two.gaps.map(({ kind }) => kind)).toEqual(["incomplete"]);
  expect(balance()).toBe(1_000_000n);
  await two.keeper.close();
}, 600_000);

test("an older copy of the database is told, though all records after its mark follow one another", async () => {
  const one = await start();
  await one.keeper.execute([createAccount("a"), issueKey("k"), grant("g", 1_000n)]);
  await one.keeper.hold(hold("h1", 10n));
  await one.keeper.execute([settle("h1", 10n)]);
  await one.keeper.close();
  database.execute("pragma wal_checkpoint(truncate)");
  copyFileSync(file, `${file}.before`);
  const two = await start();
  // A grant goes to the tables alone: the journal's records do not tell of it.
  await two.keeper.execute([grant("later", 500n)]);
  await two.keeper.hold(hold("h2", 10n));
  await two.keeper.execute([settle("h2", 10n)]);
  two.kill();
  putBack();
  const three = await start();
  expect(three.gaps).toEqual([
    {
      kind: "incomplete",
      reason: expect.stringMatching(/^The database is older than the journal beside it/),
    },
  ]);
  expect(balance()).toBe(990n);
  expect(readdirSync(folder).filter((name) => name.includes(".before-")).length).toBe(2);
  expect(await auditedGaps()).toEqual([false]);
  // It stands there until an operator takes it away.
  await three.keeper.close();
  const four = await start();
  expect([four.gaps, await auditedGaps()]).toEqual([[], [false]]);
  database.execute("delete from journal_gaps");
  expect(await auditedGaps()).toEqual([true]);
  await four.keeper.close();
});

/** Puts the copy of the database back, as an operator does with a backup. */
function putBack(): void {
  database.close();
  for (const suffix of ["-wal", "-shm"]) rmSync(`${file}${suffix}`, { force: true });
  copyFileSync(`${file}.before`, file);
  database = openForWriting(file);
}

/** Whether the audit is content with what was set aside or is missing. */
async function auditedGaps(): Promise<readonly boolean[]> {
  const { checks } = await checkSnapshot(kyselyOver(database), "sqlite", { full: true, nowMs: 0 });
  return checks.filter(({ id }) => id === "gaps").map(({ ok }) => ok);
}

for (const when of ["while the process runs", "at the next start"])
  test(`a record that the tables refuse ${when} is set aside, and the others are not`, async () => {
    let isStuck = when === "at the next start";
    const one = await start(() => (isStuck ? "refused" : "done"));
    isStuck = false;
    await one.keeper.execute([createAccount("a"), issueKey("k"), grant("g", 1_000n)]);
    database.execute(`insert into requests (id, account_id, key_id, hold_id, model, outcome, charge, price_version,
        attempts, admitted_at_ms, held_at_ms, ended_at_ms, settled_at_ms)
      values ('${hold("h1", 1n).requestId}', 'a', 'k', 'other', 'm', 'completed', 0, 'v', '[]', 1, 1, 1, 1)`);
    isStuck = when === "at the next start";
    for (const name of ["h0", "h1", "h2"]) {
      await one.keeper.hold(hold(name, 100n));
      expect(await one.keeper.execute([settle(name, 10n)])).toEqual([{ answer: { ok: true, charged: 10n } }]);
    }
    let two = one;
    if (isStuck) {
      one.kill();
      two = await start();
      expect(await two.keeper.compare()).toEqual([]);
    } else {
      await one.keeper.current();
      // The client was told of its charge: memory goes by it, and the audit says that the tables do not have it.
      expect(await one.keeper.compare()).toEqual(["a", "k"]);
    }
    expect(balance()).toBe(980n);
    const [gap] = two.gaps;
    expect([two.gaps.length, two.lost, gap?.kind]).toEqual([1, undefined, "refused"]);
    expect(gap?.reason).toMatch(/^The tables refused record \d+: UNIQUE constraint failed: requests.id$/);
    expect(endsIn(gap?.refused?.text ?? "")).toEqual([
      { request: hold("h1", 1n).requestId, account: "a", charge: 10n },
    ]);
    const [row] = database.prepare("select kind, reason, number, record from journal_gaps").all();
    expect(row as unknown).toEqual({
      kind: "refused",
      reason: gap?.reason,
      number: BigInt(gap?.refused?.number ?? 0),
      record: gap?.refused?.text,
    });
    expect(await auditedGaps()).toEqual([false]);
    // Paid work goes on.
    await two.keeper.hold(hold("h3", 100n));
    await two.keeper.execute([settle("h3", 10n)]);
    await two.keeper.current();
    expect(balance()).toBe(970n);
    two.kill();
    const three = await start();
    expect(three.gaps).toEqual([]);
    await three.keeper.close();
  });

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
  expect([two.gaps.length, two.left]).toEqual([1, []]);
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

test("an audit compares the journal's files and the tables' mark with memory", async () => {
  let isStuck = false;
  const one = await start(() => (isStuck ? "refused" : "done"));
  const { keeper } = one;
  await keeper.execute([createAccount("a"), issueKey("k"), grant("g", 1_000n)]);
  const charge = async (name: string): Promise<void> => {
    await keeper.hold(hold(name, 10n));
    await keeper.execute([settle(name, 3n)]);
  };
  await charge("h1");
  expect(await keeper.compareJournal()).toEqual([]);
  await keeper.current();
  expect(await keeper.compareJournal()).toEqual([]);
  // What the tables do not have yet is told by the journal.
  isStuck = true;
  await charge("h2");
  await charge("h3");
  expect(await keeper.compareJournal()).toEqual([]);
  expect(balance()).toBe(997n);
  database.execute("update accounts set balance = balance + 1; update keys set spent = spent - 1");
  expect(await keeper.compareJournal()).toEqual(["a", "k"]);
  database.execute("update accounts set balance = balance - 1; update keys set spent = spent + 1");
  const journal = `${file}.journal-a`;
  const whole = readFileSync(journal);
  const broken = Buffer.from(whole);
  broken[lastByte(whole) - 1] = 0;
  writeFileSync(journal, broken);
  expect(await keeper.compareJournal()).toEqual([
    expect.stringMatching(/^the journal ends at record \d+, and \d+ was written$/),
  ]);
  writeFileSync(journal, whole);
  database.execute("update journal set number = number - 1");
  expect(await keeper.compareJournal()).toEqual([
    expect.stringMatching(/^3 records follow the tables' mark \d+, and 2 should$/),
  ]);
  database.execute("update journal set number = number + 1");
  expect(await keeper.compareJournal()).toEqual([]);
  rmSync(journal);
  expect(await keeper.compareJournal()).toEqual(["the files of the journal are gone or of another one"]);
  one.kill();
});

test("an audit that comes after a move of which the answer was lost finds the tables' mark right", async () => {
  let fate: Fate = "done";
  const { keeper, kill } = await start(() => fate);
  await keeper.execute([createAccount("a"), issueKey("k"), grant("g", 1_000n)]);
  await keeper.hold(hold("h", 10n));
  await keeper.execute([settle("h", 3n)]);
  fate = "lost after";
  const lost: unknown = await keeper.current().catch((error: unknown) => error);
  expect(lost).toBeInstanceOf(Error);
  fate = "done";
  expect(await keeper.compareJournal()).toEqual([]);
  expect(balance()).toBe(997n);
  kill();
});
