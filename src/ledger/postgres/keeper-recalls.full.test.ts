import { expect, test } from "bun:test";
import { sql } from "kysely";
import { commandsFor } from "../../../test/ledger/books.ts";
import { CREDIT, LEASE_MS, type TestProcess, useSharedBooks } from "../../../test/ledger/shared-books.ts";
import { describeOnPostgres } from "../../../test/postgres/on-postgres.ts";

const { issueKey, voided } = commandsFor((name) => name);

/** Its output is bounded by half of what is free. */
const elastic = { tokenPrice: 1n, maxTokens: 10_000_000, floorTokens: 1 };

describeOnPostgres("what processes have set aside", () => {
  const { start, startReserving, rows, account, audit, patient, textOf, admin } = useSharedBooks();

  test("is not asked for where the key's budget refuses the hold in any case, or all of the account is too little", async () => {
    const two = await start("two");
    await two.writer.submit(issueKey("poor", { budget: 5n }));
    await startReserving("one");
    const before = await rows();
    expect(await two.hold("p", 10n, { key: "poor" })).toEqual({ ok: false, reason: "budget_exceeded" });
    expect(await two.hold("p2", CREDIT)).toEqual({ ok: false, reason: "insufficient_credits" });
    expect(await rows()).toEqual(before);
    await audit();
  });

  test("is asked for where the key's budget would do without it", async () => {
    const two = await start("two");
    await two.writer.submit(issueKey("tight", { budget: 1_000n }));
    const one = await start("one");
    for (const name of ["t1", "t2"]) await one.hold(name, 10n, { key: "tight" });
    expect(await rows()).toHaveLength(1);
    expect(await patient(two, two.hold("p", 980n, { key: "tight" }))).toMatchObject({ ok: true });
    expect(await rows()).toEqual([]);
    await audit();
  });

  test("bounds no output: it is given back first", async () => {
    await startReserving("one");
    const two = await start("two");
    expect(await patient(two, two.hold("e", 0n, { elastic }))).toMatchObject({
      outputTokens: (Number(CREDIT) - 20) / 2,
    });
    expect(await rows()).toEqual([]);
    await audit();
  });

  test("bounds an output where the process that has it says nothing", async () => {
    const silent = await startReserving("silent");
    await silent.tables.close();
    const two = await start("two");
    const { allotted } = await account();
    expect(await patient(two, two.hold("e", 0n, { elastic }))).toMatchObject({
      outputTokens: Number((CREDIT - 10n - allotted) / 2n),
    });
    await audit();
  });

  test("comes back also while its process waits for the answer to its own taking", async () => {
    const two = await start("two");
    let isFirst = true;
    const one = await start("one", {
      over: (own) => ({
        ...own,
        async take(wanted, nowMs) {
          const taken = await own.take(wanted, nowMs);
          if (isFirst) {
            await two.tables.recall({ account: "a" });
            await Bun.sleep(50);
          }
          isFirst = false;
          return taken;
        },
      }),
    });
    for (const name of ["one-1", "one-2"]) await one.hold(name, 10n);
    while ((await rows()).length > 0) await Bun.sleep(1);
    await audit();
  });

  test("comes back where a process was without a connection when it was asked for", async () => {
    const one = await startReserving("one");
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`.execute(admin());
    await sql`update accounts set status = 'disabled' where id = 'a'`.execute(admin());
    await beatAgain(one);
    while ((await rows()).length > 0) await Bun.sleep(1);
    expect(await one.hold("after", 1n)).toEqual({ ok: false, reason: "key_not_live" });
    await audit();
  });

  test("is closed with its account, but for a process that says nothing: that is told as an overload", async () => {
    const silent = await startReserving("silent");
    await silent.tables.close();
    const two = await start("two");
    expect(await textOf(patient(two, two.writer.submit({ kind: "close_account", account: "a" })))).toBe(
      "overloaded_error",
    );
    expect(await two.hold("after", 1n)).toEqual({ ok: false, reason: "key_not_live" });
    await audit();
  });

  test("cannot be asked for while the store does not answer: that is told as an overload", async () => {
    await startReserving("one");
    const away = (own: TestProcess["tables"]): TestProcess["tables"] => ({
      ...own,
      recall: () => Promise.reject(new Error("Connection terminated")),
    });
    const two = await start("two", { over: away });
    expect(await textOf(two.hold("most", CREDIT - 100n))).toBe("overloaded_error");
    await audit();
  });

  test("is not asked for when a bound is lifted", async () => {
    const silent = await startReserving("silent");
    await silent.tables.close();
    const two = await start("two");
    expect(
      await two.writer.submit({ kind: "change_key", key: "k", budget: null, expiresAtMs: null }),
    ).toEqual({
      ok: true,
    });
    expect(await textOf(patient(two, two.writer.submit({ kind: "change_key", key: "k", budget: 30n })))).toBe(
      "overloaded_error",
    );
  });

  test("is nothing while a process lives that knows nothing of it: one of an earlier version", async () => {
    await sql`insert into processes (boot_id, lease_until_ms)
      values ('earlier', cast(extract(epoch from clock_timestamp()) * 1000 as bigint) + 60000)`.execute(
      admin(),
    );
    const one = await start("one");
    for (const name of ["h1", "h2", "h3"]) await one.hold(name, 10n);
    expect([...one.inMemory]).toEqual([]);
    expect(await rows()).toEqual([]);
    await sql`delete from processes where boot_id = 'earlier'`.execute(admin());
    await one.clock.advance(LEASE_MS / 3);
    await one.beat();
    for (const name of ["h4", "h5"]) await one.hold(name, 10n);
    expect(one.inMemory.has("h5")).toBe(true);
    await one.writer.submit(voided("h5"));
    await audit();
  });
});

/** Heartbeats until one arrives: the first may find that the connection is gone. */
async function beatAgain(one: TestProcess): Promise<void> {
  for (let tries = 0; tries < 5; tries += 1)
    if (
      await one.beat().then(
        () => true,
        () => false,
      )
    )
      return;
}
