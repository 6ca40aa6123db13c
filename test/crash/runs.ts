import type { TestEngine } from "../gateway/engines.ts";
import { seededRandom } from "../upstream/cuts.ts";
import { readBooks } from "./books.ts";
import type { KillPoint, Watch } from "./points.ts";
import {
  ADMIN_TOKEN,
  buryIfDead,
  kill,
  KILLED,
  openStation,
  type Station,
  urlUnlessKilled,
} from "./station.ts";
import { type Way, wayOfRow } from "./told.ts";
import { answerTo, runWorkload } from "./workload.ts";

/** What the runs at one point came to. */
export interface RunCount {
  readonly point: KillPoint;
  readonly engine: string;
  runs: number;
  fired: number;
  broken: number;
}

/** A run: the point to die at, and at which of its passings. */
export interface Step {
  readonly point: KillPoint;
  readonly nth: number;
}

/** Steps of a lane, each chosen when it is known whether the process died at the one before. */
export type Steps = Generator<Step, void, boolean>;

/** One installation that dies at one step after the other. */
export interface Lane {
  readonly engine: TestEngine;
  /** What to die at next; told whether the step before it came to its passing. */
  readonly steps: Steps;
  readonly seed: number;
  /** Told each way that served. */
  readonly served: Set<Way>;
  /** Where runs at a point are counted. */
  countOf(point: KillPoint): RunCount;
}

/** Runs a lane until something is broken; returns that, each with the run it was seen after. */
export async function runLane(lane: Lane): Promise<string[]> {
  const station = await openStation(lane.engine);
  const broken: string[] = [];
  let last: { readonly name: string; readonly count: RunCount } | undefined;
  const look = async (gateway: ReturnType<Station["start"]>): Promise<void> => {
    const faults = await station.verify(gateway);
    if (faults.length > 0 && last !== undefined) last.count.broken += 1;
    broken.push(...faults.map((fault) => `${fault} (after ${last?.name ?? "the start"})`));
  };
  try {
    let run = 0;
    for (let step = lane.steps.next(); !step.done && broken.length === 0;) {
      const { point, nth } = step.value;
      run += 1;
      const gateway = station.start(point.environment(nth));
      // A gateway that counts from its start must not be started for the check: another one checks the books.
      if (!point.countsStart) await look(gateway);
      const count = lane.countOf(point);
      last = { name: `${point.name}:${nth} of run ${run}, lane ${lane.seed}`, count };
      const fired = await runOnce(station, point, gateway, { nth, run, seed: lane.seed });
      count.runs += 1;
      if (fired) count.fired += 1;
      if (point.countsStart) await lookAgain(station, look);
      step = lane.steps.next(fired);
    }
    if (broken.length === 0) await lookAgain(station, look);
    const { requests } = await readBooks(station.place.place);
    for (const way of requests.map(wayOfRow)) if (way !== undefined) lane.served.add(way);
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
  point: KillPoint,
  gateway: ReturnType<Station["start"]>,
  { nth, run, seed }: { readonly nth: number; readonly run: number; readonly seed: number },
): Promise<boolean> {
  const random = seededRandom(seed * 1_000_003 + run);
  const url = await urlUnlessKilled(gateway);
  if (url === undefined) return true;
  const watch: Watch = point.watch?.({ station, gateway, url, nth, chance: random() }) ?? {};
  station.double.handle((request) => {
    const { answer, call } = answerTo(request, station.told);
    watch.asked?.(call);
    return answer;
  });
  let code: number | undefined;
  void gateway.exited().then((exitCode) => (code = exitCode));
  for (let i = 0; i < (point.workloads ?? 1) && code === undefined; i += 1)
    await runWorkload({
      url,
      adminToken: ADMIN_TOKEN,
      tenants: station.tenants,
      random,
      told: station.told,
      onAnswered: () => watch.answered?.(),
    });
  watch.stop?.();
  await buryIfDead(gateway, url);
  const fired = code === KILLED || gateway.child.killed;
  if (code !== undefined && !fired) throw new Error(`The gateway ended by itself: ${gateway.output()}`);
  await kill(gateway);
  return fired;
}

/** A table of the runs, for people. */
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
