import { beforeEach, describe, expect, test } from "bun:test";
import { describeOnEngines } from "../gateway/engines.ts";
import { useBooks } from "./books.ts";

describeOnEngines("a hold", (engine) => {
  const books = useBooks(engine);
  beforeEach(async () => void (await books.apply(books.grant("g", 100n))));

  test("sets credit aside, up to the last of it", async () => {
    expect(await books.run(books.hold("h1", 60n))).toEqual({ ok: true, amount: 60n });
    expect(await books.run(books.hold("h2", 41n))).toEqual({ ok: false, reason: "insufficient_credits" });
    expect(await books.run(books.hold("h3", 40n))).toEqual({ ok: true, amount: 40n });
    expect(await books.account()).toEqual({ balance: 100n, held: 100n });
    expect(await books.key()).toEqual({ spent: 0n, held: 100n });
    await books.audit();
  });

  test("is stored with what its end will need", async () => {
    const more = { boot: "boot_7", model: "model-7", priceVersion: "version-7", priceRules: '{"input":"3"}' };
    await books.run(books.hold("h", 60n, { ...more, expectedCost: 9n, nowMs: 50, expiresAtMs: 80 }));
    // Where the process keeps open holds in memory, the tables have them once they have ended.
    await books.run(books.settle("h", 7n, { nowMs: 70 }));
    expect(await books.row("holds", "id", books.id("h"))).toEqual({
      id: books.id("h"),
      account_id: books.id("a"),
      key_id: books.id("k"),
      request_id: books.id("req-h"),
      boot_id: "boot_7",
      model: "model-7",
      amount: 60n,
      expected_cost: 9n,
      state: "settled",
      price_version: "version-7",
      created_at_ms: 50n,
      expires_at_ms: 80n,
      ended_at_ms: 70n,
      end_reason: "completed",
      settled: 7n,
      task_id: null,
    });
    expect(await books.row("price_versions", "version", "version-7")).toMatchObject({
      model: "model-7",
      rules: '{"input":"3"}',
    });
  });

  test("is not expected to cost more than it holds", async () => {
    await books.run(books.hold("h", 5n, { expectedCost: 6n }));
    await books.run(books.voided("h"));
    expect(await books.row("holds", "id", books.id("h"))).toMatchObject({ expected_cost: 5n });
  });

  test("of nothing is a hold", async () => {
    expect(await books.run(books.hold("h", 0n))).toEqual({ ok: true, amount: 0n });
  });

  test("that was refused can be made when there is credit", async () => {
    expect(await books.run(books.hold("h", 101n))).toMatchObject({ ok: false });
    await books.run(books.grant("g2", 1n));
    expect(await books.run(books.hold("h", 101n))).toEqual({ ok: true, amount: 101n });
    await books.audit();
  });

  test("counts what neighbours in its batch take and free", async () => {
    const outcomes = await books.apply(
      books.hold("h1", 70n),
      books.hold("h2", 70n),
      books.settle("h1", 20n),
      books.hold("h3", 80n),
      books.hold("h4", 1n),
    );
    expect(outcomes).toEqual([
      { answer: { ok: true, amount: 70n } },
      { answer: { ok: false, reason: "insufficient_credits" } },
      { answer: { ok: true, charged: 20n } },
      { answer: { ok: true, amount: 80n } },
      { answer: { ok: false, reason: "insufficient_credits" } },
    ]);
    expect(await books.account()).toEqual({ balance: 80n, held: 80n });
    await books.audit();
  });

  describe("is refused as key_not_live", () => {
    const issue = { expiresAtMs: 10 };
    const refusals: readonly {
      readonly name: string;
      readonly make: () => Promise<unknown>;
      readonly more?: () => object;
    }[] = [
      {
        name: "with a revoked key",
        make: () => books.run({ kind: "revoke_key", key: books.id("k"), nowMs: 1 }),
      },
      {
        name: "with a key that was revoked in the same batch before it",
        make: () => books.apply({ kind: "revoke_key", key: books.id("k"), nowMs: 1 }, books.hold("h", 1n)),
      },
      {
        name: "on an account that was closed while it was in memory",
        make: async () => {
          await books.apply(books.hold("before", 1n), books.voided("before"));
          await books.run(books.close());
        },
      },
      {
        name: "on an account that was closed in the same batch before it",
        make: () => books.apply(books.close(), books.hold("h", 1n)),
      },
      {
        name: "with a key at its last moment",
        make: () => books.run(books.issueKey("other", issue)),
        more: () => ({ key: books.id("other"), nowMs: 10 }),
      },
      {
        name: "with a key of another account",
        make: () =>
          books.apply(
            books.createAccount("b"),
            books.grant("gb", 50n, { account: books.id("b") }),
            books.issueKey("other", { account: books.id("b") }),
          ),
        more: () => ({ key: books.id("other") }),
      },
      { name: "with an unknown key", make: async () => undefined, more: () => ({ key: "nobody's" }) },
      { name: "on an unknown account", make: async () => undefined, more: () => ({ account: "nobody" }) },
      {
        name: "on a disabled account",
        // Before anything was held of it: what is changed past a running process is not seen by it.
        make: async () => {
          const account = { account: books.id("off") };
          await books.apply(books.createAccount("off"), books.issueKey("key of off", account));
          await books.execute(`update accounts set status = 'disabled' where id = '${account.account}'`);
        },
        more: () => ({ account: books.id("off"), key: books.id("key of off") }),
      },
    ];
    for (const { name, make, more = () => ({}) } of refusals) {
      test(name, async () => {
        await make();
        expect(await books.run(books.hold("h", 1n, more()))).toEqual({ ok: false, reason: "key_not_live" });
        expect(await books.account()).toEqual({ balance: 100n, held: 0n });
        await books.audit();
      });
    }
  });

  test("can be made until the moment its key expires", async () => {
    await books.run(books.issueKey("other", { expiresAtMs: 10 }));
    const command = books.hold("h", 1n, { key: books.id("other"), nowMs: 9 });
    expect(await books.run(command)).toMatchObject({ ok: true });
  });

  test("ends as it should when its key was revoked and its account closed meanwhile", async () => {
    await books.run(books.hold("h", 60n));
    await books.apply(books.close(), books.revokeKeys(2));
    expect(await books.run(books.settle("h", 25n))).toEqual({ ok: true, charged: 25n });
    expect(await books.key()).toEqual({ spent: 25n, held: 0n });
    await books.audit();
  });
});

describeOnEngines("an elastic hold", (engine) => {
  const books = useBooks(engine);
  beforeEach(async () => void (await books.apply(books.grant("g", 1_000n))));

  const cases = [
    { name: "takes half the free balance", amount: 100n, floor: 10, max: 1_000, want: [500n, 200] },
    { name: "takes no more than the most", amount: 100n, floor: 10, max: 50, want: [200n, 50] },
    { name: "takes the floor when half pays less", amount: 450n, floor: 100, max: 1_000, want: [650n, 100] },
    {
      name: "takes the floor when half is less than its base",
      amount: 700n,
      floor: 100,
      max: 1_000,
      want: [900n, 100],
    },
    { name: "takes a most below the floor", amount: 0n, floor: 9, max: 3, want: [6n, 3] },
    {
      name: "without a price takes the most for nothing",
      amount: 5n,
      floor: 1,
      max: 77,
      price: 0n,
      want: [5n, 77],
    },
  ] as const;
  for (const { name, amount, floor, max, want, ...rest } of cases) {
    test(`${name}, and says the same when repeated`, async () => {
      const elastic = { tokenPrice: "price" in rest ? rest.price : 2n, maxTokens: max, floorTokens: floor };
      const answer = { ok: true, amount: want[0], outputTokens: want[1] } as const;
      expect(await books.run(books.hold("h", amount, { elastic }))).toEqual(answer);
      expect(await books.run(books.hold("h", amount, { elastic }))).toEqual(answer);
      expect((await books.account()).held).toBe(want[0]);
    });
  }

  test("that cannot pay its floor is refused", async () => {
    const elastic = { tokenPrice: 2n, maxTokens: 1_000, floorTokens: 151 };
    expect(await books.run(books.hold("h", 700n, { elastic }))).toEqual({
      ok: false,
      reason: "insufficient_credits",
    });
  });

  test("takes half of what the budget has left where that is less", async () => {
    await books.run(books.issueKey("small", { budget: 400n }));
    const elastic = { tokenPrice: 2n, maxTokens: 1_000, floorTokens: 10 };
    const key = books.id("small");
    expect(await books.run(books.hold("h1", 100n, { elastic, key }))).toEqual({
      ok: true,
      amount: 200n,
      outputTokens: 50,
    });
    expect(await books.run(books.hold("h2", 181n, { elastic, key }))).toEqual({
      ok: false,
      reason: "budget_exceeded",
    });
  });

  test("counts what neighbours in its batch hold", async () => {
    const elastic = { tokenPrice: 1n, maxTokens: 10_000, floorTokens: 1 };
    const outcomes = await books.apply(books.hold("h1", 0n, { elastic }), books.hold("h2", 0n, { elastic }));
    expect(outcomes).toEqual([
      { answer: { ok: true, amount: 500n, outputTokens: 500 } },
      { answer: { ok: true, amount: 250n, outputTokens: 250 } },
    ]);
  });
});
