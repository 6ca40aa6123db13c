import type { LoadGateway } from "./load-gateway.ts";
import { mib } from "./table.ts";

/** What was seen of a process at a moment. */
export interface Sample {
  readonly minutes: number;
  readonly memory: number;
  readonly descriptors: number;
  readonly timers: number;
}

type Measure = Exclude<keyof Sample, "minutes">;

const plain = (value: number): string => value.toFixed(1);

/** How each is shown, and what more of it is nothing: some connections, some blocks of the allocator. */
const MEASURES: Readonly<Record<Measure, { shown(value: number): string; slack: number }>> = {
  memory: { shown: mib, slack: 8 * 2 ** 20 },
  descriptors: { shown: plain, slack: 8 },
  timers: { shown: plain, slack: 8 },
};

/** How one of them went, by the line through the last two thirds of the samples: before, a process warms. */
export interface Course {
  readonly name: Measure;
  /** What it was in the middle. */
  readonly median: number;
  readonly perMinute: number;
  /** What it rose by from the start of the line to its end, and what is still flat. */
  readonly rise: number;
  readonly most: number;
}

/** The courses; `share` of the median is what each may rise by, beside its slack. */
export function coursesOf(samples: readonly Sample[], share: number): readonly Course[] {
  const warm = samples.slice(Math.floor(samples.length / 3));
  const minutes = (warm.at(-1)?.minutes ?? 0) - (warm[0]?.minutes ?? 0);
  return (Object.keys(MEASURES) as Measure[]).map((name) => {
    const values = warm.map((sample) => sample[name]);
    const median = values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
    const perMinute = slopeOf(warm.map((sample) => [sample.minutes, sample[name]]));
    const most = median * share + MEASURES[name].slack;
    return { name, median, perMinute, rise: perMinute * minutes, most };
  });
}

/** The courses as a table. */
export function courseTable(samples: readonly Sample[], courses: readonly Course[]): string {
  const rows = courses.map(({ name, median, perMinute, rise, most }) => {
    const { shown } = MEASURES[name];
    const signed = (value: number): string => `${value < 0 ? "-" : "+"}${shown(Math.abs(value))}`;
    const all = samples.map((sample) => sample[name]);
    const figures = [all[0] ?? 0, Math.max(...all), all.at(-1) ?? 0, median].map(shown);
    return `| ${[name, ...figures, signed(perMinute), signed(rise), shown(most)].join(" | ")} |`;
  });
  return [
    "| | at first | most | at last | median | a minute | rise | may rise |",
    "|---|---|---|---|---|---|---|---|",
    ...rows,
  ].join("\n");
}

/** By least squares. */
function slopeOf(points: readonly (readonly [number, number])[]): number {
  const mean = (of: (point: readonly [number, number]) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [x, y] = [mean(([at]) => at), mean(([, value]) => value)];
  const over = mean(([at, value]) => (at - x) * (value - y));
  return over / mean(([at]) => (at - x) ** 2);
}

/** Looks at a gateway again and again, until `stop` gives what was seen. */
export function startSampling({ rss, descriptors, timers }: LoadGateway, everyMs: number) {
  const samples: Sample[] = [];
  const startedAt = performance.now();
  const look = (): void =>
    void samples.push({
      minutes: (performance.now() - startedAt) / 60_000,
      memory: rss(),
      descriptors: descriptors(),
      timers: timers(),
    });
  const looking = setInterval(look, everyMs);
  return {
    stop(): readonly Sample[] {
      clearInterval(looking);
      return samples;
    },
  };
}
