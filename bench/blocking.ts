import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { BLOCKING_BODIES } from "./blocking-bodies.ts";
import { type Gateway, startGateway } from "./gateway.ts";
import { median, percentile } from "./percentile.ts";
import { runToEnd, startServer } from "./processes.ts";
import type { StageForm } from "./stage.ts";

/** How long others waited while one body was read and sent on. */
export interface BlockingRow {
  readonly name: string;
  readonly bytes: number;
  readonly status: number;
  /** Until it was answered, in milliseconds. */
  readonly ms: number;
  /** The longest that a `GET /healthz` took in each run, in milliseconds. */
  readonly longest: readonly number[];
}

/** What nothing but waiting costs: the same of no body at all, and how many rounds each body is sent. */
const IDLE_MS = 3_000;
const RUNS = 3;
const PROBE_MS = 2;

/** Sends bodies that take long, one at a time, and asks for something small all the while. */
export async function measureBlocking(
  form: StageForm,
  report: (line: string) => void,
): Promise<readonly BlockingRow[]> {
  const vendor = await startServer({ on: [], args: [join(import.meta.dir, "maker-server.ts")] });
  const folder = join(form.folder, "blocking");
  mkdirSync(folder, { recursive: true });
  const gateway = await startGateway({
    folder,
    upstreamUrl: vendor.url,
    // Its threads need a core of their own.
    on: [],
  });
  const rows: BlockingRow[] = [
    {
      name: "nothing",
      bytes: 0,
      status: 0,
      ms: IDLE_MS,
      longest: [await probe(gateway, Bun.sleep(IDLE_MS))],
    },
  ];
  for (const [i, { name }] of BLOCKING_BODIES.entries()) {
    report(`blocking: ${name} …`);
    rows.push({ name, ...(await measureBody(gateway, i)) });
  }
  for (const child of [gateway, vendor]) await child.stop();
  return rows;
}

async function measureBody(gateway: Gateway, number: number): Promise<Omit<BlockingRow, "name">> {
  const longest: number[] = [];
  const times: number[] = [];
  let last = { bytes: 0, status: 0, ms: 0 };
  for (let run = 0; run < RUNS; run += 1) {
    const posting = runToEnd({
      on: [],
      args: [join(import.meta.dir, "blocking-post.ts"), gateway.url, gateway.key, String(number)],
    });
    longest.push(await probe(gateway, posting));
    last = JSON.parse((await posting).output) as typeof last;
    times.push(last.ms);
  }
  return { ...last, ms: median(times), longest };
}

/** The longest answer to a small request until `end`, in milliseconds. */
async function probe({ url }: Gateway, end: Promise<unknown>): Promise<number> {
  let isOver = false;
  void end.then(() => (isOver = true));
  let longest = 0;
  while (!isOver) {
    const begun = performance.now();
    await (await fetch(`${url}/healthz`)).arrayBuffer();
    longest = Math.max(longest, performance.now() - begun);
    await Bun.sleep(PROBE_MS);
  }
  return longest;
}

/** The rows as a table in Markdown. */
export function blockingTable(rows: readonly BlockingRow[]): string {
  const lines = rows.map(({ name, bytes, status, ms, longest }) =>
    [
      name,
      (bytes / 1e6).toFixed(1),
      status === 0 ? "–" : String(status),
      ms.toFixed(0),
      `${median(longest).toFixed(0)} (${percentile(
        longest.toSorted((a, b) => a - b),
        1,
      ).toFixed(0)})`,
    ].join(" | "),
  );
  return [
    "One body at a time; meanwhile another client asks for `/healthz`, again 2 ms after each answer.",
    "",
    `| body | MB | answered with | after ms | others waited at the longest, ms, median of ${RUNS} (most) |`,
    "|---|---|---|---|---|",
    ...lines.map((line) => `| ${line} |`),
  ].join("\n");
}
