import { expect, test } from "bun:test";
import fc from "fast-check";
import { runsOf } from "../../../test/runs.ts";
import { type ByteAccount, createByteBudget, openPart, UNCOUNTED_BYTES } from "./byte-budget.ts";

const seeded = runsOf(500, 20_000);
const { signal } = new AbortController();

/** Lets everything that can go on go on. */
const settle = (): Promise<void> => Bun.sleep(0);

/** More than is not counted; tests take and give multiples of it. */
const UNIT = UNCOUNTED_BYTES + 1;
const budgetOf = (units: number) => {
  const budget = createByteBudget(() => units * UNIT);
  return { open: budget.open, taken: () => budget.taken() / UNIT };
};

/** Takes so many units and notes when it could. */
function taker(went: string[]) {
  return (name: string, account: ByteAccount, units: number, until = signal): void => {
    account.take(units * UNIT, until).then(
      () => went.push(name),
      (error: unknown) => went.push(`${name}: ${(error as Error).message}`),
    );
  };
}

test("what fits is given at once; what does not waits until enough was given back", async () => {
  const budget = budgetOf(100);
  const went: string[] = [];
  const take = taker(went);
  const [a, b, c] = [budget.open(), budget.open(), budget.open()];
  take("a", a, 60);
  take("b", b, 40);
  take("c", c, 30);
  await settle();
  expect(went).toEqual(["a", "b"]);
  a.give(10 * UNIT);
  await settle();
  expect(went).toEqual(["a", "b"]);
  a.give(20 * UNIT);
  await settle();
  expect([went, budget.taken()]).toEqual([["a", "b", "c"], 100]);
  for (const account of [a, b, c]) account.close();
  expect(budget.taken()).toBe(0);
});

test("who came first goes on first: a small one does not pass a large one by", async () => {
  const budget = budgetOf(100);
  const went: string[] = [];
  const take = taker(went);
  const [a, large, small] = [budget.open(), budget.open(), budget.open()];
  take("a", a, 50);
  take("large", large, 80);
  take("small", small, 10);
  await settle();
  expect(went).toEqual(["a"]);
  a.close();
  await settle();
  expect(went).toEqual(["a", "large", "small"]);
});

test("the one that has held for longest takes more without waiting, so two that want more never stand still", async () => {
  const budget = budgetOf(100);
  const went: string[] = [];
  const take = taker(went);
  const [a, b] = [budget.open(), budget.open()];
  take("a", a, 50);
  take("b", b, 50);
  take("b more", b, 50);
  take("a more", a, 50);
  await settle();
  expect([went, budget.taken()]).toEqual([["a", "b", "a more"], 150]);
  a.close();
  await settle();
  expect([went.at(-1), budget.taken()]).toEqual(["b more", 100]);
});

test("who needs more than there is goes on alone", async () => {
  const budget = budgetOf(100);
  const went: string[] = [];
  const take = taker(went);
  const [a, large, c] = [budget.open(), budget.open(), budget.open()];
  take("a", a, 10);
  take("large", large, 500);
  take("c", c, 10);
  await settle();
  expect(went).toEqual(["a"]);
  a.close();
  await settle();
  expect(went).toEqual(["a", "large"]);
  large.close();
  await settle();
  expect(went).toEqual(["a", "large", "c"]);
});

test("who leaves the line is told its signal's reason, and those behind it go on", async () => {
  const budget = budgetOf(100);
  const went: string[] = [];
  const take = taker(went);
  const leaving = new AbortController();
  const [a, large, c] = [budget.open(), budget.open(), budget.open()];
  take("a", a, 50);
  take("large", large, 80, leaving.signal);
  take("c", c, 50);
  leaving.abort(new Error("over"));
  await settle();
  expect(went).toEqual(["a", "large: over", "c"].sort((x, y) => went.indexOf(x) - went.indexOf(y)));
  take("late", large, 1, leaving.signal);
  c.close();
  take("closed", c, 1);
  await settle();
  expect(went.slice(-2).sort()).toEqual(["closed: The work that was to hold bytes has ended.", "late: over"]);
  expect(budget.taken()).toBe(50);
});

test("whatever is taken in whatever order, all come to their end, and no more is held than the limit and one", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.integer({ min: 0, max: 90 }), { minLength: 1, maxLength: 4 }), { maxLength: 12 }),
      fc.integer({ min: 1, max: 120 }),
      async (works, limit) => {
        const budget = budgetOf(limit);
        const most = Math.max(0, ...works.map((steps) => steps.reduce((sum, step) => sum + step, 0)));
        let peak = 0;
        const all = works.map(async (steps) => {
          const account = budget.open();
          for (const step of steps) {
            await account.take(step * UNIT, signal);
            peak = Math.max(peak, budget.taken());
            await Promise.resolve();
          }
          account.close();
        });
        await Promise.all(all);
        expect(budget.taken()).toBe(0);
        expect(peak).toBeLessThanOrEqual(limit + most);
      },
    ),
    seeded,
  );
});

test("work that holds little is not counted and waits for nobody; once it holds more, all of it counts", async () => {
  const budget = createByteBudget(() => 10 * UNIT);
  const [large, small] = [budget.open(), budget.open()];
  await large.take(10 * UNIT, signal);
  await small.take(UNCOUNTED_BYTES - 1, signal);
  await small.take(1, signal);
  expect(budget.taken()).toBe(10 * UNIT);
  let isThrough = false;
  const more = small.take(1, signal).then(() => (isThrough = true));
  await settle();
  expect(isThrough).toBe(false);
  large.close();
  await more;
  expect(budget.taken()).toBe(UNIT);
  small.give(UNIT);
  expect(budget.taken()).toBe(0);
  await small.take(UNCOUNTED_BYTES, signal);
  expect(budget.taken()).toBe(0);
  small.give(UNCOUNTED_BYTES);
  await small.take(UNCOUNTED_BYTES, signal);
  expect(budget.taken()).toBe(0);
});

test("a wait that is over leaves nothing behind on its signal", async () => {
  const budget = budgetOf(10);
  const [large, small] = [budget.open(), budget.open()];
  await large.take(10 * UNIT, signal);
  let heard: readonly string[] = [];
  const until = Object.assign(new AbortController().signal, {
    addEventListener: (type: string) => void (heard = [...heard, type]),
    removeEventListener: (type: string) => void (heard = heard.filter((each) => each !== type)),
  });
  const through = small.take(UNIT, until);
  await settle();
  expect(heard).toEqual(["abort"]);
  large.close();
  await through;
  expect(heard).toEqual([]);
});

test("work that ends while it waits is told so, and holds nothing afterwards", async () => {
  const budget = budgetOf(10);
  const went: string[] = [];
  const take = taker(went);
  const [a, b, c] = [budget.open(), budget.open(), budget.open()];
  take("a", a, 8);
  take("b", b, 5);
  take("c", c, 2);
  b.close();
  await settle();
  expect(went.sort()).toEqual(["a", "b: The work that was to hold bytes has ended.", "c"]);
  expect(budget.taken()).toBe(10);
});

test("work that is cancelled just as it goes on removes no other work from the line", async () => {
  const budget = budgetOf(100);
  const went: string[] = [];
  const take = taker(went);
  const leaving = new AbortController();
  const [a, b, c] = [budget.open(), budget.open(), budget.open()];
  take("a", a, 60);
  take("b", b, 80, leaving.signal);
  take("c", c, 30);
  a.close();
  leaving.abort(new Error("over"));
  await settle();
  expect(went).toEqual(["a", "b"]);
  b.close();
  await settle();
  expect(went).toEqual(["a", "b", "c"]);
});

test("a part that is closed takes nothing, and does not wait for room", async () => {
  const budget = budgetOf(10);
  const went: string[] = [];
  const take = taker(went);
  const [other, account] = [budget.open(), budget.open()];
  take("other", other, 10);
  const part = openPart(account);
  part.close();
  take("part", part, 2);
  await settle();
  expect(went).toEqual(["other", "part: The work that was to hold bytes has ended."]);
  other.close();
  expect(budget.taken()).toBe(0);
});

test("a part of an account gives back at its close what it still holds, and no more; what it waits for later too", async () => {
  const budget = budgetOf(10);
  const went: string[] = [];
  const take = taker(went);
  const [other, account] = [budget.open(), budget.open()];
  await other.take(1 * UNIT, signal);
  await account.take(2 * UNIT, signal);
  const part = openPart(account);
  await part.take(4 * UNIT, signal);
  part.give(1 * UNIT);
  take("late", part, 5);
  expect(budget.taken()).toBe(6);
  part.close();
  await settle();
  expect(budget.taken()).toBe(3);
  other.close();
  expect(went).toEqual(["late: The work that was to hold bytes has ended."]);
  part.give(1 * UNIT);
  expect(budget.taken()).toBe(2);
  account.close();
  expect(budget.taken()).toBe(0);
});

test("room that is left is lent, and the eldest loans end when work needs it", async () => {
  const budget = createByteBudget(() => 100 * UNIT);
  const revoked: string[] = [];
  const lend = (name: string, units: number) => budget.lend(units * UNIT, () => revoked.push(name));
  const [first, second] = [lend("first", 40), lend("second", 60)];
  expect([typeof first, typeof second, lend("none", 1)]).toEqual(["function", "function", undefined]);
  const account = budget.open();
  await account.take(30 * UNIT, signal);
  expect(revoked).toEqual(["first"]);
  // It has ended: to say so once more changes nothing.
  first?.();
  expect(lend("too much", 11)).toBeUndefined();
  expect(lend("third", 10)).toBeFunction();
  second?.();
  await account.take(60 * UNIT, signal);
  expect(revoked).toEqual(["first"]);
  await account.take(1 * UNIT, signal);
  expect(revoked).toEqual(["first", "third"]);
  account.close();
  expect(lend("all", 100)).toBeFunction();
});

test("a quarter of a mebibyte of each work is not counted", () => {
  expect(UNCOUNTED_BYTES).toBe(262_144);
});
