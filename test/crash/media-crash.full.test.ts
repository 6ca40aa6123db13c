import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { FailpointName } from "../../src/core/failpoint.ts";
import { SQLITE } from "../gateway/engines.ts";
import { ADMIN_TOKEN, type Json } from "../gateway/gateway.ts";
import { type GatewayProcess, startProcess, temporaryFolder } from "../gateway/process.ts";
import { LONG } from "../runs.ts";
import { startDashscopeDouble } from "../upstream/media/dashscope-double.ts";
import { KILLED, urlUnlessKilled } from "./station.ts";

// A gateway that is killed at every step of an image and of a video, and started again (K15 to K25). The task comes to
// its end, and its client pays once. The provider receives the task exactly once, but for the one gap that cannot be
// closed. Mixed work on both engines is in `tasks/`.

type Kind = "image" | "video";

interface Point {
  readonly rows: string;
  readonly name: FailpointName;
  readonly kind: Kind;
  /** How often the provider took the work, over both runs. */
  readonly taken: number;
  /** Left out unless the large counts are asked for. */
  readonly long?: true;
}

const POINTS: readonly Point[] = [
  { rows: "K15", name: "task.claimed", kind: "video", taken: 1, long: true },
  { rows: "K16", name: "task.attempted", kind: "video", taken: 1, long: true },
  // The gap: the provider has it, and what it calls it died with the process.
  { rows: "K17", name: "task.sent", kind: "video", taken: 2 },
  { rows: "K18", name: "task.job_noted", kind: "video", taken: 1 },
  { rows: "K19, K20", name: "task.polled", kind: "video", taken: 1, long: true },
  { rows: "K21", name: "task.downloading", kind: "video", taken: 1, long: true },
  { rows: "K22", name: "task.file_stored", kind: "video", taken: 1, long: true },
  { rows: "K24", name: "task.before_finish", kind: "video", taken: 1 },
  { rows: "K25", name: "task.after_finish", kind: "video", taken: 1, long: true },
  { rows: "K16", name: "task.attempted", kind: "image", taken: 1, long: true },
  // Of a call that makes it all there is no name to ask by: until its result is written, it is in the gap.
  { rows: "K17", name: "task.sent", kind: "image", taken: 2 },
  { rows: "K21", name: "task.downloading", kind: "image", taken: 2, long: true },
  { rows: "K22", name: "task.file_stored", kind: "image", taken: 2, long: true },
  { rows: "K24", name: "task.before_finish", kind: "image", taken: 2, long: true },
  { rows: "K25", name: "task.after_finish", kind: "image", taken: 1 },
];

const UPSTREAM_KEY = "sk-upstream-crash-0123456789";
const PATHS = { image: "/api/v1/images/generations", video: "/api/v1/videos" } as const;
const BODIES = {
  image: { model: "alibaba/qwen-image-2.0", prompt: "A lighthouse.", size: "512*512", async: true },
  video: { model: "alibaba/wan-2.6", prompt: "Waves." },
} as const;
const PRICE = { image: 350, video: 5_000 } as const;
const CREDITS = 100_000;

/** An installation with a provider that outlives it. */
async function openInstallation() {
  const double = await startDashscopeDouble(UPSTREAM_KEY);
  double.script({ runningPolls: 0 }, { runningPolls: 0 }, { runningPolls: 0 });
  const folder = temporaryFolder();
  const place = await SQLITE.newPlace();
  const settings = join(folder.path, "switchyard.yaml");
  writeFileSync(settings, `outbound: { allowed_hosts: ["${new URL(double.files.url).host}"] }\n`);
  const running = new Set<GatewayProcess>();
  return {
    double,
    start(failpoint?: string): GatewayProcess {
      const gateway = startProcess({
        ...place.environment,
        SWITCHYARD_CONFIG: settings,
        SWITCHYARD_ADMIN_TOKEN: ADMIN_TOKEN,
        DASHSCOPE_API_KEY: UPSTREAM_KEY,
        DASHSCOPE_BASE_URL: double.baseUrl,
        ...(failpoint === undefined ? {} : { SWITCHYARD_FAILPOINT: failpoint }),
      });
      running.add(gateway);
      void gateway.exited().then(() => running.delete(gateway));
      return gateway;
    },
    async remove() {
      for (const gateway of running) {
        gateway.child.kill("SIGKILL");
        await gateway.exited();
      }
      await double.close();
      await place.remove();
      folder.remove();
    },
  };
}

async function ask(url: string, method: string, path: string, token: string, body?: unknown): Promise<Json> {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return response.json();
}

async function openAccount(url: string): Promise<{ readonly id: string; readonly key: string }> {
  const admin = (path: string, body: unknown) => ask(url, "POST", `/admin/v1${path}`, ADMIN_TOKEN, body);
  const { id } = await admin("/accounts", { name: "one" });
  await admin(`/accounts/${id}/credits`, { amount: CREDITS, reason: "crash test" });
  const { key } = await admin("/keys", { account_id: id, name: "one" });
  return { id, key };
}

async function untilEnded(url: string, path: string, key: string): Promise<Json> {
  const until = performance.now() + 60_000;
  for (;;) {
    const task = await ask(url, "GET", path, key);
    if (["completed", "failed"].includes(task.status)) return task;
    if (performance.now() > until) throw new Error(`The task is still ${task.status}.`);
    await Bun.sleep(50);
  }
}

/** Dies at the point `deaths` times, then lives; tells the task's end, the balance, and how often it was taken. */
async function liveThrough(point: Pick<Point, "name" | "kind">, deaths: number) {
  const installation = await openInstallation();
  try {
    const { kind, name } = point;
    const first = installation.start(`${name}:kill`);
    const firstUrl = await first.ready();
    const account = await openAccount(firstUrl);
    const { polling_url: path } = await ask(firstUrl, "POST", PATHS[kind], account.key, BODIES[kind]);
    expect(await first.exited()).toBe(KILLED);
    for (let death = 2; death <= deaths; death += 1) {
      const next = installation.start(`${name}:kill`);
      await urlUnlessKilled(next);
      expect(await next.exited()).toBe(KILLED);
    }
    const last = installation.start();
    const url = await last.ready();
    const task = await untilEnded(url, path, account.key);
    const { balance, held } = await ask(url, "GET", `/admin/v1/accounts/${account.id}`, ADMIN_TOKEN);
    const audit = await ask(url, "GET", "/admin/v1/audit?full=true", ADMIN_TOKEN);
    expect(audit.checks.filter((check: Json) => !check.ok)).toEqual([]);
    const file = kind === "image" ? task.data?.[0]?.url : task.output?.urls[0];
    const status = file === undefined ? undefined : (await fetch(file)).status;
    const { accepted } = installation.double;
    return { status: task.status, spent: CREDITS - balance, held, file: status, taken: accepted.length };
  } finally {
    await installation.remove();
  }
}

/** So many at a time: most of the time each waits for its provider. */
const LANES = 4;

async function inLanes(points: readonly Point[], run: (point: Point) => Promise<void>): Promise<void> {
  const left = [...points];
  const lane = async (): Promise<void> => {
    for (let point = left.shift(); point !== undefined; point = left.shift()) await run(point);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

describe("a gateway killed amid a task", () => {
  const points = POINTS.filter(({ long }) => LONG || long !== true);

  test("goes on with it, at every step", async () => {
    const seen: Record<string, unknown> = {};
    await inLanes(points, async (point) => {
      seen[`${point.rows} ${point.name} ${point.kind}`] = await liveThrough(point, 1);
    });
    expect(seen).toEqual(
      Object.fromEntries(
        points.map(({ rows, name, kind, taken }) => [
          `${rows} ${name} ${kind}`,
          { status: "completed", spent: PRICE[kind], held: 0, file: 200, taken },
        ]),
      ),
    );
  }, 300_000);

  test("twice in the gap gives it up: no provider is given it a third time, and no client pays", async () => {
    expect(await liveThrough({ name: "task.sent", kind: "video" }, 2)).toEqual({
      status: "failed",
      spent: 0,
      held: 0,
      file: undefined,
      taken: 2,
    });
  }, 120_000);
});
