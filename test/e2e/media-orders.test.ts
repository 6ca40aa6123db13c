import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { createFastClock } from "../gateway/fast-clock.ts";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { startDashscopeDouble } from "../upstream/media/dashscope-double.ts";
import { environmentOf } from "../upstream/media/doubles.ts";
import { startFalDouble } from "../upstream/media/fal-double.ts";
import type { MediaDouble } from "../upstream/media/media-double.ts";
import { type Asked, ended, isVideo, qwen, told, wan } from "./media-vendors.ts";

// Two makers of the same models. The order that the operator sets for a model, and that which a client asks for, decide
// which of them is asked first.

const HEADER = "x-switchyard-route";
const SETTINGS = {
  tasks: { lease_seconds: 3_600 },
  routing: {
    breaker_failures: 0,
    models: {
      "alibaba/wan-2.6": {
        by: "cost",
        routes: [
          { provider: "dashscope", cost: { second: 0.08 } },
          {
            provider: "fal",
            cost: { second: [{ when: { resolution: "1080p" }, price: 0.12 }, { price: 0.05 }] },
          },
        ],
      },
      "alibaba/qwen-image-2.0": {
        by: "weight",
        routes: [
          { provider: "dashscope", weight: 1e-6 },
          { provider: "fal", weight: 1e6 },
        ],
      },
    },
  },
};

/** A gateway over both makers, with a key whose requests may ask for a route. */
interface Site {
  readonly gateway: TestGateway;
  readonly key: string;
}

let first: MediaDouble;
let second: MediaDouble;
let site: Site;

/** Its clock runs so many times as fast as the machine's. */
async function openSite(times: number): Promise<Site> {
  const hosts = [first, second].map(({ files }) => new URL(files.url).host);
  const gateway = await startGateway({
    clock: createFastClock(times),
    environment: {
      ...environmentOf("dashscope", first, UPSTREAM_KEY),
      ...environmentOf("fal", second, UPSTREAM_KEY),
    },
    settings: JSON.stringify({ ...SETTINGS, outbound: { allowed_hosts: hosts } }),
  });
  const terms = { account_id: gateway.accountId, name: "routes", routes: true };
  const { json } = await gateway.admin("POST", "/keys", terms);
  return { gateway, key: json.key };
}

async function closeSite({ gateway }: Site): Promise<void> {
  const { json } = await gateway.admin("GET", "/audit");
  expect(json.checks.filter((check: Json) => !check.ok)).toEqual([]);
  await gateway.close();
}

beforeAll(async () => {
  [first, second] = await Promise.all([startDashscopeDouble(UPSTREAM_KEY), startFalDouble(UPSTREAM_KEY)]);
  site = await openSite(20);
});
afterAll(async () => {
  await closeSite(site);
  await Promise.all([first.close(), second.close()]);
});
afterEach(() => {
  for (const double of [first, second]) double.reset();
});

/** Who makes it, asked in an order of the client's own or in none. */
async function makerOf(asked: Asked, by?: string, { gateway, key } = site): Promise<string> {
  const headers = by === undefined ? {} : { [HEADER]: by };
  const task = await ended(gateway, asked, { authorization: `Bearer ${key}`, ...headers });
  expect(told(task)).toStartWith("completed");
  const { json } = await gateway.admin("GET", "/tasks?limit=1");
  expect(json.data[0].id).toBe(task.id);
  return json.data[0].provider;
}

test("by cost: that of a second as it is asked for, which the books then have", async () => {
  expect(await makerOf(wan)).toBe("fal");
  expect(await makerOf({ ...wan, resolution: "1080p" })).toBe("dashscope");
  expect([first.accepted.length, second.accepted.length]).toEqual([1, 1]);
  const { gateway } = site;
  const { json } = await gateway.admin("GET", `/requests?account_id=${gateway.accountId}&limit=2`);
  expect(json.data.map((row: Json) => [row.provider, row.cost])).toEqual([
    ["dashscope", 4_000],
    ["fal", 2_500],
  ]);
});

test("by weight", async () => {
  expect(await makerOf(qwen)).toBe("fal");
});

test("as the client asks, where its key may", async () => {
  expect(await makerOf(wan, "order")).toBe("dashscope");
  expect(await makerOf(qwen, "order")).toBe("dashscope");
  expect(await makerOf(wan, "cost")).toBe("fal");
});

test("the dearer makes it where the cheaper takes no work", async () => {
  second.fault("video", { instead: jsonAnswer(429, { detail: "Too many." }) });
  expect(await makerOf(wan)).toBe("dashscope");
});

test("by latency: how long each took of late, which the operator sees", async () => {
  // What is of late is long enough on a machine that is busy.
  const slow = await openSite(4);
  await makerOf(qwen, "order", slow);
  await makerOf(qwen, "weight", slow);
  const { json } = await slow.gateway.admin("GET", "/routes?model=alibaba/qwen-image-2.0");
  const rows: readonly Json[] = json.data;
  expect(rows.map(({ provider }) => provider)).toEqual(["dashscope", "fal"]);
  for (const { latency_ms } of rows) expect(latency_ms).toBeNumber();
  const [fastest] = rows.toSorted((a, b) => a.latency_ms - b.latency_ms);
  expect(await makerOf(qwen, "latency", slow)).toBe(fastest?.provider);
  await closeSite(slow);
});

for (const asked of [wan, { ...qwen, async: true }])
  test(`${isVideo(asked) ? "a video" : "an image"} is refused an order that its key may not choose, or that there is not`, async () => {
    const { gateway, key } = site;
    const path = isVideo(asked) ? "/api/v1/videos" : "/api/v1/images/generations";
    const refused = async (headers: Record<string, string>): Promise<unknown> => {
      const response = await gateway.post(path, asked, { headers });
      return [response.status, ((await response.json()) as Json).error.param];
    };
    expect(await refused({ [HEADER]: "cost" })).toEqual([400, HEADER]);
    expect(await refused({ [HEADER]: "best", authorization: `Bearer ${key}` })).toEqual([400, HEADER]);
    expect((await gateway.account()).held).toBe(0);
    expect([first.accepted.length, second.accepted.length]).toEqual([0, 0]);
  });
