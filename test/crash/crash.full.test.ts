import { afterAll, expect, test } from "bun:test";
import { describeOnEngines, type TestEngine } from "../gateway/engines.ts";
import { KILL_POINTS, type KillPoint } from "./points.ts";
import { type RunCount, runLane, type Steps, tableOf } from "./runs.ts";
import { LONG, SEED } from "../runs.ts";
import { type Way, WAYS } from "./told.ts";

// The gateway is killed at every step of a request, and at any moment, and started again on the same store. Each time
// the books must be right and must say what clients were told. Records of Idempotency-Key (in K5, K10 and K12) are left
// out, as there are none yet.

const counts: RunCount[] = [];

afterAll(() => {
  if (LONG || process.env.SWITCHYARD_TEST_TABLE === "1") console.log(tableOf(counts));
});

const WAY_NAMES = Object.keys(WAYS) as Way[];

/** Two lanes are as many as two cores take; those on PostgreSQL wait for leases most of the time. */
const LANES = { sqlite: 2, postgres: LONG ? 6 : 2 } as const;

/** What a point gets where the large counts are asked for: all points on both engines take some twelve minutes. */
const POINT_MS = 25_000;

async function runLanes(
  { engine, served }: { readonly engine: TestEngine; readonly served: Set<Way> },
  points: readonly KillPoint[],
  lanes: readonly Steps[],
): Promise<void> {
  const own = points.map((point) => ({ point, engine: engine.name, runs: 0, fired: 0, broken: 0 }));
  counts.push(...own);
  const countOf = (point: KillPoint): RunCount => own.find((count) => count.point === point) as RunCount;
  const running = lanes.map((steps, i) => runLane({ steps, engine, seed: SEED * 100 + i, served, countOf }));
  const broken = (await Promise.all(running)).flat();
  if (broken.length > 0) broken.push(`Replay with SWITCHYARD_TEST_SEED=${SEED}.`);
  expect(broken).toEqual([]);
  expect(own.filter((count) => count.fired === 0).map((count) => count.point.name)).toEqual([]);
}

/**
 * Every passing of one point, a lane taking those that the others leave. Workloads differ in length. When some in a row
 * have not come to their passing, it begins again at the first, under other workloads, until its time is over.
 */
function* passings(point: KillPoint, lane: number, lanes: number): Steps {
  const untilMs = performance.now() + POINT_MS;
  let turn = 0;
  let quiet = 0;
  const { most = Infinity } = point;
  while (performance.now() < untilMs) {
    const fired = yield { point, nth: Math.min(most, 1 + lane + turn * lanes) };
    quiet = fired ? 0 : quiet + 1;
    if (quiet === QUIET_RUNS) quiet = turn = 0;
    else turn += 1;
  }
}
const QUIET_RUNS = 3;

/** Every point at its first passing, which is always come to, in one of the lanes. */
function* onePassing(points: readonly KillPoint[], lane: number, lanes: number): Steps {
  for (const [i, point] of points.entries()) if (i % lanes === lane) yield { point, nth: 1 };
}

/** Rows that are tried on PostgreSQL in any case: of the others a death is the same for both stores. */
const SHARED_ROWS = /K4|K8|K9|K10|allotments|any/;

describeOnEngines("a gateway killed", (engine: TestEngine) => {
  const points = KILL_POINTS.filter(
    (point) =>
      (point.engine ?? engine.name) === engine.name &&
      (LONG || engine.name === "sqlite" || SHARED_ROWS.test(point.rows)),
  );
  /** The ways by which requests were served, at any point: some kill before the first of them. */
  const served = new Set<Way>();
  const lanes = Array.from({ length: LANES[engine.name] }, (_, lane) => lane);
  if (!LONG) {
    test("at every point", async () => {
      await runLanes(
        { engine, served },
        points,
        lanes.map((lane) => onePassing(points, lane, lanes.length)),
      );
    }, 600_000);
    return;
  }
  for (const point of points) {
    test(`at every passing of ${point.name} (${point.rows})`, async () => {
      await runLanes(
        { engine, served },
        [point],
        lanes.map((lane) => passings(point, lane, lanes.length)),
      );
    }, 600_000);
  }
  test("has served requests by every way", () => {
    expect(WAY_NAMES.filter((way) => !served.has(way))).toEqual([]);
  });
});
