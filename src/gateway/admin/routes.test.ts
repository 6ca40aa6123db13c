import { expect, test } from "bun:test";
import { createFakeClock } from "../../../test/gateway/fake-clock.ts";
import type { Model } from "../../core/model.ts";
import { systemRandom } from "../../core/random.ts";
import type { Provider } from "../../providers/provider.ts";
import type { Offer } from "../offer.ts";
import type { FailedCall } from "../routing/call-result.ts";
import { createHealth, type Place } from "../routing/health.ts";
import { offeredWays } from "../routing/offered-ways.ts";
import { listRoutes } from "./routes.ts";

const spoken = { id: "compat_messages" } as Provider["protocols"][number];
const credentials = ["ONE", "TWO"].map((name) => ({ name, protocols: [spoken] }));
const OFFER = {
  catalog: {
    models: [
      {
        id: "a/m",
        category: "language",
        prices: {},
        routes: [{ provider: "p", upstreamId: "m" }],
      } as unknown as Model,
      {
        id: "a/n",
        category: "language",
        prices: {},
        routes: [
          { provider: "gone", upstreamId: "n" },
          { provider: "p", upstreamId: "n" },
          { provider: "p", upstreamId: "n-old" },
        ],
      } as unknown as Model,
    ],
  },
  providers: new Map([["p", { id: "p", protocols: [spoken], credentials, secrets: [] }]]),
  mediaProviders: new Map(),
} as unknown as Offer;

/** The health of this offer's ways, and its rows. */
function open() {
  const clock = createFakeClock(1_700_000_000_000);
  const health = createHealth({
    clock,
    random: systemRandom,
    settings: () => ({ breakerFailures: 2, breakerMs: 10_000 }),
    ways: () => offeredWays(OFFER),
  });
  const call = (way: string, end: FailedCall | { answeredMs: number }): void => {
    const [model = "", credential = "", upstreamId = ""] = way.split(" ");
    const place = health.admit({ model, provider: "p", upstreamId, credential }, {}) as Place;
    if ("answeredMs" in end) place.answered(end.answeredMs);
    place.end("answeredMs" in end ? { kind: "ok" } : end);
  };
  const rows = () =>
    listRoutes(OFFER, health.snapshot(), {}).map(({ model, credential, upstream_id, ...row }) => ({
      way: `${model} ${credential} ${upstream_id}`,
      ...row,
    }));
  return { clock, call, rows };
}

const failed = (more: Partial<FailedCall>): FailedCall => ({
  kind: "failed",
  blame: "credential",
  reason: "status",
  status: 500,
  ...more,
});

test("a row has the state, the counts and the last failure of its way: by one name of a model at its provider", () => {
  const { clock, call, rows } = open();
  call("a/m ONE m", { answeredMs: 120 });
  call("a/n ONE n", failed({ status: 404, blame: "route", reason: "unknown model" }));
  expect(rows().map(({ way, state, latency_ms }) => [way, state, latency_ms])).toEqual([
    ["a/m ONE m", "healthy", 120],
    ["a/m TWO m", "healthy", 120],
    ["a/n ONE n", "cooling", null],
    ["a/n TWO n", "cooling", null],
    ["a/n ONE n-old", "healthy", null],
    ["a/n TWO n-old", "healthy", null],
  ]);
  const [m, , n] = rows();
  expect(m).toMatchObject({ calls: 1, failed: 0, failures: 0, until: null, last_failure: null });
  expect(n).toMatchObject({
    calls: 1,
    failed: 1,
    last_failure: { reason: "unknown model", status: 404, at: clock.nowMs() / 1000 },
  });
  expect((n?.until as number) * 1000).toBeGreaterThan(clock.nowMs());
});

test("an open breaker is told for every model by that credential, with the failures in a row and its end", () => {
  const { clock, call, rows } = open();
  for (let i = 0; i < 2; i += 1) call("a/m TWO m", failed({}));
  for (const { way, state, failures, until } of rows()) {
    const isOpen = way.includes("TWO");
    expect([way, state, failures]).toEqual([way, isOpen ? "open" : "healthy", isOpen ? 2 : 0]);
    expect(until === null).toBe(!isOpen);
    if (until !== null) expect(until * 1000).toBeGreaterThan(clock.nowMs());
  }
});
