import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { selfTimes } from "./cpu-profile.ts";
import type { CpuProfile } from "./cpu-profile.ts";
import { threadCpuSeconds } from "./process-cpu.ts";
import { UNBOUNDED } from "./rounds.ts";
import type { Scene } from "./scenes.ts";
import { openStage, type StageForm } from "./stage.ts";

/** Where a scene is measured so, too. */
const AT_ONCE = 8;
const WARM_UP = { requests: UNBOUNDED, seconds: 2 };
const ROUND = { requests: UNBOUNDED, seconds: 6 };
const SHOWN = 30;
const NOTE =
  "Samples are of the main thread while JavaScript runs, what it calls natively included; the event loop's own work and other threads show in the threads' CPU time only. Sampling costs time: these figures are not the table's.";
const LEAST_THREAD_SHARE = 0.005;

/** Runs the gateway in each scene under the runtime's profiler and says where its time went. */
export async function profileRequestPath(scenes: readonly Scene[], form: StageForm): Promise<string> {
  const parts: string[] = [];
  for (const scene of scenes) parts.push(await profileScene(scene, form));
  return [NOTE, ...parts].join("\n\n");
}

async function profileScene(scene: Scene, form: StageForm): Promise<string> {
  const folder = join(form.folder, `${scene.name}-profile`);
  const stage = await openStage(scene, form, ["--cpu-prof", `--cpu-prof-dir=${folder}`]);
  const load = scene.loads.find(({ atOnce }) => atOnce === AT_ONCE) ?? scene.loads[0];
  const subject = load && stage.subjects(load).find(({ name }) => name === "ours");
  if (load === undefined || subject === undefined) throw new Error(`${scene.name} has no load`);
  await subject.load(WARM_UP);
  const before = threadCpuSeconds(subject.pid);
  const { requests } = await subject.load(ROUND);
  const threads = threadCpuSeconds(subject.pid).map(({ name, seconds }) => ({
    name,
    seconds: seconds - (before.find((thread) => thread.name === name)?.seconds ?? 0),
  }));
  threads.sort((a, b) => b.seconds - a.seconds);
  // The profile is written when the process ends.
  await stage.close();
  const profiles = readdirSync(folder)
    .filter((name) => name.endsWith(".cpuprofile"))
    .map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")) as CpuProfile);
  const title = `${scene.name}, ${load.atOnce} at once, ${requests} requests`;
  return [
    `### ${title}`,
    threadTable(threads, requests),
    ...profiles.map((profile) => profileTable(profile)),
  ].join("\n\n");
}

function threadTable(
  threads: readonly { readonly name: string; readonly seconds: number }[],
  requests: number,
) {
  const total = threads.reduce((sum, { seconds }) => sum + seconds, 0);
  const lines = threads
    .filter(({ seconds }) => seconds > total * LEAST_THREAD_SHARE)
    .map(
      ({ name, seconds }) =>
        `| ${percent(seconds / total)} | ${((seconds * 1e6) / requests).toFixed(1)} | ${name} |`,
    );
  return ["| CPU | µs/request | thread |", "|---|---|---|", ...lines].join("\n");
}

function profileTable(profile: CpuProfile): string {
  const root = dirname(import.meta.dir);
  const lines = selfTimes(profile, root)
    .slice(0, SHOWN)
    .map(({ name, samples, share }) => `| ${percent(share)} | ${samples} | ${name} |`);
  return ["| self time | samples | function |", "|---|---|---|", ...lines].join("\n");
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
