import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { createFastClock } from "../gateway/fast-clock.ts";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { redirectTo, resetAt } from "../upstream/faults.ts";
import { environmentOf } from "../upstream/media/doubles.ts";
import { startFalDouble } from "../upstream/media/fal-double.ts";
import type { Fault, MediaDouble } from "../upstream/media/media-double.ts";
import { startWavespeedDouble } from "../upstream/media/wavespeed-double.ts";
import { balanceOf, ended, qwen, told } from "./media-vendors.ts";

// Two images by two calls to their first maker, over real sockets, with a second maker behind it. What becomes of the
// task, its hold and the route where the calls fail in different ways.

let first: MediaDouble;
let second: MediaDouble;
let gateway: TestGateway;

beforeAll(async () => {
  [first, second] = await Promise.all([startWavespeedDouble(UPSTREAM_KEY), startFalDouble(UPSTREAM_KEY)]);
  const routes = [{ provider: "wavespeed" }, { provider: "fal" }];
  gateway = await startGateway({
    clock: createFastClock(20),
    environment: {
      ...environmentOf("wavespeed", first, UPSTREAM_KEY),
      ...environmentOf("fal", second, UPSTREAM_KEY),
    },
    settings: JSON.stringify({
      outbound: { allowed_hosts: [first, second].map(({ files }) => new URL(files.url).host) },
      tasks: { lease_seconds: 3600 },
      // It is for language calls: no image goes elsewhere for it.
      routing: {
        breaker_failures: 0,
        unsafe_retries: ["reset", 502, 504, "bad_answer"],
        models: { [qwen.model]: { routes } },
      },
    }),
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

const instead = (answer: ReturnType<typeof jsonAnswer>): Fault => ({ instead: answer });
const refusal = (status: number): Fault => instead(jsonAnswer(status, { code: status, message: "no" }));
const FAULTS = {
  "a 307": instead(redirectTo("http://169.254.169.254/latest/meta-data", 307)),
  "a 403": refusal(403),
  "a 401": refusal(401),
  "a 429": refusal(429),
  "a reset after sending": { after: (answer) => resetAt(answer, "start") },
} as const satisfies Readonly<Record<string, Fault>>;

/** Of the attempts of the last request, as its row has them. */
async function statuses(): Promise<unknown[]> {
  const { json } = await gateway.admin("GET", `/requests?account_id=${gateway.accountId}&limit=1`);
  return json.data[0].attempts.map(({ status }: Json) => status);
}

async function firstRoute(): Promise<Json> {
  const path = `/routes?provider=wavespeed&model=${encodeURIComponent(qwen.model)}`;
  return (await gateway.admin("GET", path)).json.data[0];
}

/** The credits of two images. */
const CHARGED = 700;

/** Two failures, what becomes of the task, why its route failed, and the status that decided, as the row has it. */
const ROWS = [
  // One of the servers may have begun: the task ends, and nobody else is asked.
  ["a 307", "a 403", "failed generation_error", "redirected", 307],
  ["a 307", "a 401", "failed generation_error", "redirected", 307],
  ["a 307", "a 429", "failed generation_error", "redirected", 307],
  ["a 307", "a reset after sending", "failed generation_error", "redirected", 307],
  // None has begun: the second maker makes both.
  ["a 403", "a 429", `completed 2 ${CHARGED}`, "credential_refused", 403],
] as const;

describe("two images of which the calls meet", () => {
  for (const [one, other, want, reason, status] of ROWS)
    for (const order of [
      [one, other],
      [other, one],
    ] as const)
      test(`${order.join(" and ")}: ${want}`, async () => {
        first.fault("images", ...order.map((name) => FAULTS[name]));
        const { failed } = await firstRoute();
        const before = await balanceOf(gateway);
        const task = await ended(gateway, { ...qwen, n: 2 });
        expect(told(task)).toBe(want);
        const isMade = want.startsWith("completed");
        expect(second.accepted).toHaveLength(isMade ? 1 : 0);
        expect(before - (await balanceOf(gateway))).toBeCloseTo(isMade ? CHARGED : 0, 6);
        const { held } = await gateway.account();
        const { json } = await gateway.admin("GET", `/requests?account_id=${gateway.accountId}&limit=1`);
        const outcome = isMade ? "completed" : "unfinished_upstream";
        expect([held, json.data[0].outcome, json.data[0].attempts.length]).toEqual([
          0,
          outcome,
          isMade ? 2 : 1,
        ]);
        expect(json.data[0].attempts[0].status).toBe(status);
        const route = await firstRoute();
        expect([route.failed - failed, route.last_failure.reason]).toEqual([1, reason]);
      });

  test("resets after sending: both are sent once more to the same maker, whatever language calls may do", async () => {
    const reset = FAULTS["a reset after sending"];
    first.fault("images", reset, reset);
    expect(told(await ended(gateway, { ...qwen, n: 2 }))).toBe(`completed 2 ${CHARGED}`);
    expect([first.accepted.length, second.accepted.length]).toEqual([4, 0]);
    expect(await statuses()).toEqual([null, 200]);
  });

  for (const order of [
    ["a reset after sending", "a 429"],
    ["a 429", "a reset after sending"],
  ] as const)
    test(`${order.join(" and ")}: the row says that the decisive call has no answer`, async () => {
      first.fault("images", ...order.map((name) => FAULTS[name]));
      expect(told(await ended(gateway, { ...qwen, n: 2 }))).toBe(`completed 2 ${CHARGED}`);
      expect(await statuses()).toEqual([null, 200]);
    });

  test("a 307 and an image: what was made is given, and it alone is charged", async () => {
    first.fault("images", FAULTS["a 307"]);
    const before = await balanceOf(gateway);
    expect(told(await ended(gateway, { ...qwen, n: 2 }))).toBe(`completed 1 ${CHARGED / 2}`);
    expect(before - (await balanceOf(gateway))).toBeCloseTo(CHARGED / 2, 6);
    expect(second.accepted).toEqual([]);
    expect(await statuses()).toEqual([200]);
  });
});
