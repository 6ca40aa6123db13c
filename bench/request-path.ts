import { measureSyncMs } from "./disk-sync.ts";
import { markdownTable } from "./figures/table.ts";
import { median } from "./percentile.ts";
import {
  type Comparison,
  compare,
  ratiosTo,
  type Round,
  type RoundPlan,
  shown,
  spread,
  warmUp,
} from "./rounds.ts";
import { type Goal, type Scene, type SceneLoad, streamEvents } from "./scenes.ts";
import { openStage, type Stage, type StageForm, type SubjectName } from "./stage.ts";

/** How long the table may take. */
export type Pace = "quick" | "full";

/** One line of the table. */
export interface Row {
  readonly scene: Scene;
  readonly load: SceneLoad;
  readonly rounds: Comparison;
  /** The disk's own sync, right before the rounds. */
  readonly syncMs: number;
}

/** Rounds and warm-up of a load. */
export const PACES: Readonly<Record<Pace, Omit<RoundPlan, "units">>> = {
  quick: { rounds: 2, seconds: 0.5, warmUp: { roundSeconds: 0.3, mostSeconds: 2.5 } },
  full: { rounds: 5, seconds: 2, warmUp: { roundSeconds: 0.5, mostSeconds: 20 } },
};
const SYNCS = { bytes: 512, writes: 40 };

/** Measures every row; `report` is told of each row and of each scene's charge as they come. */
export async function measureRequestPath(
  scenes: readonly Scene[],
  form: StageForm,
  pace: Pace,
  report: (line: string) => void,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const scene of scenes) {
    const stage = await openStage(scene, form);
    const plan: RoundPlan = {
      ...PACES[pace],
      units: ({ requests }) => (scene.mode.stream ? requests * streamEvents(scene) : requests),
    };
    // Most requests in the shortest time come with most at once: the compiler has done its work after that.
    const [most] = scene.loads.toSorted((a, b) => b.atOnce - a.atOnce);
    if (most !== undefined && scene.loads.length > 1) await warmUpAll(stage, scene, most, plan, report);
    for (const load of scene.loads) {
      report(`${nameOf(scene, load)} …`);
      await warmUpAll(stage, scene, load, plan, report);
      const syncMs = median(measureSyncMs({ folder: form.folder, ...SYNCS }));
      rows.push({ scene, load, syncMs, rounds: await compare(stage.subjects(load), plan) });
    }
    report(`${scene.name}: ${(await stage.charged()).toFixed(6)} credits charged for each request`);
    await stage.close();
  }
  return rows;
}

async function warmUpAll(
  stage: Stage,
  scene: Scene,
  load: SceneLoad,
  plan: RoundPlan,
  report: (line: string) => void,
): Promise<void> {
  const cold: string[] = [];
  for (const subject of stage.subjects(load)) if (!(await warmUp(subject, plan))) cold.push(subject.name);
  if (cold.length > 0) report(`${nameOf(scene, load)}: figures do not stand yet: ${cold.join(", ")}`);
}

function nameOf({ name }: Scene, load: SceneLoad): string {
  return `${name}, ${loadName(load)}`;
}

function loadName({ atOnce, perSecond }: SceneLoad): string {
  return perSecond === undefined ? `${atOnce} at once` : `${perSecond} a second`;
}

/** The rows as a table in Markdown, with a column for each of the others that was measured. */
export function requestPathTable(rows: readonly Row[], theirs: string | undefined): string {
  const words: Readonly<Record<SubjectName, string>> = {
    bare: "bare",
    tap: "tap",
    nginx: "nginx",
    ours: "ours",
    theirs: theirs ?? "",
  };
  const wasMeasured = (name: SubjectName): boolean => rows.some(({ rounds }) => rounds[name] !== undefined);
  const all = (["bare", "tap", "nginx", "theirs", "ours"] as const).filter(wasMeasured);
  const others = all.filter((name) => name !== "ours");
  const head = [
    "scene",
    "load",
    "CPU µs per",
    ...all.map((name) => words[name]),
    ...others.map((name) => `× ${words[name]}`),
    "goal",
    ...all.map((name) => `p50 / p99 ms ${words[name]}`),
    "requests/s ours",
    "disk's sync ms",
  ];
  const lines = rows.map(({ scene, load, rounds, syncMs }) => [
    scene.name,
    loadName(load),
    scene.mode.stream ? "chunk" : "request",
    ...all.map((name) => cpuOf(rounds[name])),
    ...others.map((name) => ratioTo(name, rounds)),
    goalCell(load.goal, rounds, syncMs),
    ...all.map((name) => latencyOf(rounds[name])),
    middle(rounds.ours, "requestsPerSecond").toFixed(0),
    syncMs.toFixed(2),
  ]);
  return markdownTable(head, lines);
}

const NONE = "–";

function cpuOf(rounds: readonly Round[] | undefined): string {
  return rounds === undefined ? NONE : shown(spread(rounds.map(({ cpuUs }) => cpuUs)), 1);
}

function ratioTo(other: SubjectName, rounds: Comparison): string {
  const ratios = ratiosTo(other, rounds);
  return ratios.length === 0 ? NONE : shown(spread(ratios), 2);
}

function latencyOf(rounds: readonly Round[] | undefined): string {
  if (rounds === undefined) return NONE;
  return `${middle(rounds, "p50Ms").toFixed(2)} / ${middle(rounds, "p99Ms").toFixed(2)}`;
}

/** Each goal, and whether it is reached. */
export function goalCell(goal: Goal, rounds: Comparison, syncMs: number): string {
  const judged = (["tap", "bare"] as const).flatMap((name) => {
    const most = goal[name];
    if (most === undefined) return [];
    return [`${median(ratiosTo(name, rounds)) <= most ? "✓" : "✗"} ≤ ${most} × ${name}`];
  });
  if (goal.addedMs === undefined) return judged.length === 0 ? NONE : judged.join(", ");
  const added = middle(rounds.ours, "p99Ms") - middle(rounds.bare, "p99Ms");
  const most = syncMs + goal.addedMs;
  return [...judged, `${added <= most ? "✓" : "✗"} p99 + ${added.toFixed(2)} ≤ ${most.toFixed(2)} ms`].join(
    ", ",
  );
}

function middle(rounds: readonly Round[] | undefined, figure: keyof Round): number {
  return median((rounds ?? []).map((round) => round[figure]));
}
