import { afterAll, afterEach, beforeAll, expect } from "bun:test";
import { type Clock, systemClock } from "../../src/core/time/clock.ts";
import { DEFAULT_TIMEOUTS } from "../../src/gateway/timeouts.ts";
import { createFastClock } from "../gateway/fast-clock.ts";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { DOUBLES, environmentOf, type Vendor, VENDORS } from "../upstream/media/doubles.ts";
import type { MediaDouble } from "../upstream/media/media-double.ts";

export type { Vendor };

/** A request as a client makes it. */
export interface Asked {
  readonly model: string;
  readonly [name: string]: unknown;
}

/** A vendor's double, and a gateway that has the key of this vendor and of no other that serves its models. */
export interface Station {
  readonly double: MediaDouble;
  readonly gateway: TestGateway;
}

/**
 * Vendors whose gateway is one: makers of their own models. The other two serve everybody's. Others may stand behind
 * them.
 */
const TOGETHER: readonly { readonly first: readonly Vendor[]; readonly second: readonly Vendor[] }[] = [
  { first: ["openai", "google", "dashscope", "ark", "midjourney"], second: ["fal", "wavespeed"] },
  { first: ["fal"], second: ["wavespeed"] },
  { first: ["wavespeed"], second: ["fal"] },
];

/**
 * Opens a station for each vendor around the tests of a file, with a fast clock. After each test it checks that the
 * credential went to the vendor's own server alone. It checks that a second maker of its models, where there is one,
 * took no work. At the end it audits the books.
 */
export function openStations(
  times: number,
  { hasSecond = false }: { readonly hasSecond?: boolean } = {},
): (vendor: Vendor) => Station {
  const stations = new Map<Vendor, Station>();
  const seconds: MediaDouble[] = [];
  beforeAll(async () => {
    for (const { first, second } of TOGETHER) {
      const started = await Promise.all(first.map(startDouble));
      const others = await Promise.all(hasSecond ? second.map(startDouble) : []);
      seconds.push(...others.map(({ double }) => double));
      const gateway = await openGateway([...started, ...others], times);
      for (const { vendor, double } of started) stations.set(vendor, { double, gateway });
    }
    expect([...stations.keys()].sort()).toEqual(VENDORS.toSorted());
  });
  afterAll(async () => {
    for (const gateway of new Set([...stations.values()].map((station) => station.gateway))) {
      const { json } = await gateway.admin("GET", "/audit");
      expect(json.checks.filter((check: Json) => !check.ok)).toEqual([]);
      await gateway.close();
    }
    for (const double of [...[...stations.values()].map(({ double }) => double), ...seconds])
      await double.close();
  });
  afterEach(() => {
    const taken = seconds.flatMap(({ accepted }) => accepted.map(({ model }) => model));
    // Before it is looked at, so that one that took work fails one test.
    for (const second of seconds) second.reset();
    expect(taken).toEqual([]);
    for (const { double } of stations.values()) {
      const named = double.files.requests.filter(({ headers }) =>
        headers.some(([, value]) => value.includes(UPSTREAM_KEY)),
      );
      expect(named).toEqual([]);
      expect(double.upstream.brokenRequests).toEqual([]);
      double.reset();
    }
  });
  return (vendor) => {
    const station = stations.get(vendor);
    if (station === undefined) throw new Error(`${vendor} was not started.`);
    return station;
  };
}

interface StartedDouble {
  readonly vendor: Vendor;
  readonly double: MediaDouble;
}

async function startDouble(vendor: Vendor): Promise<StartedDouble> {
  return { vendor, double: await DOUBLES[vendor](UPSTREAM_KEY) };
}

/** Where several make a model, those that are named first do. */
function openGateway(started: readonly StartedDouble[], times: number): Promise<TestGateway> {
  const hosts = started.map(({ double }) => new URL(double.files.url).host);
  const routes = started.map(({ vendor }) => ({ provider: vendor }));
  const models =
    started[0]?.vendor === "wavespeed" ? { [qwen.model]: { routes }, [wan.model]: { routes } } : {};
  return startGateway({
    clock: withTimeToConnect(createFastClock(times)),
    environment: Object.assign(
      {},
      ...started.map(({ vendor, double }) => environmentOf(vendor, double, UPSTREAM_KEY)),
    ),
    // A lease that runs out as fast as time does would be lost on a busy machine.
    settings: JSON.stringify({
      outbound: { allowed_hosts: hosts },
      tasks: { lease_seconds: 3600 },
      routing: { attempts: 1, breaker_failures: 0, models },
    }),
  });
}

export const isVideo = ({ model }: Asked): boolean => /wan|seedance/.test(model);

/** Asks for it, as a task unless the client waits. */
export function ask(
  gateway: TestGateway,
  asked: Asked,
  isAsync = true,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return isVideo(asked)
    ? gateway.post("/api/v1/videos", asked, { headers })
    : gateway.post(
        "/api/v1/images/generations",
        { ...asked, ...(isAsync ? { async: true } : {}) },
        { headers },
      );
}

/** The task of a request, once it has ended. */
export async function ended(
  gateway: TestGateway,
  asked: Asked,
  headers: Readonly<Record<string, string>> = {},
): Promise<Json> {
  const response = await ask(gateway, asked, true, headers);
  const task = (await response.json()) as Json;
  expect([response.status, task.error?.message]).toEqual([202, undefined]);
  const until = performance.now() + 30_000;
  for (;;) {
    const json = await readTask(gateway, task);
    if (["completed", "failed", "cancelled"].includes(json.status)) return json;
    if (performance.now() > until) throw new Error(`The task is still ${json.status}.`);
    await Bun.sleep(10);
  }
}

export async function readTask(gateway: TestGateway, { polling_url }: Json): Promise<Json> {
  const headers = { authorization: `Bearer ${gateway.key}` };
  return (await fetch(gateway.url + polling_url, { headers })).json();
}

/** `completed <files> <credit>`, or `failed <type>`: tasks of videos tell no type. */
export function told(task: Json): string {
  const { status, error } = task;
  if (status !== "completed") {
    expect(task.credit).toBeUndefined();
    return `failed ${error?.type ?? ""}`.trim();
  }
  return `completed ${urlsOf(task).length} ${task.credit}`;
}

export function urlsOf(task: Json): string[] {
  return task.output === undefined ? task.data.map(({ url }: Json) => url) : task.output.urls;
}

/** What an account has once everything is booked. */
export async function balanceOf(gateway: TestGateway): Promise<number> {
  await gateway.settled();
  return (await gateway.account()).balance;
}

export const IMAGE = "https://a.example/b.png";
export const INLINE =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** A request of each model. */
export const qwen = { model: "alibaba/qwen-image-2.0", prompt: "Fox.", n: 2, seed: 7, size: "1024*768" };
export const gemini = {
  model: "google/gemini-3-pro-image",
  prompt: "Fox.",
  image_size: "2K",
  aspect_ratio: "16:9",
};
export const journey = {
  model: "midjourney/midjourney",
  prompt: "Fox.",
  aspect_ratio: "16:9",
  seed: 7,
  stylize: 250,
};
export const gpt = { model: "openai/gpt-image-2", prompt: "Fox.", n: 2, quality: "medium" };
export const edit = { model: "openai/gpt-image-2/edit", prompt: "Night.", image: [INLINE] };
export const wan = { model: "alibaba/wan-2.6", prompt: "Waves.", seed: 7, negative_prompt: "Rain." };
export const seedance = {
  model: "bytedance/seedance-2.0",
  prompt: "Waves.",
  seed: 7,
  aspect_ratio: "9:16",
};
export const fast = {
  model: "bytedance/seedance-2.0-fast",
  prompt: "Waves.",
  frame_images: [IMAGE, INLINE],
};

/**
 * A provider may take as long to connect as it may by the machine's clock. A fast clock would leave it a fifth of a
 * second.
 */
function withTimeToConnect(fast: Clock): Clock {
  const { connectMs } = DEFAULT_TIMEOUTS.image;
  return {
    ...fast,
    setTimer: (delayMs, run) => (delayMs === connectMs ? systemClock : fast).setTimer(delayMs, run),
  };
}
