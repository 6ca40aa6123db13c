import { expect, test } from "bun:test";
import { createFakeClock } from "../../test/gateway/fake-clock.ts";
import { createRetention, type RetentionParts } from "./retention.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

test("files whose time is over are looked for every minute, and those that no task names every hour", async () => {
  const clock = createFakeClock(0);
  const [looks, sweeps, errors]: [number[], number[], string[]] = [[], [], []];
  const parts = {
    clock,
    // A store that is away: each look is told of, and the next one comes all the same.
    database: {
      selectFrom() {
        looks.push(clock.nowMs());
        throw new Error("away");
      },
    },
    log: { error: (message: string) => void errors.push(message) },
    assets: {
      async sweep() {
        sweeps.push(clock.nowMs());
        throw new Error("away");
      },
    },
  } as unknown as RetentionParts;
  const retention = createRetention(parts);
  await clock.advance(HOUR_MS);
  expect([looks, sweeps]).toEqual([[], []]);
  retention.start();
  const startMs = clock.nowMs();
  await clock.advance(2 * MINUTE_MS + 1_000);
  const since = (times: readonly number[]): readonly number[] => times.map((time) => time - startMs);
  expect(since(looks)).toEqual([1_000, 61_000, 121_000]);
  await clock.advance(2 * HOUR_MS - MINUTE_MS - 1_000 - 1);
  expect(since(sweeps)).toEqual([MINUTE_MS, MINUTE_MS + HOUR_MS]);
  await clock.advance(1);
  expect(since(sweeps)).toHaveLength(3);
  expect(new Set(errors)).toEqual(
    new Set([
      "files and tasks whose time is over could not be deleted",
      "files that no task names could not be looked for",
    ]),
  );
  await retention.close();
  await clock.advance(2 * HOUR_MS);
  expect(sweeps).toHaveLength(3);
});
