import { expect, test } from "bun:test";
import { describeOnEngines } from "../gateway/engines.ts";
import { useBooks } from "./books.ts";
import type { AuditMark } from "../../src/ledger/rows.ts";

describeOnEngines("a fact", (engine) => {
  const books = useBooks(engine);
  const remember = (value: string, instead?: string) =>
    books.run({
      kind: "remember",
      name: books.id("fact"),
      value,
      ...(instead === undefined ? {} : { instead }),
    });

  test("stands from when it is first told, whoever tells another", async () => {
    expect(await remember("one")).toEqual({ ok: true, value: "one" });
    expect(await remember("one")).toEqual({ ok: true, value: "one" });
    expect(await remember("two")).toEqual({ ok: true, value: "one" });
  });

  test("is replaced when it is the one to be replaced, and only then", async () => {
    await remember("one");
    expect(await remember("two", "another")).toEqual({ ok: true, value: "one" });
    expect(await remember("two", "one")).toEqual({ ok: true, value: "two" });
    expect(await remember("two", "one")).toEqual({ ok: true, value: "two" });
    expect(await remember("three", "one")).toEqual({ ok: true, value: "two" });
    expect(await books.row("installation", "name", books.id("fact"))).toMatchObject({ value: "two" });
  });

  test("that replaces nothing is told for the first time", async () => {
    expect(await remember("two", "one")).toEqual({ ok: true, value: "two" });
  });

  test("told by two in one batch is that of the first", async () => {
    const name = books.id("fact");
    const outcomes = await books.apply(
      { kind: "remember", name, value: "one" },
      { kind: "remember", name, value: "two" },
    );
    expect(outcomes).toEqual(Array.from({ length: 2 }, () => ({ answer: { ok: true, value: "one" } })));
  });
});

describeOnEngines("a process", (engine) => {
  const books = useBooks(engine);
  const beat = (leaseMs: number, steadyMs = 1_000) =>
    books.run({ kind: "heartbeat", boot: books.id("boot"), leaseMs, steadyMs });
  const lease = async (): Promise<bigint> =>
    (await books.row("processes", "boot_id", books.id("boot"))).lease_until_ms as bigint;

  test("is alive for its lease from when it was last heard of", async () => {
    const before = Date.now();
    expect(await beat(60_000)).toEqual({ ok: true });
    const first = await lease();
    await beat(120_000, 3_000);
    const second = await lease();
    // Earlier versions, which know no allotments, left no mark.
    expect(await books.row("processes", "boot_id", books.id("boot"))).toMatchObject({ allots: 1n });
    if (engine.name === "sqlite") {
      expect([first, second]).toEqual([61_000n, 123_000n]);
      return;
    }
    // By the server's clock, which on this machine is this process's; the process's own word counts for nothing.
    expect(Number(first)).toBeGreaterThanOrEqual(before + 60_000);
    expect(Number(first)).toBeLessThanOrEqual(Date.now() + 60_000);
    expect(Number(second - first)).toBeGreaterThanOrEqual(60_000);
  });

  test("may shorten its own lease", async () => {
    await beat(60_000);
    const first = await lease();
    await beat(1);
    expect(await lease()).toBeLessThan(first);
  });

  if (engine.name === "sqlite")
    test("that was found dead is forgotten once its lease is over, at its very moment, and not while it lasts", async () => {
      await beat(60_000);
      const left = async (deadAtMs: number): Promise<number> => {
        await books.run({ kind: "leave", boot: books.id("boot"), deadAtMs });
        const { database } = books.store;
        const found = database.selectFrom("processes").select("boot_id");
        return (await found.where("boot_id", "=", books.id("boot")).execute()).length;
      };
      expect(await left(60_999)).toBe(1);
      expect(await left(61_000)).toBe(0);
    });

  test("that leaves is known no more; twice is once", async () => {
    await beat(60_000);
    for (let i = 0; i < 2; i += 1)
      expect(await books.run({ kind: "leave", boot: books.id("boot") })).toEqual({ ok: true });
    const left = await books.store.database
      .selectFrom("processes")
      .select("boot_id")
      .where("boot_id", "=", books.id("boot"))
      .execute();
    expect(left).toEqual([]);
  });
});

describeOnEngines("a mark of the audit", (engine) => {
  const books = useBooks(engine);
  const mark = (name: string, n: bigint): AuditMark => ({
    subject: books.id(name),
    ledgerSeq: n,
    amount: n + 1n,
    requestSeq: n + 2n,
    checkedAtMs: Number(n) + 3,
  });

  test("is written for each subject, and the next one takes its place", async () => {
    await books.run({ kind: "mark_audited", marks: [mark("one", 10n), mark("two", 20n)] });
    expect(await books.run({ kind: "mark_audited", marks: [mark("two", 30n)] })).toEqual({ ok: true });
    expect(await books.row("audit_marks", "subject_id", books.id("one"))).toEqual({
      subject_id: books.id("one"),
      ledger_seq: 10n,
      amount: 11n,
      request_seq: 12n,
      checked_at_ms: 13n,
    });
    expect(await books.row("audit_marks", "subject_id", books.id("two"))).toMatchObject({ amount: 31n });
  });

  test("moves forward only: an audit of an earlier snapshot may end later", async () => {
    await books.run({ kind: "mark_audited", marks: [mark("one", 10n)] });
    await books.run({ kind: "mark_audited", marks: [mark("one", 9n), mark("other", 9n)] });
    await books.run({ kind: "mark_audited", marks: [{ ...mark("one", 10n), requestSeq: 11n }] });
    expect(await books.row("audit_marks", "subject_id", books.id("one"))).toMatchObject({
      ledger_seq: 10n,
      amount: 11n,
      request_seq: 12n,
    });
    expect(await books.row("audit_marks", "subject_id", books.id("other"))).toMatchObject({ amount: 10n });
  });

  test("is exact to the last digit, and does not count against what a statement can take", async () => {
    const most = 2n ** 53n - 1n;
    const marks = Array.from({ length: 15_000 }, (_, i) => ({ ...mark(`key-${i}`, 1n), amount: most }));
    expect(await books.apply(books.grant("g", 5n), { kind: "mark_audited", marks })).toEqual([
      { answer: { ok: true, balance: 5n } },
      { answer: { ok: true } },
    ]);
    expect(await books.row("audit_marks", "subject_id", books.id("key-14999"))).toMatchObject({
      amount: most,
    });
  });
});

describeOnEngines("a ping", (engine) => {
  const books = useBooks(engine);

  test("goes to the engine that the store names", () => {
    expect(books.store.engine).toBe(engine.name);
  });

  test("is written each time", async () => {
    const pings = async (): Promise<bigint> =>
      (await books.store.database.selectFrom("store_health").select("pings").executeTakeFirstOrThrow()).pings;
    const before = await pings();
    expect(await books.run({ kind: "ping" })).toEqual({ ok: true });
    await books.apply({ kind: "ping" }, { kind: "ping" });
    expect(await pings()).toBe(before + 3n);
  });
});

describeOnEngines("an account", (engine) => {
  const books = useBooks(engine);

  test("is opened once: a second time it stays as it is", async () => {
    await books.run(books.grant("g", 5n));
    const again = { kind: "create_account", account: books.id("a"), name: "other", nowMs: 9 } as const;
    expect(await books.run(again)).toEqual({ ok: true });
    expect(await books.row("accounts", "id", books.id("a"))).toMatchObject({
      name: "n",
      status: "active",
      balance: 5n,
      created_at_ms: 1n,
    });
  });

  test("is renamed alone, also once it is closed, and an unknown one is not", async () => {
    await books.run(books.createAccount("b"));
    const rename = (account: string) => books.run({ kind: "rename_account", account, name: "new" });
    const named = async (name: string) => (await books.row("accounts", "id", books.id(name))).name;
    expect(await rename(books.id("a"))).toEqual({ ok: true });
    expect([await named("a"), await named("b")]).toEqual(["new", "n"]);
    await books.run(books.close("b"));
    expect(await rename(books.id("b"))).toEqual({ ok: true });
    expect(await books.row("accounts", "id", books.id("b"))).toMatchObject({
      name: "new",
      status: "disabled",
    });
    expect(await rename("nobody")).toEqual({ ok: false, reason: "unknown_account" });
  });
});
