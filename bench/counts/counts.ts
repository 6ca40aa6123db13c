import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { traceCalls } from "../../test/crash/strace.ts";
import { markdownTable } from "../figures/table.ts";
import { startGateway } from "../gateway.ts";
import { runLoadTool } from "../load-tool.ts";
import { startServer } from "../processes.ts";
import { requestOf, scenesNamed } from "../scenes.ts";
import { linesOf } from "../stage.ts";
import type { Limit } from "./limits.ts";
import { COUNTED, type Counted, COUNTERS } from "./names.ts";
import { countSyncs, syncedFiles, TRACED } from "./syncs.ts";

/** What one request came to. */
export interface Count {
  readonly limit: Limit;
  readonly what: Counted;
  readonly each: number;
  readonly most: number;
}

/** Those of the first requests that are not counted, and those that are, by how many are under way. */
const WARM_REQUESTS = 20;
const REQUESTS = { 1: 100, 64: 640 };
const SECONDS = 60;
/** Until commits, log lines and timers of the last request are done. */
const REST_MS = 300;
/** The bench looks for the gateway's count so often, and gives up after so many looks. */
const LOOK_MS = 5;
const MOST_LOOKS = 2_000;

/** Counts requests in a gateway of their own; needs strace, and a folder that is empty. */
export async function countRequests(limit: Limit, folder: string): Promise<Count[]> {
  const came = await countEach(limit, folder);
  return (Object.keys(COUNTED) as Counted[]).flatMap((what) => {
    const most = limit.most[what];
    return most === undefined ? [] : [{ limit, what, each: came[what], most }];
  });
}

async function countEach({ scene: name, atOnce }: Limit, folder: string): Promise<Record<Counted, number>> {
  const scene = scenesNamed([name]).find((found) => found.name === name);
  if (scene === undefined) throw new Error(`there is no scene ${name}`);
  const request = requestOf(scene);
  const files = {
    body: join(folder, "body.json"),
    counters: join(folder, "counters"),
    trace: join(folder, "trace"),
  };
  writeFileSync(files.body, linesOf(request.clientBodies));
  writeFileSync(files.counters, new Float64Array(COUNTERS.length));
  const entry = join(import.meta.dir, "../../test/upstream/double-server.ts");
  const answers = ["--format", scene.spoken.name, "--path", request.upstreamPath, ...scene.mode.upstream];
  const double = await startServer({ on: [], args: [entry, ...answers] });
  const gateway = await startGateway({
    folder,
    upstreamUrl: double.url,
    on: [],
    flags: ["--preload", join(import.meta.dir, "injected.ts")],
    // What a rehearsal does is not of the requests. Nothing is collected, so that what was made can be counted.
    env: { SWITCHYARD_WARM_UP: "off", BUN_JSC_useGC: "0" },
  });
  const counters = new Float64Array(Bun.mmap(files.counters).buffer);
  const objectsMade = async (): Promise<number> => {
    const place = COUNTERS.indexOf("objects");
    counters[place] = 0;
    process.kill(gateway.pid, "SIGUSR2");
    for (let looks = 0; counters[place] === 0; looks += 1) {
      if (looks === MOST_LOOKS) throw new Error("the gateway does not count its objects");
      await Bun.sleep(LOOK_MS);
    }
    return counters[place];
  };
  const ask = async (requests: number): Promise<void> => {
    const url = gateway.url + request.clientPath;
    const plan = { "body-file": files.body, concurrency: atOnce, requests, seconds: SECONDS };
    await runLoadTool({ name, options: { url, bearer: gateway.key, ...plan }, on: [] });
    await Bun.sleep(REST_MS);
  };
  await ask(WARM_REQUESTS);
  const synced = syncedFiles(gateway.pid);
  const tracing = await traceCalls(gateway.pid, ["-y", "-e", TRACED, "-o", files.trace]);
  const before = await objectsMade();
  counters.fill(0);
  await ask(REQUESTS[atOnce]);
  await tracing.end();
  const [statements = 0, messages = 0, read = 0, searched = 0, turns = 0] = Array.from(counters);
  const objects = (await objectsMade()) - before;
  const syncs = countSyncs(readFileSync(files.trace, "utf8"), synced);
  for (const child of [gateway, double]) await child.stop();
  const each = (count: number): number => count / REQUESTS[atOnce];
  const sizes = request.clientBodies.map(({ length }) => length);
  const bytes = sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
  return {
    syncs: each(syncs),
    statements: each(statements),
    messages: each(messages),
    objects: each(objects),
    reads: each(read) / bytes,
    scans: each(searched + turns) / bytes,
  };
}

/** The counts as a table in Markdown. */
export function countsTable(counts: readonly Count[]): string {
  return markdownTable(
    ["scene", "at once", "of each request", "count", "limit"],
    counts.map(({ limit, what, each, most }) => [
      limit.scene,
      String(limit.atOnce),
      COUNTED[what],
      each.toFixed(3),
      `${each <= most ? "✓" : "✗"} ≤ ${most}`,
    ]),
  );
}
