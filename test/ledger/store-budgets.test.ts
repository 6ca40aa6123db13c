import { beforeEach, expect, test } from "bun:test";
import { describeOnEngines } from "../gateway/engines.ts";
import { useBooks } from "./books.ts";

describeOnEngines("a budget", (engine) => {
  const books = useBooks(engine);
  beforeEach(
    async () => void (await books.apply(books.grant("g", 1_000n), books.issueKey("b", { budget: 100n }))),
  );
  const hold = (name: string, amount: bigint) => books.hold(name, amount, { key: books.id("b") });
  const settle = (name: string, used: bigint) => books.settle(name, used, { key: books.id("b") });
  const setBudget = (budget: bigint | null) => books.run({ kind: "change_key", key: books.id("b"), budget });

  test("is what charges and open holds of its key come to at most", async () => {
    expect(await books.run(hold("h1", 60n))).toEqual({ ok: true, amount: 60n });
    expect(await books.run(hold("h2", 41n))).toEqual({ ok: false, reason: "budget_exceeded" });
    expect(await books.run(hold("h2", 40n))).toEqual({ ok: true, amount: 40n });
    await books.run(settle("h1", 10n));
    expect(await books.key("b")).toEqual({ spent: 10n, held: 40n });
    expect(await books.run(hold("h3", 51n))).toEqual({ ok: false, reason: "budget_exceeded" });
    expect(await books.run(hold("h3", 50n))).toEqual({ ok: true, amount: 50n });
    await books.audit();
  });

  test("is given back by a void, whole", async () => {
    await books.run(hold("h", 100n));
    await books.run(books.voided("h", { key: books.id("b"), outcome: "process_died" }));
    expect(await books.run(hold("again", 100n))).toMatchObject({ ok: true });
    await books.audit();
  });

  test("is one key's: another of the account goes on, and both share the balance", async () => {
    await books.run(hold("h", 100n));
    expect(await books.run(hold("over", 1n))).toEqual({ ok: false, reason: "budget_exceeded" });
    expect(await books.run(books.hold("other", 900n))).toEqual({ ok: true, amount: 900n });
    expect(await books.run(books.hold("more", 1n))).toEqual({ ok: false, reason: "insufficient_credits" });
    await books.audit();
  });

  test("and a balance that are both too small: the balance is told", async () => {
    expect(await books.run(hold("h", 1_001n))).toEqual({ ok: false, reason: "insufficient_credits" });
  });

  test("of nothing allows what is free of charge alone", async () => {
    await setBudget(0n);
    expect(await books.run(hold("h1", 1n))).toEqual({ ok: false, reason: "budget_exceeded" });
    expect(await books.run(hold("h2", 0n))).toEqual({ ok: true, amount: 0n });
  });

  test("that is null bounds nothing, and one that is set again counts what was spent before", async () => {
    await setBudget(null);
    await books.run(hold("h1", 300n));
    await books.run(settle("h1", 300n));
    expect(await books.run(hold("h2", 700n))).toEqual({ ok: true, amount: 700n });
    await books.run(books.voided("h2", { key: books.id("b") }));
    await setBudget(310n);
    expect(await books.run(hold("h3", 11n))).toEqual({ ok: false, reason: "budget_exceeded" });
    expect(await books.run(hold("h3", 10n))).toEqual({ ok: true, amount: 10n });
    await books.audit();
  });

  test("lowered below what is spent and held: the open hold settles in full, the next is refused", async () => {
    await books.run(hold("h1", 30n));
    await books.run(settle("h1", 30n));
    await books.run(hold("h2", 60n));
    await setBudget(10n);
    expect(await books.run(settle("h2", 60n))).toEqual({ ok: true, charged: 60n });
    expect(await books.key("b")).toEqual({ spent: 90n, held: 0n });
    expect(await books.entries("h2:loss")).toEqual([]);
    expect(await books.run(hold("h3", 1n))).toEqual({ ok: false, reason: "budget_exceeded" });
    await setBudget(91n);
    expect(await books.run(hold("h3", 1n))).toEqual({ ok: true, amount: 1n });
    await books.audit();
  });

  test("bounds a charge above its hold: the rest is the operator's loss", async () => {
    await books.apply(hold("h", 60n), hold("other", 25n));
    expect(await books.run(settle("h", 90n))).toEqual({ ok: true, charged: 75n });
    expect(await books.entries("h:loss")).toMatchObject([{ amount: -15n }]);
    expect(await books.key("b")).toEqual({ spent: 75n, held: 25n });
    expect(await books.account()).toEqual({ balance: 925n, held: 25n });
    await books.audit();
  });

  test("lowered below the hold: what is above the hold is lost whole, the hold is charged", async () => {
    await books.run(hold("h", 60n));
    await setBudget(0n);
    expect(await books.run(settle("h", 90n))).toEqual({ ok: true, charged: 60n });
    expect(await books.entries("h:loss")).toMatchObject([{ amount: -30n }]);
    await books.audit();
  });

  test("changed in a batch binds the holds of that batch", async () => {
    const outcomes = await books.apply(
      { kind: "change_key", key: books.id("b"), budget: 5n },
      hold("h1", 6n),
      hold("h2", 5n),
    );
    expect(outcomes.slice(1)).toEqual([
      { answer: { ok: false, reason: "budget_exceeded" } },
      { answer: { ok: true, amount: 5n } },
    ]);
  });
});
