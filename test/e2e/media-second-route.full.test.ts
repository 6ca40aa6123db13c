import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { createFastClock } from "../gateway/fast-clock.ts";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer } from "../upstream/answer.ts";
import { redirectTo, resetAt } from "../upstream/faults.ts";
import { startDashscopeDouble } from "../upstream/media/dashscope-double.ts";
import { environmentOf } from "../upstream/media/doubles.ts";
import { startFalDouble } from "../upstream/media/fal-double.ts";
import type { Fault, MediaDouble } from "../upstream/media/media-double.ts";
import { ask, type Asked, balanceOf, ended, isVideo, qwen, told, wan } from "./media-vendors.ts";

// A second maker of the same models behind the first, over real sockets. The tests check which of them makes an image
// or a video, how often each takes it, and what it costs.

let first: MediaDouble;
let second: MediaDouble;
let gateway: TestGateway;

beforeAll(async () => {
  [first, second] = await Promise.all([startDashscopeDouble(UPSTREAM_KEY), startFalDouble(UPSTREAM_KEY)]);
  gateway = await startGateway({
    clock: createFastClock(20),
    environment: {
      ...environmentOf("dashscope", first, UPSTREAM_KEY),
      ...environmentOf("fal", second, UPSTREAM_KEY),
    },
    settings: [
      `outbound: { allowed_hosts: ${JSON.stringify([first, second].map(({ files }) => new URL(files.url).host))} }`,
      "tasks: { lease_seconds: 3600 }",
      // Each row begins as if none had been before it.
      "routing: { breaker_failures: 0, models: { alibaba/wan-2.6: { routes: [{ provider: dashscope, cost: { second: 0.02 } }, { provider: fal, cost: { second: 0.03 } }] } } }",
    ].join("\n"),
  });
});
afterAll(async () => {
  const { json } = await gateway.admin("GET", "/audit");
  expect(json.checks.filter((check: Json) => !check.ok)).toEqual([]);
  await gateway.close();
  await Promise.all([first.close(), second.close()]);
});
afterEach(() => {
  for (const double of [first, second]) double.reset();
});

const KINDS: readonly Asked[] = [{ ...qwen, n: 1 }, wan];
const costOf = (asked: Asked): number => (isVideo(asked) ? 5_000 : 350);
const stageOf = (asked: Asked) => (isVideo(asked) ? "video" : "images");
const refusal = (status: number, code: string): Fault => ({
  instead: jsonAnswer(status, { code, message: `${code}: no`, request_id: "double" }),
});
/** A limit that one request exceeds; the sentence of OpenAI names the operator's account. */
const BEYOND = "Request too large for x in organization org-1 on images per min (IPM): Limit 1, Requested 2.";
const beyond = (answer: Json): Fault => ({ instead: jsonAnswer(429, answer) });
const after = (change: (answer: Answer) => Answer): Fault => ({ after: change });

/** How the route to the first maker fares. */
async function firstRoute({ model }: Asked): Promise<Json> {
  const path = `/routes?provider=dashscope&model=${encodeURIComponent(model)}`;
  return (await gateway.admin("GET", path)).json.data[0];
}

interface Row {
  readonly name: string;
  readonly faults: readonly Fault[];
  /** How often the first and the second took it. */
  readonly taken: readonly [number, number];
  /** Whether nothing is made of it. */
  readonly fails?: true;
  /** Why the first route has failed, as the states have it; absent: it has not. */
  readonly reason?: string;
}

const ROWS: readonly Row[] = [
  { name: "U19: 401", faults: [refusal(401, "InvalidApiKey")], taken: [0, 1], reason: "credential_refused" },
  { name: "U19: 403", faults: [refusal(403, "AccessDenied")], taken: [0, 1], reason: "credential_refused" },
  {
    name: "a bill that is not paid",
    faults: [refusal(400, "Arrearage")],
    taken: [0, 1],
    reason: "credential_refused",
  },
  {
    name: "U20: the model is gone",
    faults: [refusal(404, "ModelNotFound")],
    taken: [0, 1],
    reason: "model_unknown",
  },
  { name: "U23: 429", faults: [refusal(429, "Throttling")], taken: [0, 1], reason: "rate_limited" },
  {
    name: "U23: 429, beyond the credential's limit",
    faults: [beyond({ code: "Throttling", message: BEYOND })],
    taken: [0, 1],
  },
  { name: "U27: 503", faults: [refusal(503, "ServiceUnavailable")], taken: [0, 1], reason: "failed" },
  {
    name: "U29: a redirect",
    faults: [{ instead: redirectTo("http://169.254.169.254/latest/meta-data", 307) }],
    taken: [0, 0],
    fails: true,
    reason: "redirected",
  },
  {
    name: "U8: a reset after sending",
    faults: [after((answer) => resetAt(answer, "start"))],
    taken: [2, 0],
    reason: "reset",
  },
  { name: "U25: 500", faults: [refusal(500, "InternalError")], taken: [1, 0], reason: "failed" },
  {
    name: "U26: 502 of what was taken",
    faults: [after(() => ({ status: 502, body: "<html>" }))],
    taken: [2, 0],
    reason: "bad_gateway",
  },
  { name: "U17: invalid", faults: [refusal(400, "InvalidParameter")], taken: [0, 0], fails: true },
  { name: "U18: moderation", faults: [refusal(400, "DataInspectionFailed")], taken: [0, 0], fails: true },
  { name: "U22: too large", faults: [refusal(413, "TooLarge")], taken: [0, 0], fails: true },
];

for (const asked of KINDS)
  describe(`${isVideo(asked) ? "a video" : "an image"} whose first maker answers with`, () => {
    for (const { name, faults, taken, fails, reason } of ROWS)
      test(`${name}: taken ${taken.join(" and ")} times`, async () => {
        first.fault(stageOf(asked), ...faults);
        const failed = (await firstRoute(asked)).failed;
        const before = await balanceOf(gateway);
        const task = await ended(gateway, asked);
        expect(told(task)).toStartWith(fails === true ? "failed" : `completed 1 ${costOf(asked)}`);
        expect([first.accepted.length, second.accepted.length]).toEqual([...taken]);
        expect(before - (await balanceOf(gateway))).toBeCloseTo(task.credit ?? 0, 6);
        const { json } = await gateway.admin("GET", `/requests?account_id=${gateway.accountId}&limit=1`);
        const by = taken[1] > 0 ? "fal" : "dashscope";
        expect(json.data[0]).toMatchObject({ provider: by, attempts: { length: fails === true ? 1 : 2 } });
        const route = await firstRoute(asked);
        expect(route.failed - failed).toBe(reason === undefined ? 0 : 1);
        if (reason !== undefined) expect(route.last_failure.reason).toBe(reason);
        if (isVideo(asked) && fails !== true) expect(json.data[0].cost).toBe(by === "fal" ? 1_500 : 1_000);
      });
  });

test("U3: nobody is at the first: the second makes it, and the first is asked once", async () => {
  const gone = await startDashscopeDouble(UPSTREAM_KEY);
  const environment = {
    ...environmentOf("dashscope", gone, UPSTREAM_KEY),
    ...environmentOf("fal", second, UPSTREAM_KEY),
  };
  await gone.close();
  const other = await startGateway({
    clock: createFastClock(20),
    environment,
    settings: `outbound: { allowed_hosts: ["${new URL(second.files.url).host}"] }\ntasks: { lease_seconds: 3600 }`,
  });
  for (const asked of KINDS) expect(told(await ended(other, asked))).toBe(`completed 1 ${costOf(asked)}`);
  expect(second.accepted).toHaveLength(2);
  await other.close();
});

test("a field that the second cannot be asked for keeps a task with the first, however often that refuses", async () => {
  const asked = { ...wan, input_references: ["https://a.example/b.png"] };
  first.fault("video", refusal(429, "Throttling"), refusal(429, "Throttling"));
  expect(told(await ended(gateway, asked))).toStartWith("completed 1");
  expect([first.accepted.length, second.accepted.length]).toEqual([1, 0]);
});

test("U23: both say that the request alone is beyond their limits: it fails at once, free, and both stay healthy", async () => {
  for (const asked of KINDS) {
    first.fault(stageOf(asked), beyond({ code: "Throttling", message: BEYOND }));
    second.fault(stageOf(asked), beyond({ detail: BEYOND }));
    const before = await balanceOf(gateway);
    const task = await ended(gateway, asked);
    expect(told(task)).toBe(isVideo(asked) ? "failed" : "failed input_too_large");
    expect(JSON.stringify(task)).toContain("waiting does not help");
    expect(JSON.stringify(task)).not.toContain("org-1");
    expect(before - (await balanceOf(gateway))).toBe(0);
    const { json } = await gateway.admin("GET", `/requests?account_id=${gateway.accountId}&limit=1`);
    expect(json.data[0]).toMatchObject({ attempts: { length: 2 }, outcome: "input_too_large", credit: 0 });
    const routes = await gateway.admin("GET", `/routes?model=${encodeURIComponent(asked.model)}`);
    expect(routes.json.data.map(({ state }: Json) => state)).toEqual(["healthy", "healthy"]);
  }
  first.fault("images", beyond({ code: "Throttling", message: BEYOND }));
  second.fault("images", beyond({ detail: BEYOND }));
  const waited = await ask(gateway, { ...qwen, n: 1 }, false);
  expect(waited.status).toBe(400);
  expect(((await waited.json()) as Json).error).toMatchObject({ type: "input_too_large" });
  expect([first.accepted.length, second.accepted.length]).toEqual([0, 0]);
});

test("both refuse: nothing is charged, and nothing is taken", async () => {
  first.fault("video", refusal(401, "InvalidApiKey"));
  second.fault("video", { instead: jsonAnswer(401, { detail: "Invalid key." }) });
  const before = await balanceOf(gateway);
  expect(told(await ended(gateway, wan))).toBe("failed");
  expect(before - (await balanceOf(gateway))).toBe(0);
  expect([first.accepted.length, second.accepted.length]).toEqual([0, 0]);
});
