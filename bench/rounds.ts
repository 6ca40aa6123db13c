import type { LoadResult } from "./load-client.ts";
import { median } from "./percentile.ts";
import { processCpuSeconds } from "./process-cpu.ts";

/** A process that is measured, and how it is loaded once. It lives through all rounds. */
export interface Subject {
  readonly pid: number;
  load(bounds: RoundBounds): Promise<LoadResult>;
}

/** Where one round ends: at the count or at the time, whichever comes first. */
export interface RoundBounds {
  readonly requests: number;
  readonly seconds: number;
}

/** How many rounds each subject gets, and how long they are. */
export interface RoundPlan {
  readonly rounds: number;
  readonly round: RoundBounds;
  readonly warmUp: RoundBounds;
  /** How many units of work a load was: its requests, or the chunks that were streamed. */
  units(result: LoadResult): number;
}

/** What one round of one subject came to. */
export interface Round {
  /** CPU time of the subject per unit of work, in microseconds. */
  readonly cpuUs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly requestsPerSecond: number;
  readonly requests: number;
}

/** A figure over all rounds. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Two subjects over the same rounds. */
export interface Comparison {
  readonly bare: readonly Round[];
  readonly ours: readonly Round[];
}

// What a subject does after its last answer (log lines, commits) belongs to the round, too.
const SETTLE_MS = 100;

/** Warms both subjects up, then loads them in turns, so that what changes on the machine meanwhile meets both. */
export async function compare(bare: Subject, ours: Subject, plan: RoundPlan): Promise<Comparison> {
  const rounds = { bare: [] as Round[], ours: [] as Round[] };
  for (const subject of [bare, ours]) await subject.load(plan.warmUp);
  for (let round = 0; round < plan.rounds; round++) {
    rounds.bare.push(await measureRound(bare, plan));
    rounds.ours.push(await measureRound(ours, plan));
  }
  return rounds;
}

async function measureRound(subject: Subject, plan: RoundPlan): Promise<Round> {
  const before = processCpuSeconds(subject.pid);
  const result = await subject.load(plan.round);
  await Bun.sleep(SETTLE_MS);
  return toRound(processCpuSeconds(subject.pid) - before, plan.units(result), result);
}

/** The figures of a load that cost so much CPU and was so many units of work. */
export function toRound(cpuSeconds: number, units: number, result: LoadResult): Round {
  return {
    cpuUs: (cpuSeconds * 1e6) / units,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    requestsPerSecond: result.requests / result.seconds,
    requests: result.requests,
  };
}

/** Median, least and most of some values. */
export function spread(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/** How often the bare proxy's CPU time ours is, each round of ours against the round of the bare one beside it. */
export function ratios({ bare, ours }: Comparison): number[] {
  return ours.flatMap((round, index) => {
    const beside = bare[index];
    return beside === undefined ? [] : [round.cpuUs / beside.cpuUs];
  });
}
