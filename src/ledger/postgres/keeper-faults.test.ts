import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { commandsFor } from "../../../test/ledger/books.ts";
import { CREDIT, LEASE_MS, useSharedBooks } from "../../../test/ledger/shared-books.ts";
import { describeOnPostgres } from "../../../test/postgres/on-postgres.ts";
import { NOTHING_HELD } from "../open-holds.ts";
import { readHeld } from "../reads/held.ts";
import { openHoldNotes } from "./hold-notes.ts";

const { grant, settle } = commandsFor((name) => name);

describeOnPostgres("a process that shares the books", () => {
  const { start, startReserving, kill, rows, account, endLease, audit, patient, textOf, admin } =
    useSharedBooks();

  test("decides ends that come with a charge above a hold over the tables, also where more is allotted than it knows", async () => {
    const one = await startReserving("one");
    await one.hold("h1", 100n);
    await one.hold("h2", 100n);
    // As a statement leaves it that came after its process had given it up.
    for (const table of [
      "allotments set amount = amount",
      "accounts set allotted = allotted",
      "keys set allotted = allotted",
    ])
      await sql
        .raw(`update ${table} + 100 ${table.startsWith("accounts") ? "where id = 'a'" : ""}`)
        .execute(admin());
    const answers = await Promise.all([
      one.writer.submit({ kind: "ping" }),
      one.writer.submit(settle("h1", 7n)),
      one.writer.submit(settle("h2", 150n)),
    ]);
    expect(answers as unknown[]).toEqual([
      { ok: true },
      { ok: true, charged: 7n },
      { ok: true, charged: 150n },
    ]);
    expect((await account()).balance).toBe(CREDIT - 157n);
    await one.beat();
    while ((await rows()).length > 0) await Bun.sleep(1);
    await audit();
  });

  test("goes on where a hold that it lost cannot be booked", async () => {
    const one = await startReserving("one");
    await one.hold("g2", 100n, { requestId: "twice" });
    await one.writer.submit(settle("g2", 1n));
    await one.hold("g3", 100n, { requestId: "twice", expectedCost: 20n });
    await one.hold("g4", 100n, { expectedCost: 30n });
    const two = await start("two");
    await endLease("one");
    await two.keeper.release();
    expect(await one.writer.submit(grant("more", 5n))).toMatchObject({ ok: true });
    expect(await one.writer.submit(settle("g4", 9n))).toEqual({ ok: true, charged: 0n });
    const { rows: losses } = await sql<{ cause: string; amount: bigint }>`select cause, amount from ledger
      where cause like 'g%:l%' order by seq`.execute(admin());
    expect(losses).toContainEqual({ cause: "g4:loss", amount: -30n });
    expect(one.unbooked).toEqual(["g3: the tables have a part of it already"]);
    await one.beat();
    await audit();
  });

  test("gives others a whole lease after an outage of the store before it takes them for dead", async () => {
    const one = await startReserving("one");
    let isAway = false;
    const two = await start("two", {
      over: (own) => ({
        ...own,
        run: (commands) => (isAway ? Promise.reject(new Error("away")) : own.run(commands)),
      }),
    });
    const third = async (): Promise<void> => {
      await two.clock.advance(LEASE_MS / 3);
      await two.beat().catch(() => undefined);
    };
    for (let i = 0; i < 4; i += 1) await third();
    isAway = true;
    await third();
    isAway = false;
    await third();
    await endLease("one");
    await kill(one);
    expect(await textOf(patient(two, two.hold("most", CREDIT - 100n)))).toBe("overloaded_error");
    expect(await rows()).toHaveLength(1);
    for (let i = 0; i < 3; i += 1) await third();
    expect(await patient(two, two.hold("most", CREDIT - 100n))).toMatchObject({ ok: true });
    await audit();
  });

  test("tells the tables with each heartbeat what it holds", async () => {
    const one = await startReserving("one");
    await one.hold("q", 100n);
    const seen = async () => (await readHeld(admin(), "two", NOTHING_HELD)).accounts.get("a") ?? 0n;
    expect(await seen()).toBe(0n);
    await one.beat();
    while ((await seen()) < 110n) await Bun.sleep(1);
    expect(await account()).toMatchObject({ held: 10n });
    await audit();
  });

  test("brings holds that stay open into the tables, and gives back what it does not use", async () => {
    const one = await startReserving("one");
    await one.clock.advance(LEASE_MS / 3 + 1);
    await one.beat();
    while ((await account()).held < 20n) await Bun.sleep(1);
    expect(one.keeper.held().accounts.get("a") ?? 0n).toBe(0n);
    await audit();
    for (let i = 0; i < 4; i += 1) {
      await one.clock.advance(LEASE_MS / 3);
      await one.beat();
    }
    while ((await rows()).length > 0) await Bun.sleep(1);
    await audit();
  });

  test("begins its notes anew after its lease had run out, as another may have removed them", async () => {
    const folder = mkdtempSync(join(tmpdir(), "switchyard-notes-"));
    const one = await startReserving("one", { notes: openHoldNotes(folder) });
    const two = await start("two", { notes: openHoldNotes(folder) });
    await endLease("one");
    await two.keeper.release();
    expect(existsSync(join(folder, "one.holds"))).toBe(false);
    await one.clock.advance(LEASE_MS);
    await one.beat();
    while ((await rows()).length > 0) await Bun.sleep(1);
    await sql`update accounts set recalled_at_ms = 0`.execute(admin());
    await one.clock.advance(LEASE_MS / 3);
    await one.beat();
    for (const name of ["x", "y", "z"]) await one.hold(name, 50n, { expectedCost: 20n });
    expect(one.inMemory.has("z")).toBe(true);
    await kill(one);
    await endLease("one");
    expect(await two.keeper.release()).toBeGreaterThan(0);
    const lost = await admin().selectFrom("ledger").select("amount").where("cause", "=", "z:loss").execute();
    expect(lost).toEqual([{ amount: -20n }]);
    rmSync(folder, { recursive: true });
  });

  test("leaves its notes behind where it ends before the tables have its holds, and only then", async () => {
    const folder = mkdtempSync(join(tmpdir(), "switchyard-notes-"));
    for (const isAway of [true, false]) {
      let mayWrite = true;
      const one = await startReserving(`away ${isAway}`, {
        notes: openHoldNotes(folder),
        over: (own) => ({
          ...own,
          save: async (...saving) => {
            if (!mayWrite) throw new Error("away");
            return await own.save(...saving);
          },
        }),
      });
      const notes = join(folder, `${one.boot}.holds`);
      expect(existsSync(notes)).toBe(true);
      mayWrite = !isAway;
      await one.writer.close();
      expect(existsSync(notes)).toBe(isAway);
      mayWrite = true;
    }
    rmSync(folder, { recursive: true });
  });
});
