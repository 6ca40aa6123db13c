import { afterAll, describe, expect, test } from "bun:test";
import { readPrices } from "../../src/catalog/prices.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { Routing } from "../../src/core/model.ts";
import { type Clock, wait } from "../../src/core/time/clock.ts";
import { type Candidate, openAttempts, type Sendable } from "../../src/gateway/language/attempts.ts";
import type { Answered } from "../../src/gateway/routing/retry.ts";
import type { CalledWay } from "../../src/gateway/routing/ways.ts";
import { createRouting, type Routing as ProcessRouting } from "../../src/gateway/routing/routing.ts";
import { DEFAULT_ROUTING, type RoutingSettings } from "../../src/gateway/routing/settings.ts";
import { readRefusal } from "../../src/protocols/refusal.ts";
import { createFakeClock } from "../gateway/fake-clock.ts";
import { ANSWER_CONTEXT } from "../protocols/answer-context.ts";
import { seededRandom } from "../upstream/cuts.ts";

/** What the first provider goes through, and for how long. The second is well all the time. */
const PHASES = {
  well: 60_000,
  "30 % errors": 60_000,
  "10x latency": 60_000,
  dead: 60_000,
  back: 60_000,
  later: 240_000,
} as const;
type Phase = keyof typeof PHASES;

function phaseAt(ms: number): Phase {
  let untilMs = 0;
  for (const [phase, lengthMs] of Object.entries(PHASES)) {
    untilMs += lengthMs;
    if (ms < untilMs) return phase as Phase;
  }
  return "later";
}

/** A caller comes every so often, and has the first byte of an answer after 200 to 600 ms. */
const EVERY_MS = 50;
const FIRST_BYTE_MS = [200, 600] as const;

const PRICED = { prices: readPrices({ input: 1, output: 1 }).prices, priceVersion: "v" };

/** A failed call: its error, and the status that came before it. */
interface Failed {
  readonly error: Error;
  readonly answer: Answered | undefined;
}

/** A provider's first byte, or its failure, as it is in a phase. */
async function call(clock: Clock, phase: Phase, random: () => number): Promise<Failed | undefined> {
  if (phase === "dead") {
    await wait(clock, 1);
    const cause = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
    return { error: new GatewayError("upstream_error", "Not reached.", { cause }), answer: undefined };
  }
  const [least, most] = FIRST_BYTE_MS;
  await wait(clock, Math.round((least + random() * (most - least)) * (phase === "10x latency" ? 10 : 1)));
  if (phase !== "30 % errors" || random() >= 0.3) return undefined;
  const refusal = { status: 500, body: new Uint8Array(), retryAfter: null };
  return { error: readRefusal(refusal, CONTEXT), answer: { status: 500, stream: true } };
}

const CONTEXT = { ...ANSWER_CONTEXT, model: "a/m" };

interface Outcome {
  readonly phase: Phase;
  readonly isServed: boolean;
  readonly ms: number;
  readonly retries: number;
  /** The provider that was asked last; absent where no call was made. */
  readonly by: string | undefined;
}

/** What requests are made with. */
interface World {
  readonly clock: Clock;
  readonly routing: ProcessRouting;
  readonly ways: readonly Pick<CalledWay, "key" | "route">[];
  readonly setting: Routing;
  readonly phase: () => Phase;
  readonly random: () => number;
}

/** One request, by the attempts that the gateway makes. */
async function request({ clock, routing, ways, setting, phase, random }: World): Promise<Outcome> {
  const startedMs = clock.steadyMs();
  const startedIn = phase();
  const ordered = routing.order(ways, { ...PRICED, routing: setting }, undefined);
  const attempts = openAttempts(
    { routing, clock },
    { candidates: ordered.map(candidateOf) },
    { retried: () => {} },
  );
  const { signal } = new AbortController();
  let calls = 0;
  let sent: Sent | undefined;
  const ended = (isServed: boolean): Outcome => ({
    phase: startedIn,
    isServed,
    ms: clock.steadyMs() - startedMs,
    retries: Math.max(0, calls - 1),
    by: sent?.by,
  });
  let next = await attempts.first({ signal, lateMs: Infinity }).catch(() => undefined);
  while (next !== undefined) {
    calls += 1;
    sent = next;
    const failed = await call(clock, sent.by === "first" ? phase() : "well", random);
    if (failed === undefined) {
      attempts.answered();
      attempts.end();
      return ended(true);
    }
    next = await attempts.next(failed.error, failed.answer);
  }
  return ended(false);
}

/** A small request, as it is sent to one of the providers. */
interface Sent extends Sendable<Sent> {
  readonly by: string;
}

function candidateOf(way: World["ways"][number]): Candidate<Sent> {
  const { provider: by } = way.key;
  const sent: Sent = { by, body: { isKept: true } };
  return { way: { ...way, bounds: {}, failsAsAsked: false }, prepare: () => sent };
}

interface Setup {
  readonly name: string;
  readonly providers: readonly string[];
  readonly by?: Routing["by"];
  readonly settings?: Partial<RoutingSettings>;
}

/** Callers at a steady rate through all phases. */
async function simulate({ providers, by = "order", settings }: Setup, seed: number): Promise<Outcome[]> {
  const clock = createFakeClock();
  const begunMs = clock.steadyMs();
  const random = seededRandom(seed);
  const bytes = (count: number): Uint8Array =>
    Uint8Array.from({ length: count }, () => Math.floor(random() * 256));
  const ways = providers.map((provider) => ({
    key: { model: "a/m", provider, upstreamId: "m", credential: "" },
    route: { provider, upstreamId: "m" },
  }));
  const routing = createRouting({
    clock,
    random: { bytes },
    settings: () => ({ ...DEFAULT_ROUTING, ...settings }),
    ways: () => ways.map(({ key }) => key),
  });
  const phase = (): Phase => phaseAt(clock.steadyMs() - begunMs);
  const world = { clock, routing, ways, setting: { by, sticky: false, fallback: [] }, phase, random };
  const outcomes: Outcome[] = [];
  const most = (requests: number): number => 10 + requests * routing.settings().retryBudget;
  let requests = 0;
  const wholeMs = Object.values(PHASES).reduce((sum, ms) => sum + ms, 0);
  for (let ms = 0; ms < wholeMs; ms += EVERY_MS) {
    requests += 1;
    void request(world).then((outcome) => outcomes.push(outcome));
    await clock.advance(EVERY_MS);
    // The promise of the budget holds at every moment, not only at the end.
    expect(retriesOf(outcomes)).toBeLessThanOrEqual(most(requests));
  }
  await clock.advance(60_000);
  expect(outcomes).toHaveLength(requests);
  return outcomes;
}

function retriesOf(outcomes: readonly Outcome[]): number {
  return outcomes.reduce((sum, { retries }) => sum + retries, 0);
}

/** What callers saw in a phase. Latency is what comes on top of the mean of a provider that is well. */
interface Seen {
  readonly "served %": number;
  readonly "added ms": number;
  readonly "p95 ms": number;
  readonly "retries per 1,000": number;
  /** Requests that the first provider was the last to be asked of. */
  readonly "by first %": number;
}

function seenIn(outcomes: readonly Outcome[]): Seen {
  const served = outcomes.filter(({ isServed }) => isServed);
  const added = served.map(({ ms }) => ms - (FIRST_BYTE_MS[0] + FIRST_BYTE_MS[1]) / 2).sort((a, b) => a - b);
  const byFirst = outcomes.filter(({ by }) => by === "first");
  return {
    "served %": Math.round((1_000 * served.length) / outcomes.length) / 10,
    "added ms": Math.round(added.reduce((sum, ms) => sum + ms, 0) / added.length),
    "p95 ms": Math.round(added[Math.floor(added.length * 0.95)] ?? Number.NaN),
    "retries per 1,000": Math.round((1_000 * retriesOf(outcomes)) / outcomes.length),
    "by first %": Math.round((100 * byFirst.length) / outcomes.length),
  };
}

const SEEDS = [1, 2, 3];
const rows: Record<string, Seen> = {};
afterAll(() => console.table(rows));

async function run(setup: Setup, seeds = SEEDS): Promise<Readonly<Record<Phase, Seen>>> {
  const outcomes = (await Promise.all(seeds.map((seed) => simulate(setup, seed)))).flat();
  const phases = [...Map.groupBy(outcomes, ({ phase }) => phase)];
  const seen = phases.map(([phase, list]) => [phase, seenIn(list)] as const);
  for (const [phase, figures] of seen) rows[`${setup.name}: ${phase}`] = figures;
  return Object.fromEntries(seen) as Record<Phase, Seen>;
}

const TWO = ["first", "second"];

describe("callers of a provider that fails in every way, with no more retries than the budget allows", () => {
  test("without another route they fare as it does, and are served again within a minute of its return", async () => {
    const seen = await run({ name: "one route", providers: ["first"] });
    expect(seen.well["served %"]).toBe(100);
    expect(seen.dead["served %"]).toBeLessThan(1);
    expect(seen.back["served %"]).toBeGreaterThan(0);
    expect(seen.later["served %"]).toBe(100);
  });

  test("with a second route in order nearly all are served while it is dead, and it is first again afterwards", async () => {
    const seen = await run({ name: "two, by order", providers: TWO });
    expect(seen["30 % errors"]["served %"]).toBeGreaterThan(80);
    expect(seen.dead["served %"]).toBeGreaterThan(96);
    expect(seen.dead["p95 ms"]).toBeLessThan(300);
    expect([seen.back["served %"], seen.later["served %"]]).toEqual([100, 100]);
    expect(seen.later["by first %"]).toBe(100);
  });

  test("with a larger budget they are served at 30 % errors, too", async () => {
    const settings = { retryBudget: 0.5 };
    const seen = await run({ name: "two, by order, retry_budget 0.5", providers: TWO, settings });
    expect(seen["30 % errors"]["served %"]).toBeGreaterThan(99);
  });

  test("by latency they do not notice that it is slow, and go back to it some minutes later", async () => {
    // When it is used again hangs on its first answer then: by seed it is 0 to 43 % of the requests.
    const seeds = Array.from({ length: 8 }, (_, i) => i + 1);
    const seen = await run({ name: "two, by latency", providers: TWO, by: "latency" }, seeds);
    expect(seen["10x latency"]["served %"]).toBe(100);
    expect(seen["10x latency"]["added ms"]).toBeLessThan(100);
    expect(seen.dead["served %"]).toBeGreaterThan(99);
    expect(seen.back["by first %"]).toBeLessThan(20);
    expect(seen.later["by first %"]).toBeGreaterThan(5);
    // Eight runs take most CPU of these: minutes beside other tests on a busy machine.
  }, 600_000);
});
