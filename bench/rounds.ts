import type { LoadResult } from "./load-client.ts";
import { median } from "./percentile.ts";
import { processCpuSeconds } from "./process-cpu.ts";

/** A process that is measured, and how it is loaded once. It lives through all rounds. */
export interface Subject {
  /** Its place in a comparison. */
  readonly name: string;
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
  readonly seconds: number;
  readonly warmUp: WarmUp;
  /** How many units of work a load was: its requests, or the chunks that were streamed. */
  units(result: LoadResult): number;
}

/** Rounds of a warm-up are so long; it ends when its figures stand, or once its time is over. */
export interface WarmUp {
  readonly roundSeconds: number;
  readonly mostSeconds: number;
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

/** The subjects over the same rounds, by their names. */
export type Comparison = Readonly<Record<string, readonly Round[] | undefined>>;

/** More requests than a round can ask. */
export const UNBOUNDED = 1_000_000_000;

// What a subject does after its last answer (log lines, commits) belongs to the round, too.
const SETTLE_MS = 100;

/** Loads the subjects in turns, so that what changes on the machine meanwhile meets them all. */
export async function compare(subjects: readonly Subject[], plan: RoundPlan): Promise<Comparison> {
  const rounds: Record<string, Round[]> = {};
  for (let round = 0; round < plan.rounds; round++) {
    for (const subject of subjects)
      (rounds[subject.name] ??= []).push(await measureRound(subject, plan, plan.seconds));
  }
  return rounds;
}

/** Loads a subject until its figures stand; false when they still did not after the most time. */
export async function warmUp(subject: Subject, plan: RoundPlan): Promise<boolean> {
  const { roundSeconds, mostSeconds } = plan.warmUp;
  const endsAt = performance.now() + mostSeconds * 1_000;
  const figures: number[] = [];
  while (!stands(figures)) {
    if (performance.now() > endsAt) return false;
    figures.push((await measureRound(subject, plan, roundSeconds)).cpuUs);
  }
  return true;
}

const STANDING_ROUNDS = 3;
const STANDING_SHARE = 0.03;

/**
 * Whether the last rounds found nothing better than those before them. A warm-up makes figures fall; other work on the
 * machine makes single ones rise, which says nothing.
 */
export function stands(figures: readonly number[]): boolean {
  const before = figures.slice(0, -STANDING_ROUNDS);
  const last = figures.slice(-STANDING_ROUNDS);
  return before.length > 0 && Math.min(...last) >= Math.min(...before) * (1 - STANDING_SHARE);
}

async function measureRound(subject: Subject, plan: RoundPlan, seconds: number): Promise<Round> {
  const before = processCpuSeconds(subject.pid);
  const result = await subject.load({ requests: UNBOUNDED, seconds });
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

/** A spread as the tables show it. */
export function shown({ median, min, max }: Spread, digits: number): string {
  return `${median.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`;
}

/** How often another's CPU time ours is, each round against the one of the other beside it; none without both. */
export function ratiosTo(other: string, rounds: Comparison): number[] {
  return (rounds.ours ?? []).flatMap(({ cpuUs }, index) => {
    const beside = rounds[other]?.[index];
    return beside === undefined ? [] : [cpuUs / beside.cpuUs];
  });
}
