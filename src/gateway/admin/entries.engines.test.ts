import { beforeEach, expect, test } from "bun:test";
import { describeOnEngineOfSuite } from "../../../test/gateway/engines.ts";
import { figuresOf, insertEntries, START } from "../../../test/ledger/made-requests.ts";
import { createHorizon } from "../../ledger/usage/horizon.ts";
import { noteLedgerHours } from "../../ledger/usage/ledger-hours.ts";
import { HOUR_MS } from "../../ledger/usage/views.ts";
import { readWaiting } from "../../ledger/usage/waiting.ts";
import { listEntries } from "./entries.ts";

interface Entry {
  readonly cause: string;
  readonly account: string;
  readonly key: string;
  readonly atMs: number;
}

const HOURS = 12;

describeOnEngineOfSuite("an account's ledger of a time", (engine) => {
  const { database, random } = figuresOf(engine);
  let made: Entry[];
  beforeEach(() => {
    made = [];
  });

  const below = (most: number): number => Math.floor(random() * most);

  const insert = async (count: number): Promise<void> => {
    // A little out of order, as clocks of several processes are.
    const entries = Array.from({ length: count }, (_, i) => ({
      cause: `c${made.length + i}`,
      account: `a${below(2)}`,
      key: `k${below(2)}`,
      atMs: START + Math.floor(((made.length + i) / 300) * HOURS * HOUR_MS) + below(2 * HOUR_MS),
    }));
    made.push(...entries);
    await insertEntries(database(), entries);
  };

  const note = (maxEntries: number): Promise<boolean> =>
    noteLedgerHours({
      database: database(),
      engine: engine.name,
      horizon: createHorizon(database(), engine.name, "ledger"),
      maxEntries,
    });

  const isRight = async (): Promise<void> => {
    const moment = (): number => START + below((HOURS + 2) * HOUR_MS);
    const range = {
      ...(random() < 0.7 ? { fromMs: moment() } : {}),
      ...(random() < 0.5 ? { toMs: moment() } : {}),
    };
    const { fromMs = 0, toMs = Infinity } = range;
    const key = random() < 0.3 ? "k1" : undefined;
    const limit = 1 + below(40);
    const expected = made.filter(
      ({ account, key: of, atMs }) =>
        account === "a1" && (key === undefined || of === key) && atMs >= fromMs && atMs < toMs,
    );
    const order = random() < 0.5 ? ("asc" as const) : ("desc" as const);
    if (order === "desc") expected.reverse();
    const read: string[] = [];
    for (let after: bigint | undefined; ;) {
      const page = { after, limit };
      const { data, next } = await listEntries(database(), { account: "a1", key, range, page, order });
      read.push(...data.map(({ id }) => id));
      if (next === null) break;
      expect(data.length).toBe(limit);
      after = BigInt(next);
    }
    expect({ range, limit, order, read }).toEqual({
      range,
      limit,
      order,
      read: expected.map(({ cause }) => cause),
    });
  };

  test("is whole, page after page and either way, whatever part of the hours is noted", async () => {
    for (let round = 0; round < 5; round += 1) {
      await insert(60);
      for (let i = 0; i < 8; i += 1) await isRight();
      await note(25);
      for (let i = 0; i < 8; i += 1) await isRight();
    }
    while (await note(25));
    for (let i = 0; i < 20; i += 1) await isRight();
  });

  test("is noted to its end: then no entry waits", async () => {
    expect(await readWaiting(database())).toBe(0);
    await insert(7);
    expect(await readWaiting(database())).toBe(7);
    expect([await note(5), await readWaiting(database())]).toEqual([true, 2]);
    expect([await note(5), await readWaiting(database())]).toEqual([false, 0]);
    await insert(1);
    expect(await readWaiting(database())).toBe(1);
  });
});
