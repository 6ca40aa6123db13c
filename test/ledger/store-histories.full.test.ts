import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { describeOnEngines } from "../gateway/engines.ts";
import { RUNS, useBooks } from "./books.ts";
import { createPlainBooks } from "./plain-books.ts";
import { taskCommandOf, taskStep, type TaskWorld } from "../simulation/task-histories.ts";
import { isEnded, type TaskState, TRANSITIONS } from "../../src/core/task.ts";
import type { Command, Outcome } from "../../src/ledger/commands.ts";

/** What happens next, by small numbers, so that holds meet their ends and causes repeat. */
const step = fc.oneof(
  fc.record({
    do: fc.constant("grant" as const),
    n: fc.nat(5),
    who: fc.nat(1),
    amount: fc.integer({ min: -40, max: 60 }),
  }),
  fc.record({ do: fc.constant("budget" as const), n: fc.nat(0), who: fc.nat(1), amount: fc.nat(80) }),
  ...(["hold", "elastic", "settle", "void", "abandon"] as const).map((kind) =>
    fc.record({ do: fc.constant(kind), n: fc.nat(12), who: fc.nat(1), amount: fc.nat(60) }),
  ),
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

describeOnEngines("any history", (engine) => {
  const books = useBooks(engine);

  test("of 500 holds in random batches against credit for 50 makes exactly 50, never one more", async () => {
    let round = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 20, maxLength: 40 }),
        async (sizes) => {
          round += 1;
          const account = books.id(`many${round}`);
          const key = books.id(`key${round}`);
          await books.apply(
            books.createAccount(`many${round}`),
            books.issueKey(`key${round}`, { account }),
            books.grant(`g${round}`, 50n * 7n, { account }),
          );
          const holds = Array.from({ length: 500 }, (_, i) =>
            books.hold(`${round}-${i}`, 7n, { account, key }),
          );
          const outcomes: Outcome[] = [];
          for (let i = 0; holds.length > 0; i += 1) {
            outcomes.push(...(await books.apply(...holds.splice(0, sizes[i % sizes.length]))));
            await books.audit();
          }
          expect(outcomes.filter((outcome) => "answer" in outcome && outcome.answer.ok)).toHaveLength(50);
        },
      ),
      { ...RUNS, numRuns: 2 },
    );
  });

  test("in any batches comes to what the plain rules say, and every batch balances", async () => {
    let round = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { minLength: 1, maxLength: 8 }), { maxLength: 15 }),
        async (batches) => {
          round += 1;
          const names = [`x${round}`, `y${round}`];
          const model = createPlainBooks(
            names.map((name) => ({ account: books.id(name), key: books.id(name) })),
          );
          await books.apply(
            ...names.map((name) => books.createAccount(name)),
            ...names.map((name) => books.issueKey(name, { account: books.id(name) })),
          );
          for (const batch of batches) {
            // Of a batch, records are done before money: the plain rules take them in the same order.
            const commands = batch
              .map((next) => commandOf(next, `${round}`, names[next.who] as string))
              .toSorted((a, b) => Number(b.kind === "change_key") - Number(a.kind === "change_key"));
            const want = commands.map((command) => model.apply(command));
            expect(await books.apply(...commands)).toEqual(want.map((answer) => ({ answer })));
            for (const name of names) {
              expect(await books.account(name)).toEqual(model.account(books.id(name)));
              expect(await books.key(name)).toEqual(model.key(books.id(name)));
            }
            await books.audit();
          }
        },
      ),
      RUNS,
    );
  });

  test("of tasks in any batches keeps every sum, and takes each task only ways that tasks go", async () => {
    let round = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(taskStep, { minLength: 1, maxLength: 8 }), { maxLength: 20 }),
        async (batches) => {
          round += 1;
          const world: TaskWorld = {
            name: books.id(`w${round}`),
            keys: [0, 1].map((who) => books.id(`key${round}-${who}`)),
            submitted: [],
            accountId: (who) => books.id(`acct${round}-${who}`),
          };
          const given = 200n;
          for (const [who, key] of world.keys.entries()) {
            const account = world.accountId(who);
            await books.apply(
              { kind: "create_account", account, name: "n", nowMs: 1 },
              books.issueKey("", { key, account, hash: key }),
              books.grant("", given, { cause: key, account }),
            );
          }
          let before = new Map<string, TaskState>();
          for (const [i, batch] of batches.entries()) {
            await books.apply(...batch.map((next) => taskCommandOf(world, next, (i + 1) * 1_000)));
            await books.audit();
            const after = await statesOf(world);
            for (const [task, state] of after)
              if (!comesTo(before.get(task) ?? "pending", state))
                throw new Error(`${task} went from ${before.get(task)} to ${state}.`);
            // Whatever was deleted had ended.
            for (const [task, state] of before) expect(after.has(task) || isEnded(state)).toBe(true);
            before = after;
          }
        },
      ),
      RUNS,
    );
  });

  async function statesOf({ submitted }: TaskWorld): Promise<Map<string, TaskState>> {
    const ids = submitted.map(({ task }) => task);
    if (ids.length === 0) return new Map();
    const rows = await books.store.database
      .selectFrom("tasks")
      .select(["id", "state"])
      .where("id", "in", ids)
      .execute();
    return new Map(rows.map(({ id, state }) => [id, state]));
  }

  /** Whether ways lead there, as many as one batch may take. */
  function comesTo(from: TaskState, to: TaskState): boolean {
    return from === to || TRANSITIONS[from].some((next) => comesTo(next, to));
  }

  function commandOf(next: Step, round: string, who: string): Command {
    const amount = BigInt(next.amount);
    const id = `${round}-${next.n}-${who}`;
    const from = { account: books.id(who), key: books.id(who) };
    switch (next.do) {
      case "grant":
        return books.grant(`${id}-${amount}`, amount, { account: books.id(who) });
      case "budget":
        return { kind: "change_key", key: books.id(who), budget: next.amount > 60 ? null : amount };
      case "hold":
        return books.hold(id, amount, { ...from, expectedCost: amount / 2n });
      case "elastic":
        return books.hold(id, amount / 6n, {
          ...from,
          expectedCost: 1n,
          elastic: { tokenPrice: 2n, maxTokens: 9, floorTokens: 2 },
        });
      case "settle":
        return books.settle(id, amount, from);
      case "void":
        return books.voided(id, from);
      case "abandon":
        return books.voided(id, { ...from, outcome: "process_died" });
    }
  }
});
