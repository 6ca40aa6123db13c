import { afterAll, expect, test } from "bun:test";
import { describeOnEngines, type TestEngine } from "../gateway/engines.ts";
import { KILL_POINTS } from "./points.ts";
import { LONG, type RunCount, runLane, SEED, tableOf } from "./runs.ts";

// The gateway is killed at every step of a request, and at any moment, and started again on the same store; each time
// the books must be right and must say what clients were told. Records of Idempotency-Key (in K5, K10 and K12) are
// left out, as there are none yet.

const counts: RunCount[] = [];

afterAll(() => {
  if (LONG || process.env.SWITCHYARD_TEST_TABLE === "1") console.log(tableOf(counts));
});

/**
 * Passings to die at: all of them, one lane taking what the others leave, until a run passes none; or the first ones
 * and then ever fewer. `most` ends a lane in any case.
 */
function* passings(lane: number, lanes: number, most: number): Generator<number> {
  let nth = 1;
  for (let i = 0; i < most * lanes; i += 1) {
    if (i % lanes === lane) yield nth;
    nth += LONG ? 1 : Math.ceil(nth / 2);
  }
}

/** Runs of a lane at most; of one that always fires exactly so many. */
const MOST = LONG ? 60 : 8;

/** Two lanes are as many as two cores take; those on PostgreSQL wait for leases most of the time. */
const LANES = { sqlite: 2, postgres: 3 } as const;

describeOnEngines("a gateway killed", (engine: TestEngine) => {
  const lanes = LANES[engine.name];
  for (const point of KILL_POINTS) {
    test(`at ${point.name} (${point.rows})`, async () => {
      const count: RunCount = { point, engine: engine.name, runs: 0, fired: 0, broken: 0 };
      counts.push(count);
      const most = point.always === true && LONG ? 100 : MOST;
      const runs = Array.from({ length: lanes }, (_, lane) =>
        runLane({ engine, point, passings: passings(lane, lanes, most), seed: SEED * 100 + lane }, count),
      );
      const broken = (await Promise.all(runs)).flat();
      if (broken.length > 0) broken.push(`Replay with SWITCHYARD_TEST_SEED=${SEED}.`);
      expect(broken).toEqual([]);
      expect(count.fired).toBeGreaterThan(0);
    }, 600_000);
  }
});
