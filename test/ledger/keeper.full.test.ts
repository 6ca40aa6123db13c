import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Command, HoldCredit, Outcome } from "../../src/ledger/commands.ts";
import { openKeeper } from "../../src/ledger/sqlite/keeper.ts";
import { openSqliteStore } from "../../src/ledger/sqlite/store.ts";
import { LONG, SEED } from "../runs.ts";
import { modelBooks } from "../simulation/check-books.ts";
import { commandsOf, histories } from "../simulation/histories.ts";
import { openJournaledBooks, type Place } from "../simulation/journaled-books.ts";
import { type Fate, type KeptBooks, openKeptBooks } from "../simulation/kept-books.ts";
import { createLedgerModel } from "../simulation/ledger-model.ts";
import { openMemoryStore } from "../simulation/sqlite-memory.ts";
import { messageOf } from "../tasks/station.ts";
import { commandsFor } from "./books.ts";
import { taskCommandsFor } from "./task-commands.ts";

const isPassing = (outcome: Outcome): boolean => "failure" in outcome && outcome.passing === true;

/**
 * Sends commands until the keeper takes them, as the writer and whoever waits for it do; to the next process where one
 * has died.
 */
async function insist(
  books: Pick<KeptBooks, "keeper" | "isDead" | "restart">,
  commands: readonly Command[],
): Promise<readonly Outcome[]> {
  for (let tries = 0; tries < 100; tries += 1) {
    if (books.isDead()) await books.restart();
    const outcomes = await books
      .keeper()
      .execute(commands)
      .catch(() => undefined);
    if (outcomes !== undefined && !outcomes.some(isPassing)) return outcomes;
  }
  throw new Error("The keeper takes nothing.");
}

const FATES: readonly Fate[] = ["refused", "lost before", "lost after"];

/** Choices come again and again: some would have every write fail for ever, and no command would be taken. */
const MOST_FAULTS = 50;

/** The keeper over the tables alone, and with its journal in front of them. */
const FORMS = { tables: openKeptBooks, journal: openJournaledBooks } as const;
const forms = Object.keys(FORMS) as readonly (keyof typeof FORMS)[];

for (const form of forms)
  test(`any history comes to what the charging rules say, whatever becomes of writes and of the process (${form})`, async () => {
    const chances = fc.array(fc.nat(11), { minLength: 40, maxLength: 40 });
    let [rounds, restarts, faults] = [0, 0, 0];
    const died = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(histories, chances, async (steps, choices) => {
        rounds += 1;
        let next = 0;
        const choose = (): number => choices[(next += 1) % choices.length] as number;
        let isTroubled = false;
        /** Faults that a command may meet yet. */
        let trouble = 0;
        const database = await openMemoryStore();
        const fateOf = (): Fate => {
          const fate = isTroubled && trouble > 0 ? (FATES[choose()] ?? "done") : "done";
          if (fate !== "done") {
            faults += 1;
            trouble -= 1;
          }
          return fate;
        };
        const books = await FORMS[form](database, fateOf, (at) => {
          const isDying = isTroubled && trouble > 0 && choose() === 0;
          if (isDying) trouble -= 1;
          if (isDying) died.set(at, (died.get(at) ?? 0) + 1);
          return isDying;
        });
        const model = createLedgerModel();
        for (const batch of commandsOf(steps, `h${rounds}`)) {
          // A batch that is sent again may be decided otherwise where one of it was refused: those go one by one.
          isTroubled = choose() % 2 === 0;
          const groups = isTroubled ? batch.map((command) => [command]) : [batch];
          for (const group of groups) {
            trouble = 5;
            const outcomes = await insist(books, group);
            expect(outcomes).toEqual(model.apply(group));
          }
          if (choose() === 0) {
            restarts += 1;
            await books.restart();
          }
          isTroubled = false;
          if (books.isDead()) await books.restart();
          expect(await books.keeper().compareJournal()).toEqual([]);
          expect(await books.read()).toEqual(modelBooks(model));
          expect(await books.keeper().compare()).toEqual([]);
        }
        database.close();
      }),
      { seed: SEED, numRuns: LONG ? 4_000 : 60 },
    );
    expect(restarts).toBeGreaterThan(10);
    expect(faults).toBeGreaterThan(10);
    if (form === "journal") expect([...died.keys()].toSorted()).toEqual([...PLACES].toSorted());
  }, 600_000);

/** Where a process dies in these histories: every step of a note, a record, a turn, a move and a replay. */
const PLACES: readonly Place[] = [
  "journal.after_write",
  "journal.before_write",
  "journal.turned",
  "journal.written",
  "note.after_write",
  "note.before_write",
  "replay.after_move",
  "replay.before_move",
  "tables.after_move",
  "tables.after_write",
  "tables.before_move",
  "tables.before_write",
];

/** One thing that callers do at the same time as others. */
type Act = {
  readonly kind: "hold" | "end" | "grant" | "submit";
  readonly amount: number;
  readonly at: number;
};

const acts: fc.Arbitrary<readonly Act[]> = fc.array(
  fc.record({
    kind: fc.constantFrom("hold", "hold", "hold", "end", "end", "grant", "submit"),
    amount: fc.integer({ min: -40, max: 90 }),
    at: fc.nat(20),
  }),
  { minLength: 10, maxLength: 60, size: "max" },
);

for (const form of forms)
  test(`holds that come while rows are on their way never take what those rows take (${form})`, async () => {
    let [held, refused] = [0, 0];
    await fc.assert(
      fc.asyncProperty(acts, fc.array(fc.nat(5), { minLength: 20, maxLength: 20 }), async (all, choices) => {
        let next = 0;
        const choose = (): number => choices[(next += 1) % choices.length] as number;
        const database = await openMemoryStore();
        let faults = 0;
        const books = await FORMS[form](database, async () => {
          for (let turns = choose(); turns > 0; turns -= 1) await Promise.resolve();
          const fate = choose() === 0 && faults < MOST_FAULTS ? (FATES[choose()] ?? "done") : "done";
          if (fate !== "done") faults += 1;
          return fate;
        });
        const { createAccount, issueKey, grant, hold, settle, voided } = commandsFor((name) => name);
        const { submit } = taskCommandsFor((name) => name);
        const keeper = books.keeper();
        await insist(books, [
          createAccount("a"),
          issueKey("k"),
          issueKey("bounded", { budget: 60n }),
          grant("first", 90n),
        ]);
        const keyOf = (amount: number) => (amount % 3 === 0 ? { key: "bounded" } : {});
        const open: HoldCredit[] = [];
        const ends: Promise<unknown>[] = [];
        for (const [i, { kind, amount, at }] of all.entries()) {
          const size = BigInt(Math.abs(amount));
          if (kind === "hold") {
            const command = hold(`h${i}`, size, keyOf(amount));
            // The rows of an account that is not in memory may not be read now.
            const answer = await Promise.resolve()
              .then(() => keeper.hold(command))
              .catch(() => undefined);
            if (answer === undefined) continue;
            if (answer.ok) open.push(command);
            if (answer.ok) held += 1;
            else refused += 1;
          } else if (kind === "end") {
            const [made] = open.splice(at % Math.max(1, open.length), 1);
            if (made === undefined) continue;
            const { hold: name, key } = made;
            ends.push(insist(books, [at % 3 === 0 ? voided(name, { key }) : settle(name, size, { key })]));
          } else if (kind === "grant") ends.push(insist(books, [grant(`g${i}`, BigInt(amount))]));
          else ends.push(insist(books, [submit(`t${i}`, size, keyOf(amount))]));
          for (let turns = choose(); turns > 0; turns -= 1) await Promise.resolve();
        }
        await Promise.all(ends);
        await books.read();
        expect(await keeper.compare()).toEqual([]);
        const [bounded] = database.prepare("select spent, held from keys where id = 'bounded'").all();
        const { spent, held: inTables } = bounded as { spent: bigint; held: bigint };
        expect(spent + inTables + (keeper.held().keys.get("bounded") ?? 0n)).toBeLessThanOrEqual(60n);
        database.close();
      }),
      { seed: SEED, numRuns: LONG ? 20_000 : 200 },
    );
    expect(held).toBeGreaterThan(100);
    expect(refused).toBeGreaterThan(100);
  }, 600_000);

test("rows that were asked for before others were dropped are not taken: what was dropped may be newer", async () => {
  const database = await openMemoryStore();
  const { createAccount, issueKey, grant, hold, settle } = commandsFor((name) => name);
  const tables = openSqliteStore(database);
  /** Answers to loads that wait to be let through, each with the rows as they were when it was asked. */
  let waiting: (() => void)[] | undefined;
  const keeper = await openKeeper({
    store: {
      async load(references) {
        const found = tables.load(references);
        if (waiting !== undefined && references.accounts.size > 0)
          await new Promise<void>((resolve) => waiting?.push(resolve));
        return found;
      },
      write: async (batch) => tables.write(batch),
      current: async () => {},
      close: async () => {},
    },
    left: [],
    openIntents: () => ({ note() {}, close() {} }),
    lost: () => undefined,
    mostRows: 1,
  });
  await keeper.execute([createAccount("a"), issueKey("k"), grant("g", 100n)]);
  // Nothing is held: both rows are dropped after each batch, and asked for by the next hold.
  waiting = [];
  const early = keeper.hold(hold("early", 80n));
  const [letThrough] = waiting;
  waiting = undefined;
  expect((await keeper.hold(hold("paid", 90n))).ok).toBe(true);
  expect(await keeper.execute([settle("paid", 90n)])).toEqual([{ answer: { ok: true, charged: 90n } }]);
  letThrough?.();
  expect(await early).toEqual({ ok: false, reason: "insufficient_credits" });
  expect(await keeper.compare()).toEqual([]);
  database.close();
});

test("an account is closed in memory, too, though the answer to its closing was lost and it is not sent again", async () => {
  let fate: Fate = "done";
  const books = await openKeptBooks(await openMemoryStore(), () => fate);
  const { createAccount, issueKey, grant, hold, close, revokeKeys } = commandsFor((name) => name);
  await books.keeper().execute([createAccount("a"), issueKey("k"), grant("g", 10n)]);
  expect(await books.keeper().hold(hold("before", 1n))).toEqual({ ok: true, amount: 1n });
  for (const closing of [close(), revokeKeys(2)]) {
    fate = "lost after";
    expect(await messageOf(books.keeper().execute([closing]))).toContain("died");
    fate = "done";
    await books.keeper().execute([{ kind: "ping" }]);
    expect(await books.keeper().hold(hold("after", 1n))).toEqual({ ok: false, reason: "key_not_live" });
    expect(await books.keeper().compare()).toEqual([]);
  }
});
