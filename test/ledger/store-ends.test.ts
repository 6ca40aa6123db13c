import { beforeEach, expect, test } from "bun:test";
import { describeOnEngines } from "../gateway/engines.ts";
import { useBooks } from "./books.ts";
import type { RequestTimeline } from "../../src/ledger/commands.ts";

const timeline: RequestTimeline = {
  provider: "openai",
  admittedAtMs: 11,
  heldAtMs: 12,
  firstByteAtMs: 13,
  endedAtMs: 14,
  attempts: [
    { provider: "openai", upstream_id: "u1", sent_at_ms: 12, status: 503 },
    { provider: "openai", upstream_id: "", sent_at_ms: 13, status: null },
  ],
};

describeOnEngines("the end of a hold", (engine) => {
  const books = useBooks(engine);
  beforeEach(async () => void (await books.apply(books.grant("g", 100n), books.hold("h", 60n))));

  test("settled: charges what was used and frees the rest; twice is once", async () => {
    expect(await books.run(books.settle("h", 25n))).toEqual({ ok: true, charged: 25n });
    expect(await books.run(books.settle("h", 59n))).toEqual({ ok: true, charged: 25n });
    expect(await books.account()).toEqual({ balance: 75n, held: 0n });
    expect(await books.key()).toEqual({ spent: 25n, held: 0n });
    expect(await books.entries("h")).toEqual([
      {
        cause: books.id("h:settle"),
        account_id: books.id("a"),
        key_id: books.id("k"),
        counter: "revenue",
        amount: -25n,
        balance_after: 75n,
        kind: "settle",
      },
    ]);
    await books.audit();
  });

  test("settled for nothing: the charge of nothing is written too", async () => {
    expect(await books.run(books.settle("h", 0n))).toEqual({ ok: true, charged: 0n });
    expect(await books.entries("h")).toMatchObject([{ cause: books.id("h:settle"), balance_after: 100n }]);
    expect(await books.row("requests", "hold_id", books.id("h"))).toMatchObject({ charge: 0n });
    await books.audit();
  });

  test("voided: frees all of it; twice is once", async () => {
    expect([await books.run(books.voided("h")), await books.run(books.voided("h"))]).toEqual([
      { ok: true },
      { ok: true },
    ]);
    expect(await books.account()).toEqual({ balance: 100n, held: 0n });
    expect(await books.key()).toEqual({ spent: 0n, held: 0n });
    expect(await books.entries("h")).toEqual([]);
    await books.audit();
  });

  test("settled: the request is written with its times, its usage and its flags", async () => {
    const usage = '{"input":3,"output":4}';
    await books.run(
      books.settle("h", 25n, { usage, flags: ["estimated"], outcome: "client_gone", timeline, nowMs: 15 }),
    );
    const { seq, ...row } = await books.row("requests", "hold_id", books.id("h"));
    expect(typeof seq).toBe("bigint");
    expect(row).toEqual({
      id: books.id("req-h"),
      account_id: books.id("a"),
      key_id: books.id("k"),
      hold_id: books.id("h"),
      model: "m",
      provider: "openai",
      outcome: "client_gone",
      charge: 25n,
      price_version: "v",
      usage,
      flags: '["estimated"]',
      attempts: JSON.stringify(timeline.attempts),
      admitted_at_ms: 11n,
      held_at_ms: 12n,
      first_byte_at_ms: 13n,
      ended_at_ms: 14n,
      settled_at_ms: 15n,
      cost: null,
    });
    expect(await books.row("holds", "id", books.id("h"))).toMatchObject({
      state: "settled",
      settled: 25n,
      end_reason: "client_gone",
      ended_at_ms: 15n,
    });
  });

  test("voided: the request is written without usage, and without times where nobody knows them", async () => {
    await books.run(books.hold("other", 1n, { nowMs: 5 }));
    await books.apply(
      books.voided("h", { outcome: "upstream_error", timeline: { ...timeline, firstByteAtMs: null } }),
      books.voided("other", { outcome: "process_died", nowMs: 9 }),
    );
    expect(await books.row("requests", "hold_id", books.id("h"))).toMatchObject({
      outcome: "upstream_error",
      charge: 0n,
      usage: null,
      flags: null,
      first_byte_at_ms: null,
      ended_at_ms: 14n,
    });
    expect(await books.row("requests", "hold_id", books.id("other"))).toMatchObject({
      provider: null,
      attempts: "[]",
      admitted_at_ms: 5n,
      held_at_ms: 5n,
      first_byte_at_ms: null,
      ended_at_ms: 9n,
      settled_at_ms: 9n,
    });
    expect(await books.row("holds", "id", books.id("h"))).toMatchObject({
      state: "voided",
      settled: null,
      end_reason: "upstream_error",
    });
  });

  test("settled by another model: the request has that model, its prices and the cost, and the hold keeps its own", async () => {
    const served = { model: "m2", priceVersion: books.id("v2"), priceRules: '{"input":"2"}' };
    for (const [name, used] of [
      ["h", 25n],
      ["again", 0n],
    ] as const) {
      await books.run(books.hold(name, 60n));
      expect(await books.run(books.settle(name, used, { served, cost: 7n }))).toEqual({
        ok: true,
        charged: used,
      });
      expect(await books.row("requests", "hold_id", books.id(name))).toMatchObject({
        model: "m2",
        price_version: served.priceVersion,
        charge: used,
        cost: 7n,
      });
      expect(await books.row("holds", "id", books.id(name))).toMatchObject({
        model: "m",
        price_version: "v",
      });
    }
    expect(await books.row("price_versions", "version", served.priceVersion)).toMatchObject({
      model: "m2",
      rules: served.priceRules,
    });
    await books.audit();
  });

  test("settled by another model for more than the hold: the excess is taken from the free balance", async () => {
    const served = { model: "m2", priceVersion: books.id("v2"), priceRules: "{}" };
    expect(await books.run(books.settle("h", 90n, { served }))).toEqual({ ok: true, charged: 90n });
    expect(await books.row("requests", "hold_id", books.id("h"))).toMatchObject({
      model: "m2",
      flags: '["above_hold"]',
      cost: null,
    });
    await books.audit();
  });

  test("voided after another model was asked: the request has that model and what it cost", async () => {
    const served = { model: "m2", priceVersion: books.id("v2"), priceRules: "{}" };
    await books.run(books.voided("h", { served, cost: 0n }));
    expect(await books.row("requests", "hold_id", books.id("h"))).toMatchObject({
      model: "m2",
      price_version: served.priceVersion,
      charge: 0n,
      cost: 0n,
    });
    await books.audit();
  });

  const excess = [
    { name: "the free balance", used: 90n, charged: 90n, lost: [] },
    { name: "the free balance to its last, and the rest is lost", used: 130n, charged: 100n, lost: [-30n] },
  ];
  for (const { name, used, charged, lost } of excess) {
    test(`settled above the hold takes from ${name}`, async () => {
      const twice = [
        await books.run(books.settle("h", used, { flags: ["partial"] })),
        await books.run(books.settle("h", used)),
      ];
      expect(twice).toEqual([
        { ok: true, charged },
        { ok: true, charged },
      ]);
      expect(await books.account()).toEqual({ balance: 100n - charged, held: 0n });
      expect(await books.row("requests", "hold_id", books.id("h"))).toMatchObject({
        charge: charged,
        flags: '["partial","above_hold"]',
      });
      const losses = await books.entries("h:loss");
      expect(losses.map(({ amount }) => amount)).toEqual(lost);
      for (const loss of losses)
        expect(loss).toMatchObject({ account_id: "operator", key_id: null, counter: "operator_loss" });
      await books.audit();
    });
  }

  test("settled above the hold never takes what others hold", async () => {
    await books.run(books.hold("other", 30n));
    expect(await books.run(books.settle("h", 500n))).toEqual({ ok: true, charged: 70n });
    expect(await books.account()).toEqual({ balance: 30n, held: 30n });
    expect(await books.entries("h:loss")).toMatchObject([{ amount: -430n }]);
    await books.audit();
  });

  test("a hold repeated after its end is not opened again", async () => {
    await books.run(books.settle("h", 10n));
    expect(await books.run(books.hold("h", 60n))).toEqual({ ok: true, amount: 60n });
    expect(await books.account()).toEqual({ balance: 90n, held: 0n });
    await books.audit();
  });

  test("a void after a settle is answered settled and changes nothing", async () => {
    await books.run(books.settle("h", 1n));
    expect(await books.run(books.voided("h"))).toEqual({ ok: false, reason: "settled" });
    expect(await books.account()).toEqual({ balance: 99n, held: 0n });
    await books.audit();
  });

  for (const command of ["settle", "voided"] as const) {
    test(`a ${command} of an unknown hold is answered unknown_hold`, async () => {
      const unknown = command === "settle" ? books.settle("x", 1n) : books.voided("x");
      expect(await books.run(unknown)).toEqual({ ok: false, reason: "unknown_hold" });
      await books.audit();
    });
  }
});

describeOnEngines("a hold that was given up", (engine) => {
  const books = useBooks(engine);
  beforeEach(
    async () => void (await books.apply(books.grant("g", 100n), books.hold("h", 60n, { expectedCost: 20n }))),
  );
  const losses = async (): Promise<readonly unknown[]> =>
    (await books.entries("h")).map(({ cause, amount }) => [cause, amount]);

  for (const outcome of ["process_died", "expired", "unwritten", "unfinished_upstream"]) {
    test(`as ${outcome} is freed, and its expected cost is the operator's loss; twice is once`, async () => {
      for (let i = 0; i < 2; i += 1)
        expect(await books.run(books.voided("h", { outcome }))).toEqual({ ok: true });
      expect(await books.account()).toEqual({ balance: 100n, held: 0n });
      expect(await losses()).toEqual([[books.id("h:loss"), -20n]]);
      expect(await books.row("requests", "hold_id", books.id("h"))).toMatchObject({ outcome, charge: 0n });
      await books.audit();
    });
  }

  test("by its own request costs the operator nothing", async () => {
    await books.run(books.voided("h", { outcome: "upstream_error" }));
    expect(await losses()).toEqual([]);
  });

  test("and was expected to cost nothing is no loss", async () => {
    await books.run(books.hold("free", 10n, { expectedCost: 0n }));
    await books.run(books.voided("free", { outcome: "expired" }));
    expect(await books.entries("free")).toEqual([]);
  });

  const late = [
    { name: "more than was expected", outcome: "process_died", used: 50n, entry: -30n },
    { name: "less than was expected", outcome: "expired", used: 5n, entry: 15n },
    { name: "what was expected", outcome: "expired", used: 20n, entry: undefined },
    { name: "anything after a plain void", outcome: "refused", used: 7n, entry: -7n },
    { name: "nothing after a plain void", outcome: "refused", used: 0n, entry: undefined },
  ];
  for (const { name, outcome, used, entry } of late) {
    test(`and is settled late for ${name} charges nothing, and the loss comes to what was used`, async () => {
      await books.run(books.voided("h", { outcome }));
      const before = await books.row("requests", "hold_id", books.id("h"));
      for (let i = 0; i < 2; i += 1)
        expect(await books.run(books.settle("h", used))).toEqual({ ok: true, charged: 0n });
      const entries = await books.entries("h:late");
      expect(entries.map(({ amount }) => amount)).toEqual(entry === undefined ? [] : [entry]);
      for (const loss of entries) expect(loss).toMatchObject({ account_id: "operator", kind: "loss" });
      const lost = (await books.entries("h")).reduce((sum, { amount }) => sum - (amount as bigint), 0n);
      expect(lost).toBe(used);
      expect(await books.account()).toEqual({ balance: 100n, held: 0n });
      expect(await books.key()).toEqual({ spent: 0n, held: 0n });
      expect(await books.row("requests", "hold_id", books.id("h"))).toEqual(before);
      await books.audit();
    });
  }

  test("and settled late twice in one batch loses once", async () => {
    await books.run(books.voided("h", { outcome: "process_died" }));
    const outcomes = await books.apply(books.settle("h", 50n), books.settle("h", 50n));
    expect(outcomes).toEqual(Array.from({ length: 2 }, () => ({ answer: { ok: true, charged: 0n } })));
    expect(await books.entries("h:late")).toHaveLength(1);
  });

  test("and settled in the same batch after it is charged nothing; before it, in full", async () => {
    await books.run(books.hold("other", 30n, { expectedCost: 3n }));
    const outcomes = await books.apply(
      books.voided("h", { outcome: "expired" }),
      books.settle("h", 20n),
      books.settle("other", 10n),
      books.voided("other", { outcome: "expired" }),
    );
    expect(outcomes).toEqual([
      { answer: { ok: true } },
      { answer: { ok: true, charged: 0n } },
      { answer: { ok: true, charged: 10n } },
      { answer: { ok: false, reason: "settled" } },
    ]);
    expect(await books.account()).toEqual({ balance: 90n, held: 0n });
    await books.audit();
  });
});
