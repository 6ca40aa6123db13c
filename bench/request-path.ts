import type { Comparison, Round, RoundBounds, RoundPlan, Spread } from "./rounds.ts";
import { compare, ratios, spread } from "./rounds.ts";
import { median } from "./percentile.ts";
import { openStage, sceneName, streamEvents } from "./stage.ts";
import type { ModeName, Scene, StageForm } from "./stage.ts";

/** How long the table may take. */
export type Pace = "quick" | "full";

/** One line of the table. */
export interface Row {
  readonly scene: Scene;
  readonly concurrency: number;
  readonly rounds: Comparison;
}

const CONCURRENCY: Readonly<Record<ModeName, readonly number[]>> = {
  plain: [1, 8, 64],
  stream: [100],
  burst: [100],
};
/** What ours may cost at most, as a multiple of the bare proxy's CPU time. */
const GOALS = { request: 2, chunk: 1.3 };
const REQUESTS = 1_000_000;

/** A run's rounds, and how long a scene is warmed up at its highest concurrency so that its code is compiled. */
type Pacing = Omit<RoundPlan, "units"> & { readonly compile: RoundBounds };

const PACES: Readonly<Record<Pace, Pacing>> = {
  quick: {
    rounds: 2,
    round: { requests: REQUESTS, seconds: 0.5 },
    compile: { requests: REQUESTS, seconds: 1 },
    warmUp: { requests: REQUESTS, seconds: 0.1 },
  },
  full: {
    rounds: 5,
    round: { requests: REQUESTS, seconds: 2.5 },
    compile: { requests: REQUESTS, seconds: 4 },
    warmUp: { requests: REQUESTS, seconds: 1 },
  },
};

/** Measures every row; `report` is told of each row and of each scene's charge as they come. */
export async function measureRequestPath(
  scenes: readonly Scene[],
  form: StageForm,
  pace: Pace,
  report: (line: string) => void,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const scene of scenes) {
    const { format, mode } = scene;
    const stage = await openStage(scene, form);
    const settings = CONCURRENCY[mode.name];
    const most = Math.max(...settings);
    for (const subject of [stage.bare(most), stage.ours(most)]) await subject.load(PACES[pace].compile);
    for (const concurrency of settings) {
      report(`${sceneName(scene)}, ${concurrency} at once …`);
      const plan: RoundPlan = {
        ...PACES[pace],
        units: ({ requests }) => (mode.stream ? requests * streamEvents(format) : requests),
      };
      const rounds = await compare(stage.bare(concurrency), stage.ours(concurrency), plan);
      rows.push({ scene, concurrency, rounds });
    }
    report(`${sceneName(scene)}: ${(await stage.charged()).toFixed(6)} credits charged for each request`);
    await stage.close();
  }
  return rows;
}

const HEAD = [
  "format and mode",
  "at once",
  "CPU µs per",
  "bare",
  "ours",
  "ratio (min–max)",
  "goal",
  "p50/p99 ms bare",
  "p50/p99 ms ours",
  "requests/s bare",
  "requests/s ours",
  "requests measured",
];

/** The rows as a table in Markdown. */
export function requestPathTable(rows: readonly Row[]): string {
  const lines = [HEAD, HEAD.map(() => "---"), ...rows.map((row) => cells(row))];
  return lines.map((line) => `| ${line.join(" | ")} |`).join("\n");
}

function cells({ scene, concurrency, rounds }: Row): string[] {
  const unit = scene.mode.stream ? "chunk" : "request";
  const ratio = spread(ratios(rounds));
  const all = [rounds.bare, rounds.ours];
  return [
    sceneName(scene),
    String(concurrency),
    unit,
    ...all.map((side) => shown(spread(side.map((round) => round.cpuUs)), 1)),
    `${shown(ratio, 2)} ${ratio.median <= GOALS[unit] ? "✓" : "✗"}`,
    `≤ ${GOALS[unit].toFixed(1)}`,
    ...all.map((side) => `${middle(side, "p50Ms").toFixed(2)} / ${middle(side, "p99Ms").toFixed(2)}`),
    ...all.map((side) => middle(side, "requestsPerSecond").toFixed(0)),
    all.map((side) => side.reduce((sum, round) => sum + round.requests, 0)).join(" / "),
  ];
}

function middle(rounds: readonly Round[], figure: keyof Round): number {
  return median(rounds.map((round) => round[figure]));
}

function shown({ median, min, max }: Spread, digits: number): string {
  return `${median.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`;
}
