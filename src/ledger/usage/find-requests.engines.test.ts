import { beforeEach, expect, test } from "bun:test";
import { describeOnEngineOfSuite } from "../../../test/gateway/engines.ts";
import {
  DAYS,
  figuresOf,
  insertRequests,
  type Made,
  makeRequest,
  START,
} from "../../../test/ledger/made-requests.ts";
import { findRequests, requestOf, type WantedRequests, wasProvider } from "./find-requests.ts";
import { createHorizon } from "./horizon.ts";
import { rollUp } from "./roll-up.ts";
import { DAY_MS, DIMENSIONS, HOUR_MS } from "./views.ts";

describeOnEngineOfSuite("requests are found", (engine) => {
  const { database, random } = figuresOf(engine);
  let made: Made[];
  beforeEach(() => {
    made = [];
  });

  const insert = async (rows: readonly Made[]): Promise<void> => {
    await insertRequests(database(), rows, made.length);
    made.push(...rows);
  };
  const rollSome = (): Promise<boolean> =>
    rollUp({
      database: database(),
      engine: engine.name,
      horizon: createHorizon(database(), engine.name, "requests"),
      maxRequests: 60,
    });

  const aWish = (): WantedRequests => {
    const of = made[Math.floor(random() * made.length)] as Made;
    const asked = DIMENSIONS.filter((name) => random() < 0.35 && of[name] !== null);
    const moment = (): number => START + Math.floor(random() * DAYS * DAY_MS);
    return {
      filter: Object.fromEntries(asked.map((name) => [name, of[name]])),
      ...(random() < 0.5 ? { fromMs: moment() } : {}),
      ...(random() < 0.4 ? { toMs: moment() } : {}),
      ...(random() < 0.4 ? { before: BigInt(Math.floor(random() * made.length) + 1) } : {}),
    };
  };

  /** By the rows that the test made, whose numbers begin at 1. */
  const expected = ({ filter, fromMs = 0, toMs = Infinity, before }: WantedRequests): string[] =>
    made
      .map((row, i) => ({ row, id: `req_${i}`, seq: BigInt(i + 1) }))
      .filter(
        ({ row, seq }) =>
          Object.entries(filter).every(([name, value]) => row[name as "model"] === value) &&
          row.endedMs >= fromMs &&
          row.endedMs < toMs &&
          (before === undefined || seq < before),
      )
      .map(({ id }) => id)
      .toReversed();

  const isFound = async (wish: WantedRequests): Promise<void> => {
    const count = [1, 3, 20, 1_000][Math.floor(random() * 4)] as number;
    const found = (await findRequests(database(), engine.name, wish, count)).map(({ id }) => id);
    expect({ wish, count, found }).toEqual({ wish, count, found: expected(wish).slice(0, count) });
  };

  test("newest first, by every name and time, whatever part of them is rolled up", async () => {
    for (let round = 0; round < 5; round += 1) {
      // In the order of time as a process writes them; but for some, since a clock may be set back.
      const rows = Array.from({ length: 90 }, () => makeRequest(random));
      await insert(round < 2 ? rows : rows.toSorted((one, other) => one.endedMs - other.endedMs));
      for (let i = 0; i < 25; i += 1) await isFound(aWish());
      await rollSome();
      for (let i = 0; i < 25; i += 1) await isFound(aWish());
    }
    while (await rollSome());
    for (let i = 0; i < 100; i += 1) await isFound(aWish());
  });

  test("newest first among requests of many days, more than are looked at together", async () => {
    const days = 40;
    const rows = Array.from({ length: 3 * days }, () => {
      const endedMs = START + Math.floor(random() * days * DAY_MS);
      // Most are written in the order of time, and some long after.
      const writtenMs = endedMs + (random() < 0.1 ? 30 * DAY_MS : 0);
      return { row: { ...makeRequest(random), endedMs }, writtenMs };
    });
    const written = rows.toSorted((one, other) => one.writtenMs - other.writtenMs);
    await insert(written.map(({ row }) => row));
    while (await rollSome());
    for (let i = 0; i < 60; i += 1) await isFound(aWish());
    for (const count of [1, 3, 20, 1_000]) {
      const found = await findRequests(database(), engine.name, { filter: {} }, count);
      expect(found.map(({ id }) => id)).toEqual(expected({ filter: {} }).slice(0, count));
    }
  });

  test("each once where a day has a request before and one after another day's", async () => {
    const [one, other] = [START, START + DAY_MS].map((endedMs) => ({ ...makeRequest(random), endedMs }));
    await insert([one!]);
    await rollSome();
    const wish = { filter: {} };
    expect((await findRequests(database(), engine.name, wish, 2)).map(({ seq }) => seq)).toEqual([1n]);
    await insert([other!, one!]);
    await rollSome();
    expect((await findRequests(database(), engine.name, wish, 2)).map(({ seq }) => seq)).toEqual([3n, 2n]);
    expect((await findRequests(database(), engine.name, wish, 9)).map(({ seq }) => seq)).toEqual([
      3n,
      2n,
      1n,
    ]);
  });

  test("in no more days than have as many as are asked for", async () => {
    // Each day has three, in the order of time.
    const rows = Array.from({ length: 60 }, (_, i) => ({
      ...makeRequest(random),
      endedMs: START + Math.floor(i / 3) * DAY_MS + HOUR_MS,
    }));
    await insert(rows);
    while (await rollSome());
    const days: number[] = [];
    const counting = database().withPlugin({
      transformQuery({ node }) {
        // Days are given as JSON, each with where it begins.
        const text = JSON.stringify(node, (_, value: unknown) =>
          typeof value === "bigint" ? `${value}` : value,
        );
        const begun = text.match(/\{\\"first\\":\d+,\\"last\\":0\}/g);
        if (begun !== null) days.push(begun.length);
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    const daysFor = async (count: number): Promise<readonly number[]> => {
      expect(await findRequests(counting, engine.name, { filter: {} }, count)).toHaveLength(count);
      return days.splice(0);
    };
    expect(await daysFor(1)).toEqual([1]);
    expect(await daysFor(3)).toEqual([1]);
    expect(await daysFor(4)).toEqual([2]);
    expect(await daysFor(48)).toEqual([16]);
    // Days that were looked at in part may have more.
    expect((await daysFor(51))[0]).toBe(16);
  });

  test("by an id, where the request is as it is wanted", async () => {
    await insert(Array.from({ length: 3 }, () => makeRequest(random)));
    const [, second] = made as [Made, Made];
    const idsOf = async (wish: WantedRequests): Promise<readonly string[]> =>
      (await requestOf(database(), wish, "req_1")).map(({ id }) => id);
    expect(await idsOf({ filter: { model: second.model } })).toEqual(["req_1"]);
    expect(await idsOf({ filter: { model: "m/9" } })).toEqual([]);
    expect(await idsOf({ filter: {}, fromMs: second.endedMs, toMs: second.endedMs + 1 })).toEqual(["req_1"]);
    expect(await idsOf({ filter: {}, toMs: second.endedMs })).toEqual([]);
  });

  test("once, also where they are rolled up while they are looked for", async () => {
    for (const before of [undefined, 95n, 130n]) {
      await insert(Array.from({ length: 60 }, () => makeRequest(random)));
      let isFirst = true;
      const meanwhile = database().withPlugin({
        transformQuery: ({ node }) => node,
        async transformResult({ result }) {
          const wasFirst = isFirst;
          isFirst = false;
          if (wasFirst) while (await rollSome());
          return result;
        },
      });
      const wish = { filter: {}, ...(before === undefined ? {} : { before }) };
      const found = await findRequests(meanwhile, engine.name, wish, 1_000);
      expect(found.map(({ id }) => id)).toEqual(expected(wish));
    }
  });

  test("where nothing has what is asked, and where there are none", async () => {
    expect(await findRequests(database(), engine.name, { filter: { model: "m/1" } }, 5)).toEqual([]);
    await insert(Array.from({ length: 50 }, () => makeRequest(random)));
    await rollSome();
    for (const filter of [{ model: "m/9" }, { key: "nobody" }, { provider: "p", outcome: "nothing" }])
      expect(await findRequests(database(), engine.name, { filter }, 5)).toEqual([]);
  });

  test("a provider is known by the requests that are rolled up and by those that are not", async () => {
    const [one, other] = [makeRequest(random), makeRequest(random)];
    await insert([{ ...one, provider: "counted" }]);
    await rollSome();
    await insert([{ ...other, provider: "new" }]);
    const were = await Promise.all(["counted", "new", "none"].map((name) => wasProvider(database(), name)));
    expect(were).toEqual([true, true, false]);
  });
});
