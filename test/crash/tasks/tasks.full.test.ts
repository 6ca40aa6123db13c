import { afterAll, expect, test } from "bun:test";
import { describeOnEngines, type TestEngine, type TestPlace } from "../../gateway/engines.ts";
import { LONG, SEED } from "../../runs.ts";
import { seededRandom } from "../../upstream/cuts.ts";
import { fileAnswer } from "../../upstream/media/result-files.ts";
import { buryIfDead, kill, KILLED, urlUnlessKilled } from "../station.ts";
import { SECOND_ROUTE_POINTS, TASK_POINTS, type TaskPoint } from "./points.ts";
import { makeOverdue, openTaskStation, readTasks, type TaskStation } from "./station.ts";
import { noteDoubts, verifyTasks } from "./verify.ts";
import { planTasks, runTask } from "./workload.ts";

// The gateway is killed at every step of a task, and started again on the same store. No task is lost, none is stuck,
// none is charged twice, and none is sent twice outside the one gap. The provider is a double that counts what it took.

interface Row {
  readonly point: TaskPoint;
  readonly routes: number;
  readonly engine: string;
  runs: number;
  fired: number;
}

const table: Row[] = [];

afterAll(() => {
  if (!LONG && process.env.SWITCHYARD_TEST_TABLE !== "1") return;
  const cells = table.map(({ point, routes, engine, runs, fired }) =>
    [
      point.rows.padEnd(18),
      point.name.padEnd(24),
      `${routes}`.padStart(6),
      engine.padEnd(9),
      `${runs}`.padStart(5),
      `${fired}`.padStart(6),
    ].join(" "),
  );
  console.log(
    ["rows               kill point               routes engine     runs  fired", ...cells].join("\n"),
  );
});

/** Passings of a point that are died at. */
function passingsOf({ from, overdue }: TaskPoint): readonly number[] {
  const count = LONG ? (from === "clock" ? 30 : 5) : 1;
  // One sweep has them all: it is passed once.
  if (overdue !== undefined) return Array<number>(count).fill(1);
  return Array.from({ length: count }, (_, i) => i + 1);
}

/** Within this time of its first tasks a gateway is killed that is killed at any moment: most of them have ended by then. */
const ANY_MOMENT_MS = 7_000;

/** A run is over when all its tasks have ended, or after so long. */
const RUN_MS = 40_000;

/** Runs that wait for leases and for polls most of the time. */
const LANES = 3;

/** One run: dies at a passing, comes back, and is looked at. */
async function dieOnce(
  station: TaskStation,
  point: TaskPoint,
  { nth, run }: { readonly nth: number; readonly run: string },
): Promise<{ readonly fired: boolean; readonly faults: readonly string[] }> {
  const { place, makers, tenants, told } = station;
  const random = seededRandom(SEED * 1_000_003 + Number(run.replace(/\D/g, "")));
  if (point.overdue === "files") await makeOverdue(place.place, "files");
  const plans = planTasks(run, random, makers.length);
  const runAll = (url: string): Promise<unknown> =>
    Promise.all(plans.map((plan, i) => runTask({ url, ...tenants[i % tenants.length]! }, plan, told)));
  if (point.overdue === "deadlines") {
    // Tasks that somebody left behind, whose time was over when the gateway came back.
    const before = station.start();
    const url = await before.ready();
    const asked = runAll(url);
    await someWait(place.place);
    await kill(before);
    await asked;
    await makeOverdue(place.place, "deadlines");
  }
  const gateway = station.start(point.environment(nth));
  let files = 0;
  for (const { double } of makers)
    double.files.handle(({ target }) => {
      const [, kind = "missing", seed = "0"] = /^\/([a-z_]+)\/(\d+)/.exec(target) ?? [];
      files += 1;
      const half = point.from === "file" && files === nth;
      if (half) setTimeout(() => gateway.child.kill("SIGKILL"), 50);
      return fileAnswer(half ? "stall" : (kind as "image" | "video"), Number(seed));
    });
  const url = await urlUnlessKilled(gateway);
  if (point.from === "clock") setTimeout(() => gateway.child.kill("SIGKILL"), random() * ANY_MOMENT_MS);
  if (url !== undefined && point.overdue === undefined) {
    const asked = runAll(url);
    // The moment comes, also where all tasks have ended before it.
    const over = point.from === "clock" ? [] : [asked];
    await Promise.race([...over, gateway.exited(), Bun.sleep(RUN_MS)]);
  }
  if (point.overdue !== undefined) await Promise.race([gateway.exited(), Bun.sleep(RUN_MS)]);
  if (url !== undefined) await buryIfDead(gateway, url);
  const fired = gateway.child.killed || gateway.child.signalCode !== null;
  await kill(gateway);
  expect(await gateway.exited()).toBe(KILLED);
  noteDoubts(told, await readTasks(place.place));
  const next = station.start();
  const faults = await verifyTasks(station, await next.ready());
  await kill(next);
  const logged = [...gateway.output().split("\n"), ...next.output().split("\n")];
  return {
    fired,
    faults: faults.map((fault) => {
      const id = /\b(img|vid)_[0-9a-f]{32}\b/.exec(fault)?.[0];
      const lines = id === undefined ? [] : logged.filter((line) => line.includes(id));
      return [`${fault} (after ${point.name}:${nth}, run ${run})`, ...lines].join("\n");
    }),
  };
}

/** Waits until tasks stand in the store that have not ended; for a while. */
async function someWait(place: TestPlace["place"]): Promise<void> {
  for (let looks = 0; looks < 400; looks += 1) {
    if ((await readTasks(place)).some(({ ended_at_ms }) => ended_at_ms === null)) return;
    await Bun.sleep(50);
  }
}

async function runLane(
  engine: TestEngine,
  points: readonly TaskPoint[],
  { lane, routes }: { readonly lane: number; readonly routes: 1 | 2 },
): Promise<string[]> {
  const station = await openTaskStation(engine, routes);
  const broken: string[] = [];
  try {
    for (const [i, point] of points.entries()) {
      const row: Row = { point, routes, engine: engine.name, runs: 0, fired: 0 };
      table.push(row);
      for (const [j, nth] of passingsOf(point).entries()) {
        const { fired, faults } = await dieOnce(station, point, { nth, run: `${lane}0${i}0${j}` });
        row.runs += 1;
        if (fired) row.fired += 1;
        broken.push(...faults);
        if (faults.length > 0) return broken;
      }
      if (row.fired === 0) broken.push(`${point.name} was never come to`);
    }
    return broken;
  } finally {
    await station.remove();
  }
}

/** Rows that are tried on PostgreSQL in any case. */
const SHARED_ROWS = /K13|K14|K15|K16 again|K17|K18|K24/;

describeOnEngines("a gateway with tasks, killed", (engine: TestEngine) => {
  for (const [name, all, routes] of [
    ["at every step of a task", TASK_POINTS, 1],
    ["at every step of a task that goes to a second route", SECOND_ROUTE_POINTS, 2],
  ] as const) {
    // On a server a lease has to run out after each death, and what differs from the embedded store is how a batch is
    // written.
    const isTried = ({ rows }: TaskPoint): boolean => routes === 1 && SHARED_ROWS.test(rows);
    const points = all.filter((point) => LONG || engine.name === "sqlite" || isTried(point));
    if (points.length === 0) continue;
    const lanes = Array.from({ length: LANES }, (_, lane) =>
      points.filter((_point, i) => i % LANES === lane),
    );
    test(
      name,
      async () => {
        const broken = await Promise.all(
          lanes.map((points, lane) => runLane(engine, points, { lane: lane + 1, routes })),
        );
        expect(broken.flat()).toEqual([]);
      },
      LONG ? 3_600_000 : 600_000,
    );
  }
});
