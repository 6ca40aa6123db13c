import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Command, HoldCredit, Outcome } from "../../src/ledger/commands.ts";
import type { Keeper } from "../../src/ledger/sqlite/keeper.ts";
import { modelBooks } from "../simulation/check-books.ts";
import { commandsOf, histories } from "../simulation/histories.ts";
import { type Fate, openKeptBooks } from "../simulation/kept-books.ts";
import { createLedgerModel } from "../simulation/ledger-model.ts";
import { openMemoryStore } from "../simulation/sqlite-memory.ts";
import { commandsFor } from "./books.ts";
import { taskCommandsFor } from "./task-commands.ts";

const SEED = Number(process.env.SWITCHYARD_TEST_SEED ?? "1");
const LONG = process.env.SWITCHYARD_TEST_LONG === "1";

const isPassing = (outcome: Outcome): boolean => "failure" in outcome && outcome.passing === true;

/** Sends commands until the keeper takes them, as the writer and whoever waits for it do. */
async function insist(keeper: Keeper, commands: readonly Command[]): Promise<readonly Outcome[]> {
  for (let tries = 0; tries < 100; tries += 1) {
    const outcomes = await keeper.execute(commands).catch(() => undefined);
    if (outcomes !== undefined && !outcomes.some(isPassing)) return outcomes;
  }
  throw new Error("The keeper takes nothing.");
}

const FATES: readonly Fate[] = ["refused", "lost before", "lost after"];

test("any history comes to what the charging rules say, whatever becomes of writes and of the process", async () => {
  const trouble = fc.array(fc.nat(11), { minLength: 40, maxLength: 40 });
  let [rounds, restarts, faults] = [0, 0, 0];
  await fc.assert(
    fc.asyncProperty(histories, trouble, async (steps, choices) => {
      rounds += 1;
      let next = 0;
      const choose = (): number => choices[(next += 1) % choices.length] as number;
      let isTroubled = false;
      const database = await openMemoryStore();
      const books = await openKeptBooks(database, () => {
        const fate = isTroubled ? (FATES[choose()] ?? "done") : "done";
        if (fate !== "done") faults += 1;
        return fate;
      });
      const model = createLedgerModel();
      for (const batch of commandsOf(steps, `h${rounds}`)) {
        // A batch that is sent again may be decided otherwise where one of it was refused: those go one by one.
        isTroubled = choose() % 2 === 0;
        const groups = isTroubled ? batch.map((command) => [command]) : [batch];
        for (const group of groups) {
          const outcomes = await insist(books.keeper(), group);
          expect(outcomes).toEqual(model.apply(group));
        }
        if (choose() === 0) {
          restarts += 1;
          await books.restart();
        }
        expect(await books.read()).toEqual(modelBooks(model));
        isTroubled = false;
        expect(await books.keeper().compare()).toEqual([]);
      }
      database.close();
    }),
    { seed: SEED, numRuns: LONG ? 4_000 : 60 },
  );
  expect(restarts).toBeGreaterThan(10);
  expect(faults).toBeGreaterThan(10);
}, 600_000);

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

test("holds that come while rows are on their way never take what those rows take", async () => {
  let [held, refused] = [0, 0];
  await fc.assert(
    fc.asyncProperty(acts, fc.array(fc.nat(5), { minLength: 20, maxLength: 20 }), async (all, choices) => {
      let next = 0;
      const choose = (): number => choices[(next += 1) % choices.length] as number;
      const fates: readonly Fate[] = ["refused", "lost before", "lost after"];
      const database = await openMemoryStore();
      const books = await openKeptBooks(database, async () => {
        for (let turns = choose(); turns > 0; turns -= 1) await Promise.resolve();
        return choose() === 0 ? (fates[choose()] ?? "done") : "done";
      });
      const { createAccount, issueKey, grant, hold, settle, voided } = commandsFor((name) => name);
      const { submit } = taskCommandsFor((name) => name);
      const keeper = books.keeper();
      await insist(keeper, [
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
          const answer = await keeper.hold(command);
          if (answer.ok) open.push(command);
          if (answer.ok) held += 1;
          else refused += 1;
        } else if (kind === "end") {
          const [made] = open.splice(at % Math.max(1, open.length), 1);
          if (made === undefined) continue;
          const { hold: name, key } = made;
          ends.push(insist(keeper, [at % 3 === 0 ? voided(name, { key }) : settle(name, size, { key })]));
        } else if (kind === "grant") ends.push(insist(keeper, [grant(`g${i}`, BigInt(amount))]));
        else ends.push(insist(keeper, [submit(`t${i}`, size, keyOf(amount))]));
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
