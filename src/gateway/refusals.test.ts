import { beforeEach, describe, expect, test } from "bun:test";
import { createFakeClock, type FakeClock } from "../../test/gateway/fake-clock.ts";
import type { GatheredRefusals } from "../ledger/refusals.ts";
import { createRefusals, type Refusals } from "./refusals.ts";

describe("refusals of this process", () => {
  let clock: FakeClock;
  let written: GatheredRefusals[];
  let errors: string[];
  let isAway: boolean;
  let refusals: Refusals;
  beforeEach(() => {
    clock = createFakeClock();
    [written, errors, isAway] = [[], [], false];
    const log = (message: string): void => void errors.push(message);
    refusals = createRefusals({
      endpoints: new Set(["/paid"]),
      async write(gathered) {
        if (isAway) throw new Error("away");
        written.push(gathered);
      },
      clock,
      log: { info: log, warn: log, error: log },
    });
    refusals.start();
  });

  const refuse = (i: number, more: Partial<Parameters<Refusals["note"]>[0]> = {}): void =>
    refusals.note({
      id: `req_${i}`,
      status: 400,
      code: "c",
      endpoint: "/paid",
      path: "/paid",
      field: undefined,
      model: undefined,
      key: undefined,
      account: undefined,
      ...more,
    });
  const ids = (): readonly string[] => written.flatMap(({ rows }) => rows.map(({ id }) => id));
  const counted = (): number =>
    written.flatMap(({ counts }) => counts).reduce((sum, { refusals: n }) => sum + n, 0);

  test("are written together every five seconds, and nothing where there is none", async () => {
    for (let i = 0; i < 3; i += 1) refuse(i);
    await clock.advance(4_999);
    expect(written).toEqual([]);
    await clock.advance(1);
    expect([written.length, ids(), counted()]).toEqual([1, ["req_0", "req_1", "req_2"], 3]);
    await clock.advance(20_000);
    expect(written.length).toBe(1);
  });

  test("are those of paid routes with a status of a refusal", async () => {
    refuse(1, { endpoint: "/admin" });
    refuse(2, { endpoint: undefined });
    for (const status of [200, 403, 404, 500, 502]) refuse(3, { status });
    for (const status of [400, 401, 402, 429]) refuse(status, { status });
    await refusals.flush();
    expect(ids()).toEqual(["req_400", "req_401", "req_402", "req_429"]);
  });

  test("have their model, key, account and field where these are known, and are counted by the hour", async () => {
    const known = { field: "f", model: "v/m", key: "k", account: "a" };
    refuse(1, known);
    await refusals.flush();
    refuse(2, known);
    refuse(3, known);
    refuse(4);
    await refusals.flush();
    const [first, second] = written;
    const atMs = clock.nowMs();
    const row = { atMs, status: 400, code: "c", path: "/paid" };
    const count = { timeMs: atMs - (atMs % 3_600_000), status: 400, code: "c" };
    expect(first).toEqual({
      rows: [{ ...row, id: "req_1", ...known }],
      counts: [{ ...count, model: "v/m", key: "k", refusals: 1 }],
    });
    expect(second?.rows.at(-1)).toEqual({
      ...row,
      id: "req_4",
      field: null,
      model: null,
      key: null,
      account: null,
    });
    expect(second?.counts).toEqual([
      { ...count, model: "v/m", key: "k", refusals: 2 },
      { ...count, model: "", key: "", refusals: 1 },
    ]);
  });

  test("that the store does not take are written when it does", async () => {
    isAway = true;
    refuse(1);
    await clock.advance(5_000);
    expect(errors.length).toBe(1);
    isAway = false;
    refuse(2);
    await clock.advance(5_000);
    expect([ids(), counted()]).toEqual([["req_1", "req_2"], 2]);
  });

  test("of a flood are written in small parts: the last 10,000, with counts of all", async () => {
    for (let i = 0; i < 30_000; i += 1) refuse(i);
    await refusals.flush();
    expect(Math.max(...written.map(({ rows }) => rows.length))).toBe(500);
    expect(ids().slice(-10_000)).toEqual(Array.from({ length: 10_000 }, (_, i) => `req_${20_000 + i}`));
    expect(ids().length).toBeLessThan(20_000);
    expect(counted()).toBe(30_000);
  });

  test("wait all of them while they are fewer than twice as many", async () => {
    for (let i = 0; i < 19_999; i += 1) refuse(i);
    await refusals.flush();
    expect([ids().length, counted()]).toEqual([19_999, 19_999]);
    for (let i = 0; i < 20_000; i += 1) refuse(i);
    await refusals.flush();
    expect([ids().length, counted()]).toEqual([29_999, 39_999]);
  });

  test("are written to the last one, however the parts come out", async () => {
    for (let i = 0; i < 501; i += 1) refuse(i);
    await refusals.flush();
    expect(written.map(({ rows }) => rows.length)).toEqual([500, 1]);
  });

  test("that come while others are written can be read after a flush as well", async () => {
    refuse(1);
    const first = refusals.flush();
    refuse(2);
    await refusals.flush();
    expect(ids()).toEqual(["req_1", "req_2"]);
    await first;
  });

  test("are written at the end", async () => {
    refuse(1);
    await refusals.close();
    expect(ids()).toEqual(["req_1"]);
    refuse(2);
    await clock.advance(20_000);
    expect(ids()).toEqual(["req_1"]);
  });
});
