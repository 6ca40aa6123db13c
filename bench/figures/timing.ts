/** A piece of work whose CPU time is measured. */
export interface Work {
  /** Does it once; the number is added up, so that the compiler cannot leave the work out. */
  run(): number;
}

/** How long a measurement may take. */
export interface TimingPlan {
  readonly rounds: number;
  /** Time of each piece of work in a round, about. */
  readonly roundMs: number;
  /** Time, and number of times, that each runs before the first round at most. */
  readonly warmMs: number;
  readonly warmRuns: number;
}

/**
 * µs of CPU for each piece of work once, compiled. It is user and system time of the whole process, with the threads of
 * the collector and the compiler. In each round all take their turn, so that changes of the machine meet all; the
 * figure is the lower quartile of its rounds.
 */
export function cpuMicros(works: readonly Work[], plan: TimingPlan): number[] {
  const counts = works.map((work) => warmUp(work, plan));
  const rounds = works.map((): number[] => []);
  for (let round = 0; round < plan.rounds; round++) {
    for (const [place, work] of works.entries()) {
      rounds[place]?.push(roundMicros(work, counts[place] ?? 1));
    }
  }
  return rounds.map(lowerQuartile);
}

let sink = 0;

/** Returns how often the work runs in a round. */
function warmUp({ run }: Work, { warmMs, warmRuns, roundMs }: TimingPlan): number {
  const startedAt = performance.now();
  let runs = 0;
  let quickestMs = Infinity;
  for (let now = startedAt; now - startedAt < warmMs && runs < warmRuns; runs++) {
    sink += run();
    const next = performance.now();
    quickestMs = Math.min(quickestMs, next - now);
    now = next;
  }
  return Math.max(1, Math.round(roundMs / Math.max(quickestMs, 0.001)));
}

function roundMicros({ run }: Work, count: number): number {
  // Garbage of the others is collected before the measurement.
  Bun.gc(true);
  const before = process.cpuUsage();
  for (let done = 0; done < count; done++) sink += run();
  const { user, system } = process.cpuUsage(before);
  if (Number.isNaN(sink)) throw new Error("Work must return numbers.");
  return (user + system) / count;
}

function lowerQuartile(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 4)] ?? 0;
}
