import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { commandsFor } from "../../../test/ledger/books.ts";
import { CREDIT, LEASE_MS, useSharedBooks } from "../../../test/ledger/shared-books.ts";
import { describeOnPostgres } from "../../../test/postgres/on-postgres.ts";
import type { FailpointName } from "../../core/failpoint.ts";
import { openHoldNotes } from "./hold-notes.ts";

const { settle, voided } = commandsFor((name) => name);

describeOnPostgres("processes that share the books and freeze, fall silent or die", () => {
  const { start, startReserving, kill, rows, account, endLease, audit, patient, textOf, admin } =
    useSharedBooks();

  test("are waited for when one of them says nothing: a 503 until its lease has ended, then its part is free", async () => {
    const silent = await startReserving("silent");
    await silent.tables.close();
    // Its connection is gone, so that no call reaches it.
    const two = await start("two");
    expect(await textOf(patient(two, two.hold("most", CREDIT - 100n)))).toBe("overloaded_error");
    await endLease("silent");
    await two.clock.advance(LEASE_MS / 3);
    await two.beat();
    await two.clock.advance(LEASE_MS / 3);
    await two.beat();
    await two.clock.advance(LEASE_MS / 3);
    await two.beat();
    expect(await patient(two, two.hold("all", CREDIT - 20n))).toMatchObject({ ok: true });
    expect(await account()).toEqual({ balance: CREDIT, held: CREDIT - 10n, allotted: 0n });
    // It was only slow: what it settles now is the operator's loss.
    expect(await silent.writer.submit(settle("silent-2", 7n))).toEqual({ ok: true, charged: 0n });
    const { rows: losses } = await sql<{ lost: bigint }>`select sum(amount)::bigint as lost from ledger
      where cause in ('silent-2:loss', 'silent-2:late')`.execute(admin());
    expect(losses).toEqual([{ lost: -7n }]);
    await audit();
  });

  test("make no hold from memory past the end of their lease", async () => {
    const one = await startReserving("one");
    await one.clock.advance(LEASE_MS - 1);
    await one.hold("in time", 1n);
    await one.clock.advance(1);
    await one.hold("too late", 1n);
    expect([...one.inMemory]).toEqual(["one-2", "in time"]);
    // A break in the lease: what was allotted goes back, and open holds go on in the tables.
    await one.beat();
    while ((await rows()).length > 0) await Bun.sleep(1);
    expect((await account()).held).toBe(22n);
    expect(await one.writer.submit(settle("in time", 1n))).toEqual({ ok: true, charged: 1n });
    await audit();
  });

  test("that were frozen past their lease and swept cannot settle: their clients pay nothing", async () => {
    const frozen = await startReserving("frozen");
    const two = await start("two");
    await endLease("frozen");
    expect(await two.keeper.release()).toBe(0);
    expect(await account()).toEqual({ balance: CREDIT, held: 10n, allotted: 0n });
    await two.hold("all", CREDIT - 10n);
    expect(await frozen.writer.submit(settle("frozen-2", 10n))).toEqual({ ok: true, charged: 0n });
    expect((await account()).balance).toBe(CREDIT);
    await audit();
  });

  test("give everything back when they leave, and their open holds are swept like those of any dead process", async () => {
    const one = await startReserving("one");
    await one.writer.submit({ kind: "leave", boot: "one" });
    expect(await rows()).toEqual([]);
    expect((await account()).held).toBe(20n);
    await one.hold("after", 1n);
    expect(one.inMemory.has("after")).toBe(false);
    await audit();
  });

  test("that die lose what they had allotted, and nothing else", async () => {
    const one = await startReserving("one");
    const two = await startReserving("two");
    await kill(one);
    await endLease("one");
    await two.keeper.release();
    expect((await rows()).map(({ boot_id }) => boot_id)).toEqual(["two"]);
    await audit();
  });

  test("that live take nothing from themselves, though the store let their lease run out in a commit", async () => {
    const one = await startReserving("one");
    await one.hold("open", 50n);
    await endLease("one");
    expect(await one.keeper.release()).toBe(0);
    expect((await rows()).map(({ boot_id }) => boot_id)).toEqual(["one"]);
    expect(await one.writer.submit(settle("open", 5n))).toEqual({ ok: true, charged: 5n });
    await audit();
  });

  test("that die leave notes, from which the next on the same machine books what their holds had probably cost", async () => {
    const folder = mkdtempSync(join(tmpdir(), "switchyard-notes-"));
    const one = await startReserving("one", { notes: openHoldNotes(folder) });
    await one.hold("open", 50n, { expectedCost: 20n });
    await one.hold("ended", 50n);
    await one.writer.submit(settle("ended", 5n));
    await kill(one);
    const two = await start("two", { notes: openHoldNotes(folder) });
    // It may still live.
    expect(await two.keeper.release()).toBe(0);
    await endLease("one");
    expect(await two.keeper.release()).toBe(2);
    expect(await two.keeper.release()).toBe(0);
    expect(await account()).toEqual({ balance: CREDIT - 5n, held: 10n, allotted: 0n });
    const lost = await admin()
      .selectFrom("ledger")
      .select("amount")
      .where("cause", "=", "open:loss")
      .execute();
    expect(lost).toEqual([{ amount: -20n }]);
    expect(readdirSync(folder)).toEqual(["two.holds"]);
    await audit();
    await two.writer.submit({ kind: "leave", boot: "two" });
    await two.keeper.close();
    expect(readdirSync(folder)).toEqual([]);
    rmSync(folder, { recursive: true });
  });

  for (const point of ["before_take", "after_take", "before_save", "after_save"] as const)
    test(`that lose an answer (${point}) go on from what the tables have`, async () => {
      const name: FailpointName = `allotment.${point}`;
      let isArmed = false;
      const one = await startReserving("one", {
        failpoint(passed) {
          if (!isArmed || passed !== name) return;
          isArmed = false;
          throw new Error("the connection was lost");
        },
      });
      const { balance, held } = await account();
      isArmed = true;
      // More than is allotted: it has to take more, or to ask the tables.
      await one.hold("large", CREDIT / 4n + 1n);
      for (let i = 0; i < 3; i += 1) await one.hold(`h${i}`, 100n);
      isArmed ||= point.endsWith("save");
      for (let i = 0; i < 3; i += 1)
        expect(await one.writer.submit(settle(`h${i}`, 7n))).toEqual({ ok: true, charged: 7n });
      expect(await one.writer.submit(voided("large"))).toEqual({ ok: true });
      await one.hold("more", 100n);
      expect(await one.writer.submit(settle("more", 9n))).toEqual({ ok: true, charged: 9n });
      expect(await account()).toMatchObject({ balance: balance - 30n, held });
      await one.beat();
      await audit();
    });
});
