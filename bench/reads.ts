import { join } from "node:path";
import { markdownTable } from "./figures/table.ts";
import { type Gateway, startGateway } from "./gateway.ts";
import { median, percentile } from "./percentile.ts";
import { runToEnd } from "./processes.ts";
import { readFacts, type ScreenRead, screenReads } from "./screens.ts";
import type { StageForm } from "./stage.ts";

/** What one read of a screen takes. */
export interface ReadRow {
  readonly read: ScreenRead;
  readonly bytes: number;
  /** Milliseconds until its answer was whole, sorted. */
  readonly warm: readonly number[];
  readonly cold: readonly number[];
  /** The longest stretches of the main thread while it was read, in milliseconds of CPU, sorted. */
  readonly stretches: readonly number[];
}

/** Which store is read, and how its pages are dropped from memory before a cold read. */
export interface ReadsForm extends StageForm {
  /** A filled home, or the address of a filled database. */
  readonly store: string;
  /** A command of the shell; absent: nothing is read cold. */
  readonly coldCommand: string | undefined;
}

const RUNS = 20;
const COLD_RUNS = 5;
const GOAL_MS = 100;
const GOAL_STRETCH_MS = 5;

/**
 * Makes every read of the screens, one at a time, over and over. Each is made warm, and as the first after a cold start
 * of the disk.
 */
export async function measureReads(
  form: ReadsForm,
  report: (line: string) => void,
): Promise<readonly ReadRow[]> {
  const socket = join(form.folder, "stretches.sock");
  const isUrl = form.store.includes("://");
  const gateway = await startGateway({
    folder: form.folder,
    upstreamUrl: "http://127.0.0.1:9",
    on: [],
    flags: ["--preload", join(import.meta.dir, "stretches.ts")],
    env: { BENCH_STRETCHES: socket, ...(isUrl ? { DATABASE_URL: form.store } : {}) },
    ...(isUrl ? {} : { home: form.store }),
  });
  const longest = async (): Promise<number> =>
    (await (await fetch("http://bench/", { unix: socket })).json()) as number;
  const facts = await readFacts(gateway);
  const rows: ReadRow[] = [];
  for (const read of screenReads(facts)) {
    const cold: number[] = [];
    if (form.coldCommand !== undefined)
      for (let run = 0; run < COLD_RUNS; run += 1) {
        await runCommand(form.coldCommand);
        await connected(gateway);
        cold.push((await timed(gateway, read)).ms);
      }
    const { bytes } = await timed(gateway, read);
    const warm: number[] = [];
    const stretches: number[] = [];
    for (let run = 0; run < RUNS; run += 1) {
      await longest();
      warm.push((await timed(gateway, read)).ms);
      stretches.push(await longest());
    }
    const sorted = (values: readonly number[]): readonly number[] => values.toSorted((a, b) => a - b);
    rows.push({ read, bytes, warm: sorted(warm), cold: sorted(cold), stretches: sorted(stretches) });
    report(rowOf(rows.at(-1) as ReadRow).join(" | "));
  }
  await gateway.stop();
  return rows;
}

async function timed({ url, token }: Gateway, { path }: ScreenRead): Promise<{ ms: number; bytes: number }> {
  const began = performance.now();
  const answer = await fetch(`${url}/admin/v1${path}`, { headers: { authorization: `Bearer ${token}` } });
  const { byteLength } = await answer.arrayBuffer();
  if (!answer.ok) throw new Error(`GET ${path}: ${answer.status}`);
  return { ms: performance.now() - began, bytes: byteLength };
}

/** Resolves once the store answers, which may have been started anew. */
async function connected({ admin }: Gateway): Promise<void> {
  for (;;) {
    try {
      // Twice, since a pool may give out an ended connection.
      await admin("GET", "/keys?limit=1");
      return void (await admin("GET", "/keys?limit=1"));
    } catch {
      await Bun.sleep(50);
    }
  }
}

async function runCommand(command: string): Promise<void> {
  const { code } = await runToEnd({ on: [], program: "sh", args: ["-c", command] });
  if (code !== 0) throw new Error(`${command} ended with code ${code}`);
}

function rowOf({ read, bytes, warm, cold, stretches }: ReadRow): string[] {
  const both = (values: readonly number[], digits: number): string =>
    values.length === 0 ? "–" : `${median(values).toFixed(digits)} / ${p95(values).toFixed(digits)}`;
  const isMet = p95(warm) < GOAL_MS && p95(cold) < GOAL_MS && p95(stretches) < GOAL_STRETCH_MS ? "✓" : "✗";
  return [
    read.screen,
    read.name,
    (bytes / 1024).toFixed(0),
    both(warm, 0),
    both(cold, 0),
    both(stretches, 1),
    isMet,
  ];
}

function p95(sorted: readonly number[]): number {
  return percentile(sorted, 0.95);
}

/** The rows as a table in Markdown. */
export function readsTable(rows: readonly ReadRow[]): string {
  return [
    `Each read ${RUNS} times, and ${COLD_RUNS} times after its pages were dropped from memory; p50 / p95. Goals: ${GOAL_MS} ms, stretches of the main thread below ${GOAL_STRETCH_MS} ms.`,
    "",
    markdownTable(["screen", "read", "KiB", "warm, ms", "cold, ms", "main thread, ms", ""], rows.map(rowOf)),
  ].join("\n");
}
