import type { TestEngine } from "../gateway/engines.ts";
import { seededRandom } from "../upstream/cuts.ts";
import type { KillPoint, Watch } from "./points.ts";
import { ADMIN_TOKEN, kill, openStation, type Station } from "./station.ts";
import { answerOf, runWorkload } from "./workload.ts";

/** The seed of all runs; a failure names it. */
export const SEED = Number(process.env.SWITCHYARD_TEST_SEED ?? "1");

/** Whether the large counts are asked for. */
export const LONG = process.env.SWITCHYARD_TEST_LONG === "1";

/** What the runs at one point came to. */
export interface RunCount {
  readonly point: KillPoint;
  readonly engine: string;
  runs: number;
  fired: number;
  broken: number;
}

/** One lane of runs at a point: an installation that dies at the first, then at the next passing, and so on. */
export interface Lane {
  readonly engine: TestEngine;
  readonly point: KillPoint;
  /** The passings to die at, in order; the lane ends at those that no run comes to. */
  readonly passings: Iterable<number>;
  readonly seed: number;
}

/** Workloads differ in length: so many in a row that do not come to a passing end the lane. */
const QUIET_RUNS = LONG ? 4 : 2;

/** Runs a lane; returns what was broken, each with the run it was seen after. */
export async function runLane(lane: Lane, count: RunCount): Promise<string[]> {
  const station = await openStation(lane.engine);
  const broken: string[] = [];
  let last = "the start";
  const look = async (gateway: ReturnType<Station["start"]>): Promise<void> => {
    const faults = await station.verify(gateway);
    if (faults.length > 0) count.broken += 1;
    broken.push(...faults.map((fault) => `${fault} (after ${last})`));
  };
  try {
    let run = 0;
    let quiet = 0;
    for (const nth of lane.passings) {
      run += 1;
      const gateway = station.start(lane.point.environment(nth));
      // A gateway that counts from its start is looked at by another one, so that looking is not counted.
      if (!lane.point.countsStart) await look(gateway);
      last = `${lane.point.name}:${nth} of run ${run}, seed ${lane.seed}`;
      const fired = await runOnce(station, lane, gateway, nth, run);
      count.runs += 1;
      if (fired) count.fired += 1;
      if (lane.point.countsStart) await lookAgain(station, look);
      quiet = fired ? 0 : quiet + 1;
      if (broken.length > 0 || (quiet === QUIET_RUNS && lane.point.always !== true)) break;
    }
    if (!lane.point.countsStart) await lookAgain(station, look);
    return broken;
  } finally {
    await station.remove();
  }
}

async function lookAgain(
  station: Station,
  look: (gateway: ReturnType<Station["start"]>) => Promise<void>,
): Promise<void> {
  const next = station.start();
  await look(next);
  await kill(next);
}

/** One workload on one process; `true` when the process died of its point. It is dead afterwards in any case. */
async function runOnce(
  station: Station,
  { point, seed }: Lane,
  gateway: ReturnType<Station["start"]>,
  nth: number,
  run: number,
): Promise<boolean> {
  const random = seededRandom(seed * 1_000_003 + run);
  const url = await gateway.ready().catch(() => undefined);
  if (url === undefined) {
    // Only a point that counts from the start may end a start.
    if (!point.countsStart) throw new Error(`The gateway did not start: ${gateway.output()}`);
    await gateway.exited();
    return true;
  }
  const watch: Watch = point.watch?.({ station, gateway, url, nth, chance: random() }) ?? {};
  station.double.handle((request) => {
    watch.asked?.();
    return answerOf(request);
  });
  let ended = false;
  void gateway.exited().then(() => (ended = true));
  await runWorkload({
    url,
    adminToken: ADMIN_TOKEN,
    tenants: station.tenants,
    random,
    told: station.told,
    onAnswered: () => watch.answered?.(),
  });
  watch.stop?.();
  const fired = ended || gateway.child.killed;
  await kill(gateway);
  return fired;
}

/** A table of what was run, for people. */
export function tableOf(counts: readonly RunCount[]): string {
  const lines = counts.map(({ point, engine, runs, fired, broken }) =>
    [point.rows.padEnd(20), point.name.padEnd(24), engine.padEnd(9), runs, fired, broken]
      .map((cell) => (typeof cell === "number" ? String(cell).padStart(6) : cell))
      .join(" "),
  );
  const head = `${"rows".padEnd(20)} ${"kill point".padEnd(24)} engine      runs  fired broken`;
  const sum = (of: (count: RunCount) => number): string =>
    String(counts.reduce((total, count) => total + of(count), 0)).padStart(6);
  const end = `${"all".padEnd(55)}${sum((c) => c.runs)} ${sum((c) => c.fired)} ${sum((c) => c.broken)}`;
  return [head, ...lines, end].join("\n");
}
