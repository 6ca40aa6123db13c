import { describe, expect, test } from "bun:test";
import { MAX_MICRO_CREDITS } from "../../src/core/money/credits.ts";
import { describeOnEngines } from "../gateway/engines.ts";
import { useBooks } from "./books.ts";

describeOnEngines("a grant", (engine) => {
  const books = useBooks(engine);

  test("adds up, and the same one twice is once, answered as it was then", async () => {
    expect(await books.run(books.grant("g1", 10n))).toEqual({ ok: true, balance: 10n });
    expect(await books.run(books.grant("g2", 5n))).toEqual({ ok: true, balance: 15n });
    expect(await books.run(books.grant("g1", 10n))).toEqual({ ok: true, balance: 10n });
    expect(await books.account()).toEqual({ balance: 15n, held: 0n });
    await books.audit();
  });

  test("stands in the ledger with its cause, its reason and the balance after it", async () => {
    await books.run(books.grant("g", 10n, { reason: "paid", requestId: "req_1", nowMs: 77 }));
    const row = await books.row("ledger", "cause", books.id("g:grant"));
    expect(row).toMatchObject({
      account_id: books.id("a"),
      key_id: null,
      counter: "funding",
      amount: 10n,
      balance_after: 10n,
      kind: "grant",
      request_id: "req_1",
      reason: "paid",
      created_at_ms: 77n,
    });
  });

  describe("is refused, and changes nothing,", () => {
    const other = (): string => books.id("b");
    const refusals = [
      {
        name: "with another amount under the same cause",
        command: () => books.grant("g", 11n),
        reason: "other_grant",
      },
      {
        name: "for another account under the same cause",
        command: () => books.grant("g", 10n, { account: other() }),
        reason: "other_grant",
      },
      {
        name: "for an unknown account",
        command: () => books.grant("x", 1n, { account: "nobody" }),
        reason: "unknown_account",
      },
      {
        name: "to a closed account",
        command: () => books.grant("x", 1n, { account: books.id("closed") }),
        reason: "closed",
      },
      { name: "that takes back what is held", command: () => books.grant("x", -7n), reason: "below_held" },
      {
        name: "of more than an account can have",
        command: () => books.grant("x", MAX_MICRO_CREDITS),
        reason: "too_large",
      },
    ] as const;
    for (const { name, command, reason } of refusals) {
      test(name, async () => {
        await books.apply(books.createAccount("b"), books.grant("g", 10n), books.hold("h", 4n));
        await books.apply(books.createAccount("closed"), books.close("closed"));
        expect(await books.run(command())).toEqual({ ok: false, reason });
        expect(await books.account()).toEqual({ balance: 10n, held: 4n });
        expect(await books.account("b")).toEqual({ balance: 0n, held: 0n });
        expect(await books.entries("")).toHaveLength(1);
        await books.audit();
      });
    }
  });

  test("that was refused can be made later under the same cause", async () => {
    expect(await books.run(books.grant("g", -1n))).toEqual({ ok: false, reason: "below_held" });
    await books.run(books.grant("first", 1n));
    expect(await books.run(books.grant("g", -1n))).toEqual({ ok: true, balance: 0n });
    await books.audit();
  });

  test("can take back what a closed account has left, and is answered as before it was closed", async () => {
    await books.apply(books.grant("g", 10n), books.hold("h", 4n));
    await books.run(books.close());
    expect(await books.run(books.grant("g", 10n))).toEqual({ ok: true, balance: 10n });
    expect(await books.run(books.grant("back", -6n))).toEqual({ ok: true, balance: 4n });
    expect(await books.run(books.settle("h", 4n))).toEqual({ ok: true, charged: 4n });
    await books.audit();
  });

  test("can take back everything that is not held", async () => {
    await books.apply(books.grant("g", 10n), books.hold("h", 4n));
    expect(await books.run(books.grant("back", -6n))).toEqual({ ok: true, balance: 4n });
    expect(await books.account()).toEqual({ balance: 4n, held: 4n });
    await books.audit();
  });

  test("reaches the largest balance exactly, and every digit of it comes back", async () => {
    const most = { ok: true, balance: MAX_MICRO_CREDITS } as const;
    expect(await books.run(books.grant("g", MAX_MICRO_CREDITS))).toEqual(most);
    expect(await books.run(books.grant("over", 1n))).toEqual({ ok: false, reason: "too_large" });
    expect(await books.run(books.hold("h", MAX_MICRO_CREDITS))).toEqual({
      ok: true,
      amount: MAX_MICRO_CREDITS,
    });
    expect(await books.run(books.settle("h", MAX_MICRO_CREDITS))).toEqual({
      ok: true,
      charged: MAX_MICRO_CREDITS,
    });
    expect(await books.key()).toEqual({ spent: MAX_MICRO_CREDITS, held: 0n });
    await books.audit();
  });
});
