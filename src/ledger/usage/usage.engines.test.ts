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
import { type Failpoint, type FailpointName, noFailpoint } from "../../core/failpoint.ts";
import type { Database } from "../../db/schema.ts";
import { createHorizon } from "./horizon.ts";
import { type Measure, noMeasures } from "./measures.ts";
import { GROUPINGS, readUsage, USAGE_INTERVALS, type UsageGroup, type UsageQuery } from "./read-usage.ts";
import { rollUpRecent } from "./recent.ts";
import { rollUp } from "./roll-up.ts";
import { sumThirtyDays } from "./thirty-days.ts";
import { DAY_MS, FIVE_MINUTES_MS, HOUR_MS, startOf, THIRTY_DAYS_MS } from "./views.ts";

const SITES: readonly FailpointName[] = [
  "usage.before_rollups",
  "usage.before_mark",
  "usage.before_commit",
  "usage.after_commit",
];

const MEASURES = Object.keys(noMeasures()) as readonly Measure[];

/** Sums of all requests of a time. */
const IN_ALL = { interval: "all", groupBy: "none", filter: {}, measures: MEASURES, isOpen: false } as const;

/** How long before the last days some requests are: more than thirty days, three times over. */
const LONG_AGO_MS = 110 * DAY_MS;

/** Requests that are counted by five minutes at once. */
const BATCH = 23;

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

  const makeAt = (endedMs: number): Made => ({
    ...makeRequest(random),
    endedMs,
    admittedMs: endedMs - below(90_000),
    firstByteMs: null,
  });

  /** Half of them in the last hours, of which usage is kept by five minutes, too; and some of them long ago. */
  const make = (): Made => {
    const draw = random();
    if (draw < 0.5) return makeAt(START + DAYS * DAY_MS - below(5 * HOUR_MS));
    return draw < 0.75 ? makeAt(START - below(LONG_AGO_MS)) : makeRequest(random);
  };

  const insert = async (database: Database, rows: readonly Made[]): Promise<void> => {
    const first = made.length;
    made.push(...rows);
    await insertRequests(database, rows, first);
  };

  const step = async (database: Database, failpoint: Failpoint = noFailpoint): Promise<boolean> => {
    const horizon = createHorizon(database, engine.name, "requests");
    const parts = { database, engine: engine.name, failpoint };
    const rollUps = [
      () => rollUp({ ...parts, horizon, maxRequests: 37 }),
      () => rollUpRecent({ ...parts, maxRequests: BATCH }),
      () => sumThirtyDays(parts),
    ];
    // In turns, so that each of them dies at every place.
    for (let turns = below(3); turns > 0; turns -= 1) rollUps.push(rollUps.shift() as (typeof rollUps)[0]);
    let isMore = false;
    for (const next of rollUps) isMore = (await next()) || isMore;
    return isMore;
  };

  /** Counts all there are by hours, and by five minutes so many at once; absent: as many as the gateway does. */
  const countAll = async (maxRequests?: number): Promise<void> => {
    const parts = { database: writes, engine: engine.name };
    const horizon = createHorizon(writes, engine.name, "requests");
    while (await rollUp({ ...parts, horizon }));
    while (await rollUpRecent({ ...parts, ...(maxRequests === undefined ? {} : { maxRequests }) }));
  };

  const sumAll = async (): Promise<void> => {
    while (await sumThirtyDays({ database: writes, engine: engine.name }));
  };

  /** Requests of many days, and one that puts these behind it. */
  const insertBehind = async (length: number): Promise<void> => {
    await insert(
      writes,
      Array.from({ length }, () => makeAt(START - below(LONG_AGO_MS))),
    );
    await insert(writes, [makeAt(START + DAYS * DAY_MS)]);
  };

  /** The thirty days that are kept, by the key of each. */
  const summedTimes = async (): Promise<readonly number[]> => {
    const rows = await writes
      .selectFrom("usage_rollups")
      .select("time_ms")
      .distinct()
      .where("grain_ms", "=", BigInt(THIRTY_DAYS_MS))
      .where("view_name", "=", "key")
      .orderBy("time_ms")
      .execute();
    return rows.map(({ time_ms }) => Number(time_ms));
  };

  /** The times that are kept by five minutes. */
  const recentTimes = async (): Promise<readonly number[]> => {
    const rows = await writes
      .selectFrom("usage_rollups")
      .select("time_ms")
      .where("grain_ms", "=", BigInt(FIVE_MINUTES_MS))
      .execute();
    return rows.map(({ time_ms }) => Number(time_ms));
  };

  const isAsSummed = async (query: UsageQuery): Promise<void> => {
    const read = (await readUsage(others, engine.name, query)).map((group) => shown(group, query));
    expect({ query, data: read }).toEqual({ query, data: summed(made, query) });
  };

  const aQuery = (): UsageQuery => {
    const moment = (): number => {
      const ms = START + DAYS * DAY_MS - below(oneOf([LONG_AGO_MS, DAYS * DAY_MS, 4 * HOUR_MS]));
      const grainMs = oneOf([1, FIVE_MINUTES_MS, HOUR_MS, DAY_MS, THIRTY_DAYS_MS]);
      return startOf(grainMs, ms);
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
      measures: random() < 0.5 ? MEASURES : MEASURES.filter(() => random() < 0.3),
    };
  };

  test("is what the rows of requests come to, whatever part of them is rolled up", async () => {
    for (let round = 0; round < 6; round += 1) {
      await insert(writes, Array.from({ length: 60 }, make));
      if (round > 0) await step(writes);
      for (let i = 0; i < 8; i += 1) await isAsSummed(aQuery());
    }
  });

  test("of the groups that were charged the most comes first, and as many as are asked for; then of those with more requests", async () => {
    const charges = { a: [2n, 2n], b: [4n], c: [9n], d: [7n], e: [3n, 4n], f: [1n] };
    const rows = Object.entries(charges).flatMap(([model, charged]) =>
      charged.map((charge) => ({ ...makeRequest(random), model, charge })),
    );
    await insert(writes, rows);
    const all = { fromMs: START, toMs: START, isOpen: true, filter: {} } as const;
    for (const isCounted of [false, true]) {
      if (isCounted) await countAll();
      for (const measures of [["images"], MEASURES] as const) {
        const query: UsageQuery = { ...all, interval: "all", groupBy: "model", top: 5, measures };
        const groups = await readUsage(others, engine.name, query);
        expect(groups.map(({ group }) => group)).toEqual(["c", "e", "d", "a", "b"]);
      }
    }
  });

  test("has each request once where more of them wait than are in memory at a time", async () => {
    const all: UsageQuery = {
      fromMs: START,
      toMs: START + DAYS * DAY_MS,
      isOpen: true,
      filter: {},
      interval: "all",
      groupBy: "none",
      measures: MEASURES,
    };
    // SQLite takes 32,766 values in a statement.
    for (const more of [1_000, 1_500, 1_500, 1_000, 1]) {
      await insert(
        writes,
        Array.from({ length: more }, () => makeRequest(random)),
      );
      if (made.length >= 5_000) await isAsSummed(all);
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
      fromMs: START - LONG_AGO_MS,
      toMs: START,
      isOpen: true,
      filter: {},
      interval: oneOf(["day", "week", "all"]),
      groupBy: "route",
      measures: MEASURES,
    };
    await isAsSummed(all);
    // All are counted by now: the rows are needed for parts of hours alone.
    await writes.deleteFrom("requests").execute();
    await isAsSummed(all);
  });

  test("of the last hours needs no row of a request, wherever in an hour five minutes begin", async () => {
    await insert(writes, Array.from({ length: 200 }, make));
    // The newest request is at the end of the last day.
    await insert(writes, [{ ...make(), endedMs: START + DAYS * DAY_MS - 1 }]);
    await countAll();
    // Until enough requests wait, nothing is counted by five minutes.
    expect(await rollUpRecent({ database: writes, engine: engine.name })).toBe(false);
    expect(await recentTimes()).toEqual([]);
    await countAll(67);
    await writes.deleteFrom("requests").execute();
    const end = START + DAYS * DAY_MS;
    for (const minutes of [5, 25, 60, 85, 120, 175]) {
      const fromMs = end - minutes * 60_000;
      const query = { interval: "hour", groupBy: oneOf(GROUPINGS), filter: {}, measures: MEASURES } as const;
      await isAsSummed({ ...query, fromMs, toMs: end, isOpen: true });
      await isAsSummed({ ...query, fromMs, toMs: end - 5 * 60_000, isOpen: false });
    }
  });

  test("of the last three hours is counted by five minutes from their first moment on", async () => {
    const end = START + DAYS * DAY_MS;
    const fromMs = end - 3 * HOUR_MS;
    await insert(writes, [makeAt(fromMs), makeAt(fromMs - 1), makeAt(end)]);
    await countAll(3);
    await writes.deleteFrom("requests").execute();
    await isAsSummed({ ...IN_ALL, fromMs, toMs: fromMs + 6 * FIVE_MINUTES_MS });
  });

  const recentMark = async (): Promise<bigint> =>
    (await writes.selectFrom("usage_recent_mark").select("request_seq").executeTakeFirstOrThrow())
      .request_seq;

  test("by five minutes goes on past numbers that no request has", async () => {
    await insert(writes, [make(), make(), make()]);
    await countAll();
    await writes.deleteFrom("requests").execute();
    const parts = { database: writes, engine: engine.name };
    expect([await rollUpRecent({ ...parts, maxRequests: 2 }), await recentMark()]).toEqual([false, 3n]);
    await insert(writes, [make(), make(), make(), make()]);
    await countAll();
    expect([await rollUpRecent({ ...parts, maxRequests: 2 }), await recentMark()]).toEqual([true, 5n]);
    expect([await rollUpRecent({ ...parts, maxRequests: 2 }), await recentMark()]).toEqual([false, 7n]);
  });

  test("by five minutes waits for more where another process has just counted them", async () => {
    await insert(writes, [make(), make(), make()]);
    await countAll();
    const parts = { engine: engine.name, maxRequests: 3 };
    let isFirst = true;
    const meanwhile = others.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        const wasFirst = isFirst;
        isFirst = false;
        if (wasFirst) {
          expect(await rollUpRecent({ ...parts, database: writes })).toBe(false);
          await insert(writes, [make()]);
          await countAll();
        }
        return result;
      },
    });
    expect(await rollUpRecent({ ...parts, database: meanwhile })).toBe(false);
    expect(await recentMark()).toBe(3n);
  });

  test("of parts of two hours has the requests of both", async () => {
    const hour = START + HOUR_MS;
    await insert(
      writes,
      [hour - 600_000, hour + 600_000, hour + 10 * HOUR_MS].map((endedMs) => makeAt(endedMs)),
    );
    // They lie too far back to be kept by five minutes.
    await countAll(3);
    for (const minutes of [10, 11, 15, 59])
      await isAsSummed({ ...IN_ALL, fromMs: hour - minutes * 60_000, toMs: hour + minutes * 60_000 });
  });

  test("by five minutes is dropped after three hours, and all of it stays exact", async () => {
    await insert(writes, Array.from({ length: 100 }, make));
    await countAll(BATCH);
    const before = await recentTimes();
    // A day later.
    const later = Array.from({ length: 60 }, make).map((row) => ({ ...row, endedMs: row.endedMs + DAY_MS }));
    await insert(writes, later);
    await countAll(BATCH);
    // The rest waits for more.
    const counted = made.length - (made.length % BATCH);
    const newest = Math.max(...made.slice(0, counted).map(({ endedMs }) => endedMs));
    const kept = await recentTimes();
    expect(before.some((time) => time < newest - 4 * HOUR_MS)).toBe(true);
    expect(kept.length).toBeGreaterThan(0);
    expect(kept.filter((time) => time < newest - 3 * HOUR_MS - FIVE_MINUTES_MS)).toEqual([]);
    for (let i = 0; i < 10; i += 1) await isAsSummed(aQuery());
  });

  test("of thirty days is not read by the day once these lie behind, and stays exact at any ends", async () => {
    await insertBehind(200);
    await countAll();
    await sumAll();
    expect(await sumThirtyDays({ database: writes, engine: engine.name })).toBe(false);
    const first = startOf(THIRTY_DAYS_MS, START - LONG_AGO_MS);
    // The last of them are being counted.
    const starts = [0, 1, 2, 3].map((i) => first + i * THIRTY_DAYS_MS);
    expect(await summedTimes()).toEqual(starts);
    // The view of all names has hardly fewer rows by thirty days, and none of these are kept.
    const kept = writes.selectFrom("usage_rollups").where("grain_ms", "=", BigInt(THIRTY_DAYS_MS));
    const named = await kept.select("view_name").distinct().orderBy("view_name").execute();
    expect(named.map((row) => row.view_name)).toEqual(["account", "key", "outcome", "route"]);
    const views = ["key", "account", "route"] as const;
    const query = { filter: {}, isOpen: false, interval: "all", measures: MEASURES } as const;
    const [, fromMs = 0, toMs = 0] = starts;
    // Days of other views say whether these are still all, and days at the ends are still needed.
    await writes
      .deleteFrom("usage_rollups")
      .where("grain_ms", "=", BigInt(DAY_MS))
      .where("view_name", "in", views)
      .where("time_ms", ">=", BigInt(fromMs))
      .where("time_ms", "<", BigInt(toMs))
      .execute();
    for (const groupBy of ["none", "key", "account", "model", "provider", "route"] as const)
      for (const outside of [0, 1, HOUR_MS + 7, 3 * DAY_MS, 11 * DAY_MS - 1])
        await isAsSummed({ ...query, groupBy, fromMs: fromMs - outside, toMs: toMs + outside });
  });

  test("stays exact where requests of thirty days that were added up are counted by an older version", async () => {
    await insertBehind(100);
    await countAll();
    await sumAll();
    const query = { filter: {}, isOpen: true, interval: "all", measures: MEASURES } as const;
    const all = { ...query, fromMs: START - LONG_AGO_MS - 30 * DAY_MS, toMs: START } as const;
    for (let round = 0; round < 5; round += 1) {
      // It knows of no sums. The clock was set back, also with the last request.
      await insert(
        writes,
        Array.from({ length: 3 }, () => makeAt(START - below(LONG_AGO_MS))),
      );
      await countAll();
      for (const groupBy of GROUPINGS) await isAsSummed({ ...all, groupBy });
      await insert(writes, [makeAt(START + DAYS * DAY_MS)]);
      await countAll();
      if (round % 2 === 0) await sumAll();
      for (const groupBy of GROUPINGS) await isAsSummed({ ...all, groupBy });
    }
  });

  test("is not added up by thirty days while they are counted, also where a clock was once a year ahead", async () => {
    await insert(writes, [makeAt(START + 365 * DAY_MS)]);
    await insert(
      writes,
      Array.from({ length: 20 }, () => makeAt(START - below(DAY_MS))),
    );
    await countAll();
    expect(await sumThirtyDays({ database: writes, engine: engine.name })).toBe(false);
    await insert(writes, [makeAt(START + 31 * DAY_MS)]);
    await countAll();
    await sumAll();
    expect(await summedTimes()).toEqual([startOf(THIRTY_DAYS_MS, START - DAY_MS)]);
  });

  if (engine.name === "postgres")
    test("of thirty days is not written where requests were counted since they were read", async () => {
      await insert(writes, [makeAt(START - LONG_AGO_MS), makeAt(START)]);
      await countAll();
      let hasRead = (): void => {};
      const read = new Promise<void>((resolve) => (hasRead = resolve));
      let late: Promise<boolean> | undefined;
      await others.transaction().execute(async (tx) => {
        await tx.updateTable("usage_mark").set({ request_seq: 2n }).execute();
        const failpoint: Failpoint = (name) => (name === "usage.before_mark" ? hasRead() : undefined);
        // It waits for the lock of the mark from here on.
        late = sumThirtyDays({ database: writes, engine: engine.name, failpoint });
        await read;
        await tx.updateTable("usage_mark").set({ request_seq: 3n }).execute();
      });
      expect(await late).toBe(true);
      expect(await summedTimes()).toEqual([]);
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
        measures: MEASURES,
      };
      await isAsSummed(query);
      await writes.deleteFrom("requests").execute();
      await isAsSummed(query);
    });
});

/** When the interval of a date begins, by the calendar. */
function beginOf(interval: "hour" | "day" | "week", date: string): number {
  if (interval === "hour") return Date.parse(`${date.slice(0, 13)}:00Z`);
  const day = new Date(`${date.slice(0, 10)}T00:00Z`);
  const sinceMonday = (day.getUTCDay() + 6) % 7;
  return interval === "day" ? day.getTime() : day.setUTCDate(day.getUTCDate() - sinceMonday);
}

/** The sums of the rows, one by one. */
function summed(made: readonly Made[], query: UsageQuery) {
  const { fromMs, toMs, isOpen, interval, groupBy, filter, measures } = query;
  const sums = new Map<string, Made[]>();
  for (const row of made) {
    if (row.endedMs < fromMs || (!isOpen && row.endedMs >= toMs)) continue;
    if (Object.entries(filter).some(([name, value]) => row[name as "model"] !== value)) continue;
    const date = new Date(row.endedMs).toISOString();
    const time = interval === "all" ? fromMs : beginOf(interval, date);
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
      const sums: Record<Measure, number | bigint> = {
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
        latency: total(rows, ({ outcome }) => Number(outcome === "completed")),
        firstByte: total(rows, ({ firstByteMs }) => Number(firstByteMs !== null)),
      };
      return { timeMs, group, ...only(measures, sums) };
    })
    .toSorted(
      (one, other) => one.timeMs - other.timeMs || ((one.group ?? "") < (other.group ?? "") ? -1 : 1),
    );
}

/** What was asked for, durations by their number. */
function shown({ timeMs, group, measures }: UsageGroup, { measures: asked }: UsageQuery) {
  const countOf = (histogram: readonly number[]): number => histogram.reduce((sum, count) => sum + count, 0);
  const { latency, firstByte } = measures;
  const sums: Record<Measure, unknown> = {
    ...measures,
    latency: countOf(latency),
    firstByte: countOf(firstByte),
  };
  return { timeMs, group, ...only(asked, sums) };
}

function only<Value>(measures: readonly Measure[], all: Readonly<Record<Measure, Value>>) {
  return Object.fromEntries(measures.map((measure) => [measure, all[measure]]));
}
