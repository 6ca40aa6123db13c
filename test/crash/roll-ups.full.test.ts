import { expect, test } from "bun:test";
import { join } from "node:path";
import type { Database } from "../../src/db/schema.ts";
import { createHorizon } from "../../src/ledger/usage/horizon.ts";
import { noteLedgerHours } from "../../src/ledger/usage/ledger-hours.ts";
import { rollUpRecent } from "../../src/ledger/usage/recent.ts";
import { rollUp } from "../../src/ledger/usage/roll-up.ts";
import { sumThirtyDays } from "../../src/ledger/usage/thirty-days.ts";
import { THIRTY_DAYS_MS } from "../../src/ledger/usage/views.ts";
import { describeOnEngines } from "../gateway/engines.ts";
import { insertRequests, makeRequest, migrated, openFigures } from "../ledger/made-requests.ts";
import { LONG, SEED } from "../runs.ts";
import { seededRandom } from "../upstream/cuts.ts";

// Kills of a process that rolls up, at no moment in particular, while requests are written. Rollups that are made anew
// from the rows are the same.

const KILLS = LONG ? 100 : 12;
/** Requests that are written before each run: more than a roll-up counts at once. */
const WRITTEN = 2_800;
/** A roll-up of 2,000 requests takes about as long. */
const MOST_MS = 300;

describeOnEngines("rollups", (engine) => {
  test(`made by a process that was killed ${KILLS} times are what a rebuild makes of the rows`, async () => {
    const place = await engine.newPlace();
    await migrated(engine, place);
    const database = openFigures(place);
    const random = seededRandom(SEED * 31);
    let written = 0;
    const write = async (count: number): Promise<void> => {
      const rows = Array.from({ length: count }, () => makeRequest(random));
      await insertRequests(database, rows, written);
      await insertEntries(database, rows, written);
      written += count;
    };
    let killed = 0;
    for (let run = 0; run < KILLS; run += 1) {
      await write(WRITTEN);
      const child = Bun.spawn([process.execPath, ...process.execArgv, entry, JSON.stringify(place.place)], {
        stdout: "pipe",
        stderr: "inherit",
      });
      const { value } = await child.stdout.getReader().read();
      expect(new TextDecoder().decode(value)).toContain("begun");
      const timer = setTimeout(() => child.kill("SIGKILL"), random() * MOST_MS);
      await write(20);
      await child.exited;
      clearTimeout(timer);
      if (child.signalCode === "SIGKILL") killed += 1;
    }
    expect(killed).toBeGreaterThan(KILLS / 4);
    const rollAll = async (): Promise<void> => {
      const parts = { database, engine: engine.name };
      const requests = createHorizon(database, engine.name, "requests");
      const entries = createHorizon(database, engine.name, "ledger");
      while (await rollUp({ ...parts, horizon: requests }));
      while (await rollUpRecent(parts));
      while (await sumThirtyDays(parts));
      while (await noteLedgerHours({ ...parts, horizon: entries }));
    };
    // Only days behind the last request have sums by thirty: this one puts all others behind it.
    const last = makeRequest(random);
    await insertRequests(database, [{ ...last, endedMs: last.endedMs + THIRTY_DAYS_MS }], written);
    written += 1;
    await rollAll();
    const kept = await figures(database);
    expect(kept.marks).toEqual([BigInt(written), BigInt(written - 1)]);
    expect(kept.rollups.length).toBeGreaterThan(100);
    await database.deleteFrom("usage_rollups").execute();
    await database.updateTable("usage_mark").set({ request_seq: 0n }).execute();
    await database.updateTable("usage_recent_mark").set({ request_seq: 0n, from_ms: 0n }).execute();
    await database.deleteFrom("ledger_hours").execute();
    await database.updateTable("ledger_mark").set({ seq: 0n }).execute();
    await rollAll();
    expect(await figures(database)).toEqual(kept);
    await database.destroy();
    await place.remove();
  }, 300_000);
});

const entry = join(import.meta.dirname, "roll-up-process.ts");

async function insertEntries(
  database: Database,
  rows: readonly ReturnType<typeof makeRequest>[],
  first: number,
): Promise<void> {
  const values = rows.map(({ account, key, charge, endedMs }, i) => ({
    cause: `hold_${first + i}:settle`,
    account_id: account,
    key_id: key,
    counter: "revenue" as const,
    amount: -charge,
    balance_after: 0n,
    kind: "settle" as const,
    request_id: `req_${first + i}`,
    reason: null,
    created_at_ms: BigInt(endedMs),
  }));
  await database.insertInto("ledger").values(values).execute();
}

/** All that is kept, in one order. */
async function figures(database: Database) {
  const rollups = await database
    .selectFrom("usage_rollups")
    .selectAll()
    .orderBy("grain_ms")
    .orderBy("view_name")
    .orderBy("time_ms")
    .orderBy("model")
    .orderBy("provider")
    .orderBy("account_id")
    .orderBy("key_id")
    .orderBy("outcome")
    .execute();
  const hours = await database.selectFrom("ledger_hours").selectAll().orderBy("time_ms").execute();
  const { request_seq } = await database.selectFrom("usage_mark").selectAll().executeTakeFirstOrThrow();
  const { seq } = await database.selectFrom("ledger_mark").selectAll().executeTakeFirstOrThrow();
  return { rollups, hours, marks: [request_seq, seq] };
}
