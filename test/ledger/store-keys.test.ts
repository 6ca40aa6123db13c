import { describe, expect, test } from "bun:test";
import { describeOnEngines } from "../gateway/engines.ts";
import { useBooks } from "./books.ts";
import { NO_LIMITS } from "../../src/core/rate-limits.ts";
import type { ChangeKey } from "../../src/ledger/commands.ts";

describeOnEngines("a key", (engine) => {
  const books = useBooks(engine);
  const change = (changes: Omit<ChangeKey, "kind" | "key">): ChangeKey => ({
    kind: "change_key",
    key: books.id("new"),
    ...changes,
  });
  const revoke = (nowMs: number) => ({ kind: "revoke_key", key: books.id("new"), nowMs }) as const;
  const row = () => books.row("keys", "id", books.id("new"));

  test("is stored as it was issued", async () => {
    const command = books.issueKey("new", {
      name: "Zoë's",
      models: ["m1", "m2"],
      budget: 9n,
      limits: { requestsPerMinute: 60, tokensPerMinute: null, concurrency: 3 },
      routes: true,
      expiresAtMs: 70,
      nowMs: 7,
    });
    expect(await books.run(command)).toEqual({ ok: true });
    const { seq, ...rest } = await row();
    expect(typeof seq).toBe("bigint");
    expect(rest).toEqual({
      id: books.id("new"),
      account_id: books.id("a"),
      name: "Zoë's",
      hash: books.id("hash-new"),
      hint: "sk-…",
      models: '["m1","m2"]',
      expires_at_ms: 70n,
      revoked_at_ms: null,
      created_at_ms: 7n,
      budget: 9n,
      spent: 0n,
      held: 0n,
      allotted: 0n,
      requests_per_minute: 60n,
      tokens_per_minute: null,
      concurrency: 3n,
      routes: 1n,
    });
  });

  test("is issued without limits, and may ask for no route, unless it is told", async () => {
    await books.run(books.issueKey("new"));
    expect(await row()).toMatchObject({
      models: null,
      budget: null,
      expires_at_ms: null,
      requests_per_minute: null,
      tokens_per_minute: null,
      concurrency: null,
      routes: 0n,
    });
    for (const routes of [true, false]) {
      await books.run(change({ routes }));
      expect(await row()).toMatchObject({ routes: routes ? 1n : 0n });
    }
  });

  test("changes only in what is named", async () => {
    await books.run(books.issueKey("new", { models: ["m"], budget: 9n, expiresAtMs: 70 }));
    const steps: readonly [ChangeKey, object][] = [
      [change({}), { name: "n", models: '["m"]', budget: 9n, expires_at_ms: 70n }],
      [change({ name: "other" }), { name: "other", models: '["m"]', budget: 9n, expires_at_ms: 70n }],
      [change({ budget: null }), { name: "other", models: '["m"]', budget: null, expires_at_ms: 70n }],
      [change({ models: null, expiresAtMs: null }), { name: "other", models: null, expires_at_ms: null }],
      [change({ models: [], budget: 0n, expiresAtMs: 5 }), { models: "[]", budget: 0n, expires_at_ms: 5n }],
    ];
    for (const [command, want] of steps) {
      expect(await books.run(command)).toEqual({ ok: true });
      expect(await row()).toMatchObject(want);
    }
  });

  test("has the limits that were named last, each by itself", async () => {
    const limitsAfter = async (limits: ChangeKey["limits"]): Promise<unknown[]> => {
      await books.run(limits === undefined ? change({ name: "other" }) : change({ limits }));
      const { requests_per_minute, tokens_per_minute, concurrency } = await row();
      return [requests_per_minute, tokens_per_minute, concurrency];
    };
    await books.run(books.issueKey("new"));
    expect(await limitsAfter(undefined)).toEqual([null, null, null]);
    expect(await limitsAfter({ tokensPerMinute: 1_000_000_000_000 })).toEqual([
      null,
      1_000_000_000_000n,
      null,
    ]);
    expect(await limitsAfter({ requestsPerMinute: 5, concurrency: 1 })).toEqual([5n, 1_000_000_000_000n, 1n]);
    expect(await limitsAfter(undefined)).toEqual([5n, 1_000_000_000_000n, 1n]);
    expect(await limitsAfter({ tokensPerMinute: null, concurrency: 2 })).toEqual([5n, null, 2n]);
    expect(await limitsAfter(NO_LIMITS)).toEqual([null, null, null]);
  });

  for (const limit of ["requestsPerMinute", "tokensPerMinute", "concurrency"] as const) {
    test(`keeps its ${limit} when it is changed to one that lets nothing through`, async () => {
      await books.run(books.issueKey("new", { limits: { ...NO_LIMITS, [limit]: 5 } }));
      const before = await row();
      const [outcome] = await books.apply(change({ limits: { [limit]: 0 } }));
      expect(outcome).toHaveProperty("failure");
      expect(await row()).toEqual(before);
    });
  }

  test("is revoked once, and does not change after that", async () => {
    await books.run(books.issueKey("new"));
    expect(await books.run(revoke(5))).toEqual({ ok: true });
    expect(await books.run(revoke(6))).toEqual({ ok: true });
    expect(await books.run(change({ name: "x", budget: 1n }))).toEqual({ ok: false, reason: "unknown_key" });
    expect(await row()).toMatchObject({ name: "n", budget: null, revoked_at_ms: 5n });
  });

  test("that is issued again after it was changed and revoked stays as it is", async () => {
    await books.run(books.issueKey("new", { budget: 9n }));
    await books.run(change({ name: "other" }));
    await books.run(revoke(5));
    expect(await books.run(books.issueKey("new", { budget: 9n }))).toEqual({ ok: true });
    expect(await row()).toMatchObject({ name: "other", revoked_at_ms: 5n });
  });

  test("ends with its account, once, and no other is issued then", async () => {
    await books.apply(books.issueKey("new"), books.issueKey("gone"));
    await books.run({ kind: "revoke_key", key: books.id("gone"), nowMs: 3 });
    await books.apply(books.createAccount("b"), books.issueKey("theirs", { account: books.id("b") }));
    const closing = [books.close(), books.revokeKeys(5)] as const;
    expect(await books.apply(...closing, books.issueKey("late"))).toEqual([
      { answer: { ok: true } },
      { answer: { ok: true } },
      { answer: { ok: false, reason: "unknown_account" } },
    ]);
    await books.apply(books.close(), books.revokeKeys(9));
    const revoked = async (name: string) => (await books.row("keys", "id", books.id(name))).revoked_at_ms;
    expect([await revoked("new"), await revoked("gone"), await revoked("theirs")]).toEqual([5n, 3n, null]);
    // One that was issued before is answered as it was then.
    expect(await books.run(books.issueKey("new"))).toEqual({ ok: true });
    expect(await books.run(books.close("nobody's"))).toEqual({ ok: false, reason: "unknown_account" });
  });

  describe("that nobody knows", () => {
    test("is not issued for an unknown account", async () => {
      expect(await books.run(books.issueKey("new", { account: "nobody" }))).toEqual({
        ok: false,
        reason: "unknown_account",
      });
    });
    test("is not revoked", async () => {
      expect(await books.run(revoke(5))).toEqual({ ok: false, reason: "unknown_key" });
    });
    test("is not changed", async () => {
      expect(await books.run(change({ name: "x" }))).toEqual({ ok: false, reason: "unknown_key" });
    });
  });

  test("with the hash of another is a failure, and its neighbours are done", async () => {
    const outcomes = await books.apply(
      books.issueKey("one"),
      books.issueKey("two", { hash: books.id("hash-one") }),
      books.grant("g", 5n),
    );
    expect(outcomes.map((outcome) => "answer" in outcome)).toEqual([true, false, true]);
    expect((await books.account()).balance).toBe(5n);
  });

  test("is issued for an account of the same batch, and pays at once", async () => {
    const account = books.id("b");
    const outcomes = await books.apply(
      books.createAccount("b"),
      books.issueKey("new", { account }),
      books.grant("g", 5n, { account }),
      books.hold("h", 5n, { account, key: books.id("new") }),
    );
    expect(outcomes.at(-1)).toEqual({ answer: { ok: true, amount: 5n } });
    await books.audit();
  });
});
