import { expect, test } from "bun:test";
import { describeOnEngineOfSuite } from "../../../test/gateway/engines.ts";
import { figuresOf, insertEntries, START } from "../../../test/ledger/made-requests.ts";
import { createHorizon } from "./horizon.ts";
import { ledgerBounds, noteLedgerHours } from "./ledger-hours.ts";
import { HOUR_MS } from "./views.ts";

describeOnEngineOfSuite("entries of a time", (engine) => {
  const { database } = figuresOf(engine);

  let count = 0;
  const insert = (...times: readonly number[]): Promise<void> =>
    insertEntries(
      database(),
      times.map((atMs) => ({ cause: `c${(count += 1)}`, account: "a", key: "k", atMs })),
    );

  const note = (): Promise<boolean> =>
    noteLedgerHours({
      database: database(),
      engine: engine.name,
      horizon: createHorizon(database(), engine.name, "ledger"),
    });

  test("lie between the first and the last number of their hours, up to the mark", async () => {
    expect(await ledgerBounds(database(), {})).toEqual({ mark: 0n, first: 1n, last: 0n });
    await insert(START, START + 1, START + HOUR_MS, START + HOUR_MS + 5, START + 2 * HOUR_MS);
    // Above the mark they may be anywhere.
    expect(await ledgerBounds(database(), {})).toEqual({ mark: 0n, first: 1n, last: 0n });
    expect(await note()).toBe(false);
    await insert(START);
    const bounds = (fromMs?: number, toMs?: number) =>
      ledgerBounds(database(), {
        ...(fromMs === undefined ? {} : { fromMs }),
        ...(toMs === undefined ? {} : { toMs }),
      });
    expect(await bounds()).toEqual({ mark: 5n, first: 1n, last: 5n });
    expect(await bounds(START + HOUR_MS + 3)).toEqual({ mark: 5n, first: 3n, last: 5n });
    expect(await bounds(undefined, START + HOUR_MS + 3)).toEqual({ mark: 5n, first: 1n, last: 4n });
    expect(await bounds(START + HOUR_MS, START + 2 * HOUR_MS)).toEqual({ mark: 5n, first: 3n, last: 4n });
    // No number lies between those of an hour without entries.
    expect(await bounds(START + 3 * HOUR_MS)).toEqual({ mark: 5n, first: 6n, last: 5n });
    expect(await note()).toBe(false);
    expect(await bounds(undefined, START + HOUR_MS)).toEqual({ mark: 6n, first: 1n, last: 6n });
  });
});
