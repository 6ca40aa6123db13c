import { beforeEach, describe, expect, test } from "bun:test";
import { createFakeClock, type FakeClock } from "../../test/gateway/fake-clock.ts";
import { createUsageRollUps, type UsageRollUps } from "./usage-roll-ups.ts";

/** Rows that are enough for a roll-up, and are counted by one. */
const BATCH = 4_000;

describe("roll-ups of usage", () => {
  let clock: FakeClock;
  /** When it looked for rows to count, in seconds. */
  let looks: number[];
  /** When it counted a batch, in seconds. */
  let batches: number[];
  let logged: (readonly unknown[])[];
  let waiting: number;
  let fault: "look" | "count" | undefined;
  let rollUps: UsageRollUps;
  beforeEach(() => {
    clock = createFakeClock(0);
    [looks, batches, logged, waiting, fault] = [[], [], [], 0, undefined];
    const noteAs =
      (level: string) =>
      (...line: unknown[]): void =>
        void logged.push([level, ...line]);
    rollUps = createUsageRollUps({
      async waiting() {
        looks.push(clock.nowMs() / 1_000);
        if (fault === "look") throw new Error("the database is away");
        return waiting;
      },
      async rollUp() {
        batches.push(clock.nowMs() / 1_000);
        if (fault === "count") throw new Error("the thread has ended");
        waiting = Math.max(0, waiting - BATCH);
        return waiting > 0;
      },
      clock,
      log: { info: noteAs("info"), warn: noteAs("warn"), error: noteAs("error") },
    });
    rollUps.start();
  });

  test("look each second while requests come, and count all of them at once when there are many", async () => {
    for (let second = 1; second <= 3; second += 1) {
      waiting = BATCH * second;
      await clock.advance(1_000);
    }
    expect(looks).toEqual([1, 2, 3]);
    expect(batches).toEqual([1, 2, 2, 3, 3, 3]);
  });

  test("leave a few until the first of them has waited for five seconds", async () => {
    waiting = BATCH - 1;
    await clock.advance(5_999);
    expect([looks, batches]).toEqual([[1, 2, 3, 4, 5], []]);
    await clock.advance(1);
    expect([batches, waiting]).toEqual([[6], 0]);
    waiting = 1;
    await clock.advance(5_000);
    expect(batches).toEqual([6]);
    await clock.advance(1_000);
    expect(batches).toEqual([6, 12]);
  });

  test("look five seconds after a look that found nothing, and each second again once there is something", async () => {
    await clock.advance(15_999);
    expect(looks).toEqual([1, 6, 11]);
    waiting = BATCH;
    await clock.advance(1_001);
    expect(looks).toEqual([1, 6, 11, 16, 17]);
    await clock.advance(5_000);
    expect(looks.slice(5)).toEqual([22]);
    expect(batches).toEqual([16]);
  });

  test.each([
    ["look", "the database is away"],
    ["count", "the thread has ended"],
  ] as const)(
    "are tried each second while each %s fails, and log the first failure and the first success",
    async (failing, reason) => {
      await clock.advance(1_000);
      expect(logged).toEqual([]);
      waiting = 2 * BATCH;
      fault = failing;
      const failed = ["error", "usage could not be rolled up", { error: expect.stringContaining(reason) }];
      await clock.advance(9_000);
      expect([looks, logged, waiting]).toEqual([[1, 6, 7, 8, 9, 10], [failed], 2 * BATCH]);
      fault = undefined;
      await clock.advance(3_000);
      const recovered = ["info", "usage is rolled up again", { duration_ms: 5_000 }];
      expect([looks.slice(6), logged, waiting]).toEqual([[11, 12], [failed, recovered], 0]);
      fault = failing;
      waiting = BATCH;
      await clock.advance(6_000);
      expect(logged).toEqual([failed, recovered, failed]);
    },
  );
});
