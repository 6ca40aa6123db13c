import { afterEach, beforeEach, expect, test } from "bun:test";
import { describeOnEngineOfSuite, type TestPlace } from "../../../test/gateway/engines.ts";
import {
  DAYS,
  insertRequests,
  type Made,
  makeRequest,
  migrated,
  openFigures,
  START,
} from "../../../test/ledger/made-requests.ts";
import { SEED } from "../../../test/runs.ts";
import { seededRandom } from "../../../test/upstream/cuts.ts";
import type { Failpoint, FailpointName } from "../../core/failpoint.ts";
import type { Database } from "../../db/schema.ts";
import { createHorizon } from "./horizon.ts";
import { GROUPINGS, readUsage, USAGE_INTERVALS, type UsageGroup, type UsageQuery } from "./read-usage.ts";
import { rollUp } from "./roll-up.ts";
import { DAY_MS, HOUR_MS } from "./views.ts";

const SITES: readonly FailpointName[] = [
  "usage.before_rollups",
  "usage.before_mark",
  "usage.before_commit",
  "usage.after_commit",
];

describeOnEngineOfSuite("usage", (engine) => {
  let place: TestPlace;
  let writes: Database;
  let others: Database;
  let random: () => number;
  let made: Made[];
  beforeEach(async () => {
    place = await engine.newPlace();
    await migrated(engine, place);
    [writes, others] = [openFigures(place), openFigures(place)];
    random = seededRandom(SEED);
    made = [];
  });
  afterEach(async () => {
    await writes.destroy();
    await others.destroy();
    await place.remove();
  });

  const below = (most: number): number => Math.floor(random() * most);
  const oneOf = <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item;

  const make = (): Made => makeRequest(random);

  const insert = async (database: Database, rows: readonly Made[]): Promise<void> => {
    const first = made.length;
    made.push(...rows);
    await insertRequests(database, rows, first);
  };

  const step = (database: Database, failpoint?: Failpoint): Promise<boolean> =>
    rollUp({
      database,
      engine: engine.name,
      horizon: createHorizon(database, engine.name, "requests"),
      maxRequests: 37,
      ...(failpoint === undefined ? {} : { failpoint }),
    });

  const isAsSummed = async (query: UsageQuery): Promise<void> => {
    const read = (await readUsage(others, engine.name, query)).map(shown);
    expect({ query, data: read }).toEqual({ query, data: summed(made, query) });
  };

  const aQuery = (): UsageQuery => {
    const moment = (): number => {
      const ms = START + below(DAYS * DAY_MS);
      return oneOf([ms, ms - (ms % HOUR_MS), ms - (ms % DAY_MS)]);
    };
    const [fromMs = 0, toMs = 0] = [moment(), moment()].toSorted((one, other) => one - other);
    const { model, account, key, outcome, provider } = oneOf(made);
    const filter = oneOf([
      {},
      {},
      { model },
      { account },
      { key },
      { outcome },
      { model, key },
      provider === null ? {} : { provider },
    ]);
    return {
      fromMs,
      toMs,
      filter,
      isOpen: random() < 0.2,
      interval: oneOf(USAGE_INTERVALS),
      groupBy: oneOf(GROUPINGS),
      hasDurations: random() < 0.7,
    };
  };

  test("is what the rows of requests come to, whatever part of them is rolled up", async () => {
    for (let round = 0; round < 6; round += 1) {
      await insert(writes, Array.from({ length: 60 }, make));
      if (round > 0) await step(writes);
      for (let i = 0; i < 8; i += 1) await isAsSummed(aQuery());
    }
  });

  test("stays exact when roll-ups die anywhere, are repeated, and are done by two processes at once", async () => {
    for (let round = 0; round < 10; round += 1) {
      await insert(writes, Array.from({ length: 30 }, make));
      const dies = oneOf(SITES);
      const died = step(writes, (name) => {
        if (name === dies) throw new Error("it died");
      });
      const end: unknown = await died.catch((error: unknown) => error);
      expect(String(end)).toContain("it died");
      // An embedded store has one process.
      await Promise.allSettled(engine.name === "postgres" ? [step(writes), step(others)] : [step(writes)]);
      for (let i = 0; i < 3; i += 1) await isAsSummed(aQuery());
    }
    while (await step(writes));
    const all: UsageQuery = {
      fromMs: START,
      toMs: START,
      isOpen: true,
      filter: {},
      interval: "day",
      groupBy: "route",
      hasDurations: true,
    };
    await isAsSummed(all);
    // All are counted by now: the rows are needed for parts of hours alone.
    await writes.deleteFrom("requests").execute();
    await isAsSummed(all);
  });

  if (engine.name === "postgres")
    test("writes nothing where another process has moved the mark since it was read", async () => {
      await insert(writes, [make()]);
      let hasRead = (): void => {};
      const read = new Promise<void>((resolve) => (hasRead = resolve));
      let late: Promise<boolean> | undefined;
      await others.transaction().execute(async (tx) => {
        await tx.updateTable("usage_mark").set({ request_seq: 0n }).execute();
        // It waits for the lock of the mark from here on.
        late = step(writes, (name) => (name === "usage.before_mark" ? hasRead() : undefined));
        await read;
        await tx.updateTable("usage_mark").set({ request_seq: 7n }).execute();
      });
      await late;
      expect(await writes.selectFrom("usage_rollups").select("requests").execute()).toEqual([]);
      expect(await writes.selectFrom("usage_mark").selectAll().execute()).toEqual([{ request_seq: 7n }]);
    });

  if (engine.name === "postgres")
    test("does not count past a request that is still being written", async () => {
      await insert(writes, [make()]);
      await step(writes);
      const slow = make();
      let commit = (): void => {};
      let began = (): void => {};
      const hasBegun = new Promise<void>((resolve) => (began = resolve));
      const written = others.transaction().execute(async (tx) => {
        await insertRequests(tx, [slow], 1_000);
        began();
        await new Promise<void>((resolve) => (commit = resolve));
      });
      await hasBegun;
      // Its number is later, and it is there first.
      await insert(writes, [make()]);
      const horizon = createHorizon(writes, engine.name, "requests");
      const parts = { database: writes, engine: engine.name, horizon };
      await rollUp(parts);
      await rollUp(parts);
      commit();
      await written;
      made.push(slow);
      await rollUp(parts);
      const query: UsageQuery = {
        fromMs: START,
        toMs: START,
        isOpen: true,
        filter: {},
        interval: "all",
        groupBy: "none",
        hasDurations: true,
      };
      await isAsSummed(query);
      await writes.deleteFrom("requests").execute();
      await isAsSummed(query);
    });
});

/** The sums of the rows, one by one. */
function summed(made: readonly Made[], query: UsageQuery) {
  const { fromMs, toMs, isOpen, interval, groupBy, filter, hasDurations } = query;
  const sums = new Map<string, Made[]>();
  for (const row of made) {
    if (row.endedMs < fromMs || (!isOpen && row.endedMs >= toMs)) continue;
    if (Object.entries(filter).some(([name, value]) => row[name as "model"] !== value)) continue;
    const date = new Date(row.endedMs).toISOString();
    const time =
      interval === "all"
        ? fromMs
        : Date.parse(interval === "day" ? `${date.slice(0, 10)}T00:00Z` : `${date.slice(0, 13)}:00Z`);
    const group =
      groupBy === "none"
        ? null
        : groupBy === "route"
          ? row.provider === null
            ? null
            : `${row.model}@${row.provider}`
          : row[groupBy];
    const name = JSON.stringify([time, group]);
    sums.set(name, [...(sums.get(name) ?? []), row]);
  }
  const total = (rows: readonly Made[], count: (row: Made) => number): number =>
    rows.reduce((sum, row) => sum + count(row), 0);
  const money = (rows: readonly Made[], count: (row: Made) => bigint | null): bigint =>
    rows.reduce((sum, row) => sum + (count(row) ?? 0n), 0n);
  return [...sums]
    .map(([name, rows]) => {
      const [timeMs, group] = JSON.parse(name) as [number, string | null];
      return {
        timeMs,
        group,
        requests: rows.length,
        failed: total(rows, ({ outcome }) => Number(/error|died/.test(outcome))),
        inputTokens: total(rows, (row) => row.input + row.cacheRead),
        outputTokens: total(rows, (row) => row.output),
        cacheReadTokens: total(rows, (row) => row.cacheRead),
        images: total(rows, (row) => row.images),
        seconds: total(rows, (row) => row.seconds),
        credit: money(rows, (row) => row.charge),
        cost: money(rows, (row) => row.cost),
        creditWithCost: money(rows, (row) => (row.cost === null ? null : row.charge)),
        latencies: total(rows, ({ outcome }) => Number(hasDurations && outcome === "completed")),
        firstBytes: total(rows, ({ firstByteMs }) => Number(hasDurations && firstByteMs !== null)),
      };
    })
    .toSorted(
      (one, other) => one.timeMs - other.timeMs || ((one.group ?? "") < (other.group ?? "") ? -1 : 1),
    );
}

function shown({ timeMs, group, measures: { latency, firstByte, ...sums } }: UsageGroup) {
  const countOf = (histogram: readonly number[]): number => histogram.reduce((sum, count) => sum + count, 0);
  return { timeMs, group, ...sums, latencies: countOf(latency), firstBytes: countOf(firstByte) };
}
