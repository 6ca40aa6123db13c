import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Gateway, startGateway } from "./gateway.ts";
import { boundMemory, type MemoryBound } from "./memory-bound.ts";
import { percentile } from "./percentile.ts";
import { runToEnd, startServer } from "./processes.ts";
import type { StageForm } from "./stage.ts";

const MIB = 1024 * 1024;
const UPLOADS = 200;
const KEYS = 20;
const BODY_BYTES = 30_000_000;
const MEMORY_BYTES = 1024 * MIB;
const QUIET_MS = 5_000;
const PROBE_MS = 20;

/** How long requests of others took, in milliseconds. */
export interface Waits {
  readonly count: number;
  readonly failed: number;
  readonly p50: number;
  readonly p99: number;
  readonly most: number;
}

/** What many large bodies at once did to a gateway, and to others. */
export interface BodiesResult {
  readonly bound: string;
  /** How many were answered with each status, and how soon: median and most, in milliseconds. */
  readonly statuses: readonly (readonly [status: string, count: number, p50Ms: number, mostMs: number])[];
  readonly alone: Waits;
  readonly beside: Waits;
  readonly rssBefore: number;
  readonly rssPeak: number;
  readonly cgroupPeak: number | undefined;
  readonly hasCrashed: boolean;
}

/** Sends 200 bodies of 30 MB at once to a gateway of 1 GiB, twice, while another key asks small things. */
export async function measureBodies(
  form: StageForm,
  report: (line: string) => void,
): Promise<readonly BodiesResult[]> {
  const bound = boundMemory(MEMORY_BYTES);
  const vendor = await startServer({
    on: form.cores.others,
    args: [join(import.meta.dir, "maker-server.ts")],
  });
  const folder = join(form.folder, "bodies");
  mkdirSync(folder, { recursive: true });
  const gateway = await startGateway({
    folder,
    upstreamUrl: vendor.url,
    on: [...form.cores.subject, ...bound.on],
  });
  const keys = await Promise.all(Array.from({ length: KEYS }, () => gateway.newKey()));
  const results: BodiesResult[] = [];
  for (const several of [false, true]) {
    report(`bodies: ${UPLOADS} at once, ${several ? `${KEYS} keys` : "one key"} …`);
    const used = Array.from({ length: UPLOADS }, (_, i) => keys[several ? i % KEYS : 0] ?? "");
    results.push(await measureOnce(gateway, bound, form, used));
  }
  for (const child of [gateway, vendor]) await child.stop();
  return results;
}

async function measureOnce(
  gateway: Gateway,
  bound: MemoryBound,
  { cores }: StageForm,
  keys: readonly string[],
): Promise<BodiesResult> {
  const rssBefore = memoryOf(gateway.pid, "VmRSS");
  const alone = await probe(gateway, Bun.sleep(QUIET_MS));
  const uploading = runToEnd({
    // The uploads run on the same core as the clients that are measured, and give way to them.
    on: [...cores.others, ...(Bun.which("nice") === null ? [] : ["nice", "-n", "19"])],
    args: [join(import.meta.dir, "uploads.ts"), gateway.url, String(BODY_BYTES), ...keys],
  });
  const beside = await probe(gateway, uploading);
  const ended = JSON.parse((await uploading).output) as readonly { status: string; ms: number }[];
  const statuses = [...Map.groupBy(ended, ({ status }) => status)].map(([status, those]) => {
    const sorted = those.map(({ ms }) => ms).toSorted((a, b) => a - b);
    return [status, those.length, percentile(sorted, 0.5), percentile(sorted, 1)] as const;
  });
  return {
    bound: bound.sentence,
    statuses,
    alone,
    beside,
    rssBefore,
    rssPeak: memoryOf(gateway.pid, "VmHWM"),
    cgroupPeak: bound.peakBytes(),
    hasCrashed: !(await isThere(gateway.url)),
  };
}

/** Small requests of another key, one after the other, until `end`. */
async function probe({ url, key }: Gateway, end: Promise<unknown>): Promise<Waits> {
  let isOver = false;
  void end.then(() => (isOver = true));
  const waits: number[] = [];
  let failed = 0;
  while (!isOver) {
    const begun = performance.now();
    const isGood = await ask(url, key).catch(() => false);
    if (isGood) waits.push(performance.now() - begun);
    else failed += 1;
    await Bun.sleep(PROBE_MS);
  }
  const sorted = waits.toSorted((a, b) => a - b);
  const at = (share: number): number => percentile(sorted, share);
  return { count: waits.length, failed, p50: at(0.5), p99: at(0.99), most: at(1) };
}

async function ask(url: string, key: string): Promise<boolean> {
  const answer = await fetch(`${url}/api/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "openai/gpt-5.6-luna", messages: [{ role: "user", content: "Hello." }] }),
  });
  await answer.text();
  return answer.status === 200;
}

async function isThere(url: string): Promise<boolean> {
  return fetch(`${url}/healthz`).then(
    ({ status }) => status === 200,
    () => false,
  );
}

/** Resident memory of a process, now or at its most, in bytes; 0 when it is gone. */
export function memoryOf(pid: number, field: "VmRSS" | "VmHWM"): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

const mib = (bytes: number | undefined): string => (bytes === undefined ? "–" : (bytes / MIB).toFixed(0));
const ms = (value: number): string => value.toFixed(value < 10 ? 1 : 0);

/** The results as a table in Markdown. */
export function bodiesTable(results: readonly BodiesResult[]): string {
  const rows = results.map(({ statuses, alone, beside, ...result }, i) =>
    [
      i === 0 ? "one" : String(KEYS),
      statuses.map(([status, count]) => `${count} × ${status}`).join(", "),
      statuses.map(([status, , p50, most]) => `${status}: ${ms(p50)} / ${ms(most)}`).join("; "),
      `${ms(alone.p50)} / ${ms(alone.p99)} / ${ms(alone.most)}`,
      `${ms(beside.p50)} / ${ms(beside.p99)} / ${ms(beside.most)} (${beside.count}, ${beside.failed} failed)`,
      `${mib(result.rssBefore)} / ${mib(result.rssPeak)}`,
      mib(result.cgroupPeak),
      result.hasCrashed ? "YES" : "no",
    ].join(" | "),
  );
  return [
    `${UPLOADS} bodies of ${BODY_BYTES / 1e6} MB at once; ${results[0]?.bound ?? ""}.`,
    "",
    "| keys | answers | ms to the answer, p50 / most | others alone, ms p50 / p99 / most | others beside them | resident MiB before / most so far | cgroup's most MiB | crashed |",
    "|---|---|---|---|---|---|---|---|",
    ...rows.map((row) => `| ${row} |`),
  ].join("\n");
}
