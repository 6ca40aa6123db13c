import { expect, test } from "bun:test";
import { sql } from "kysely";
import { Client } from "pg";
import { commandsFor } from "../../../test/ledger/books.ts";
import { CREDIT, LEASE_MS, useSharedBooks } from "../../../test/ledger/shared-books.ts";
import { describeOnPostgres } from "../../../test/postgres/on-postgres.ts";
import type { Command } from "../commands.ts";
import { takeStatement } from "./allotment-statements.ts";
import { lockAccounts } from "./statements.ts";

const { createAccount, issueKey, grant, settle, voided } = commandsFor((name) => name);

describeOnPostgres("processes that share the books", () => {
  const { start, startReserving, rows, account, audit, patient, admin, url } = useSharedBooks();

  test("hold from memory once a key is in use, and the tables have what ended", async () => {
    const one = await startReserving("one");
    expect(await rows()).toEqual([{ boot_id: "one", amount: (CREDIT - 10n) / 4n }]);
    expect(await account()).toEqual({ balance: CREDIT, held: 10n, allotted: (CREDIT - 10n) / 4n });
    expect(one.keeper.held().accounts.get("a")).toBe(10n);
    for (let i = 0; i < 5; i += 1) await one.hold(`h${i}`, 100n);
    const outcomes = await Promise.all([
      one.writer.submit(settle("h0", 30n)),
      one.writer.submit(settle("h1", 100n)),
      one.writer.submit(voided("h2")),
      one.writer.submit(settle("h3", 0n)),
      one.writer.submit(settle("one-1", 4n)),
    ]);
    expect(outcomes as unknown[]).toEqual([
      { ok: true, charged: 30n },
      { ok: true, charged: 100n },
      { ok: true },
      { ok: true, charged: 0n },
      { ok: true, charged: 4n },
    ]);
    expect(await one.writer.submit(settle("h0", 30n))).toEqual({ ok: true, charged: 30n });
    expect(await one.writer.submit(voided("h0"))).toEqual({ ok: false, reason: "settled" });
    expect(one.keeper.held().accounts.get("a")).toBe(110n);
    expect(await account()).toEqual({
      balance: CREDIT - 134n,
      held: 0n,
      allotted: (CREDIT - 10n) / 4n - 130n,
    });
    await audit();
  });

  test("write the prices of a model that served in another's place once, and its cost with each request", async () => {
    const written: string[][] = [];
    const one = await startReserving("one", {
      over: (own) => ({
        ...own,
        save(saving, removed) {
          written.push([...saving.changes.prices.keys()]);
          return own.save(saving, removed);
        },
      }),
    });
    const served = { model: "m2", priceVersion: "v2", priceRules: '{"input":"2"}' };
    for (const [name, cost] of [
      ["h1", 7n],
      ["h2", undefined],
    ] as const) {
      await one.hold(name, 100n);
      expect(await one.writer.submit(settle(name, 30n, { served, cost }))).toEqual({
        ok: true,
        charged: 30n,
      });
    }
    expect(written).toEqual([["v", "v2"], []]);
    const requests = admin().selectFrom("requests").select(["hold_id", "model", "price_version", "cost"]);
    expect(await requests.orderBy("seq").execute()).toEqual([
      { hold_id: "h1", model: "m2", price_version: "v2", cost: 7n },
      { hold_id: "h2", model: "m2", price_version: "v2", cost: null },
    ]);
    const prices = admin().selectFrom("price_versions").select(["version", "model", "rules"]);
    expect(await prices.orderBy("version").execute()).toEqual([
      { version: "v", model: "m", rules: "{}" },
      { version: "v2", model: "m2", rules: served.priceRules },
    ]);
    await audit();
  });

  test("charge above a hold what is free of the whole account", async () => {
    const one = await startReserving("one");
    await one.hold("h", 100n);
    expect(await one.writer.submit(settle("h", CREDIT + 7n))).toEqual({
      ok: true,
      charged: CREDIT - 10n - 10n,
    });
    await audit();
  });

  test("take nothing of a small account, and give a bound of output by what is free of all of it", async () => {
    const one = await startReserving("one");
    const elastic = { tokenPrice: 1n, maxTokens: 10_000_000, floorTokens: 1 };
    await one.writer.submit(createAccount("small"));
    await one.writer.submit(issueKey("of small", { account: "small" }));
    await one.writer.submit(grant("gs", 100n, { account: "small" }));
    for (const name of ["s1", "s2", "s3"]) await one.hold(name, 10n, { account: "small", key: "of small" });
    expect(await one.hold("e", 0n, { elastic: { ...elastic, maxTokens: 50 } })).toMatchObject({
      outputTokens: 50,
    });
    // Half of what is free, with what this process had set aside.
    expect(await one.hold("e2", 0n, { elastic })).toMatchObject({ outputTokens: (Number(CREDIT) - 70) / 2 });
    expect([...one.inMemory]).toEqual(["one-2", "e"]);
    await audit();
  });

  test("refuse for want of credit only once every process has given back what it had", async () => {
    const [one, two] = [await startReserving("one"), await startReserving("two")];
    expect((await rows()).map(({ boot_id }) => boot_id)).toEqual(["one", "two"]);
    // More than is not allotted, and less than is not held.
    const most = CREDIT - 40n;
    const third = await start("three");
    expect(await patient(third, third.hold("most", most))).toEqual({ ok: true, amount: most });
    expect(await rows()).toEqual([]);
    expect(await patient(third, third.hold("more", 1n))).toEqual({
      ok: false,
      reason: "insufficient_credits",
    });
    // Their open holds go on in the tables.
    expect(await account()).toEqual({ balance: CREDIT, held: CREDIT, allotted: 0n });
    for (const [process, boot] of [
      [one, "one"],
      [two, "two"],
    ] as const)
      expect(await process.writer.submit(settle(`${boot}-2`, 5n))).toEqual({ ok: true, charged: 5n });
    await audit();
  });

  test("take nothing for a while of an account that another needed", async () => {
    const one = await startReserving("one");
    const two = await start("two");
    await patient(two, two.hold("most", CREDIT - 1_000n));
    await two.writer.submit(voided("most"));
    await one.clock.advance(LEASE_MS / 3);
    await one.beat();
    for (const name of ["x", "y", "z"]) await one.hold(name, 1n);
    expect([...one.inMemory]).toEqual(["one-2"]);
    await sql`update accounts set recalled_at_ms = 0`.execute(admin());
    await one.clock.advance(LEASE_MS / 3);
    await one.beat();
    for (const name of ["u", "v"]) await one.hold(name, 1n);
    expect([...one.inMemory]).toEqual(["one-2", "v"]);
    await audit();
  });

  for (const narrowed of [
    { kind: "revoke_key", key: "k", nowMs: 2 },
    { kind: "close_account", account: "a" },
    { kind: "change_key", key: "k", budget: 30n },
    { kind: "change_key", key: "k", expiresAtMs: 1 },
  ] as const satisfies readonly Command[])
    test(`hold nothing more once ${JSON.stringify(Object.keys(narrowed))} is answered`, async () => {
      const one = await startReserving("one");
      const two = await start("two");
      expect(await patient(two, two.writer.submit(narrowed))).toEqual({ ok: true });
      expect(await one.hold("after", 20n)).toMatchObject({ ok: false });
      expect(await rows()).toEqual([]);
      await audit();
    });

  test("hold nothing more of an account that was disabled", async () => {
    const one = await startReserving("one");
    await sql`update accounts set status = 'disabled' where id = 'a'`.execute(admin());
    while ((await rows()).length > 0) await Bun.sleep(1);
    expect(await one.hold("after", 1n)).toEqual({ ok: false, reason: "key_not_live" });
    await audit();
  });

  test("give back before credit is taken back", async () => {
    await startReserving("one");
    const two = await start("two");
    expect(await patient(two, two.writer.submit(grant("back", 20n - CREDIT)))).toEqual({
      ok: true,
      balance: 20n,
    });
    expect(await patient(two, two.writer.submit(grant("more", -1n)))).toEqual({
      ok: false,
      reason: "below_held",
    });
    await audit();
  });

  test("are asked for an allotment that is being taken, too: a key may have been narrowed meanwhile", async () => {
    const one = await start("one");
    await start("two");
    const wanted = { id: "two.9", isNew: true, boot: "two", account: "a", key: "k", atLeast: 1n };
    const other = new Client({ connectionString: url() });
    await other.connect();
    try {
      await other.query("begin");
      for (const { text, values } of [lockAccounts(["a"]), takeStatement(wanted, 1)])
        await other.query(text, [...values]);
      let isAnswered = false;
      const recalled = one.keeper.recall({ key: "k" }).finally(() => (isAnswered = true));
      const waiting = sql<{ n: number }>`select count(*)::int as n from pg_stat_activity
        where wait_event_type = 'Lock' and datname = current_database()`;
      while (!isAnswered && (await waiting.execute(admin())).rows[0]?.n !== 1) await Bun.sleep(5);
      expect(isAnswered).toBe(false);
      await other.query("commit");
      // No process knows of it, so none gives it back: that is told as silence, not as if nothing were out.
      expect(await patient(one, recalled)).toBe(false);
    } finally {
      await other.end();
    }
    await audit();
  });

  test("do not fail with a neighbour that the store refuses", async () => {
    const one = await startReserving("one");
    for (const name of ["good", "bad"]) await one.hold(name, 10n);
    const [good, bad] = await Promise.allSettled([
      one.writer.submit(settle("good", 3n)),
      one.writer.submit(settle("bad", 3n, { outcome: "\u0000" })),
    ]);
    expect(good).toEqual({ status: "fulfilled", value: { ok: true, charged: 3n } });
    expect(bad.status).toBe("rejected");
    expect(await one.writer.submit(settle("bad", 4n))).toEqual({ ok: true, charged: 4n });
    await audit();
  });
});
