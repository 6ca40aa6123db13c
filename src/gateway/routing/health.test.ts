import { describe, expect, test } from "bun:test";
import { createFakeClock } from "../../../test/gateway/fake-clock.ts";
import type { CallResult, FailedCall } from "./call-result.ts";
import { createHealth, type Health } from "./health.ts";
import type { WayKey } from "./way-key.ts";
import { DEFAULT_ROUTING } from "./settings.ts";

const WAY: WayKey = { model: "a/m", provider: "p", upstreamId: "m", credential: "K1" };
const WAYS: readonly WayKey[] = [
  WAY,
  { ...WAY, credential: "K2" },
  { ...WAY, model: "a/n" },
  { ...WAY, provider: "q" },
];

const FAILED: FailedCall = { kind: "failed", blame: "credential", reason: "failed", status: 500 };
const LIMITED: FailedCall = { ...FAILED, reason: "rate_limited", status: 429, cools: true };
const UNKNOWN: FailedCall = { kind: "failed", blame: "route", reason: "model_unknown", status: 404 };
const REFUSED: FailedCall = { ...FAILED, reason: "credential_refused", status: 401, opens: true };

function healthOf(ways: readonly WayKey[] = WAYS) {
  const clock = createFakeClock();
  const offer = { ways };
  const settings = { ...DEFAULT_ROUTING, breakerMs: 10_000 };
  const random = { bytes: (count: number) => new Uint8Array(count) };
  const health = createHealth({ clock, random, settings: () => settings, ways: () => offer.ways });
  return { clock, settings, health, offer, ...drive(health) };
}

function drive(health: Health) {
  const begin = (way: WayKey) => {
    const place = health.admit(way, {});
    if ("waitMs" in place) throw new Error(`${JSON.stringify(way)} waits ${place.waitMs} ms`);
    return place;
  };
  return {
    begin,
    call: (way: WayKey, result: CallResult): void => begin(way).end(result),
    waits: () => WAYS.map((way) => health.look(way).waitMs),
    states: () => WAYS.map((way) => health.look(way).state),
  };
}

describe("a credential", () => {
  test("that fails is open for all models of its provider, and for no other credential or provider", () => {
    const { call, states, waits, health } = healthOf();
    for (let i = 0; i < 5; i += 1) call(i < 3 ? WAY : { ...WAY, model: "a/n" }, FAILED);
    expect(states()).toEqual(["open", "healthy", "open", "healthy"]);
    expect(waits()).toEqual([10_000, 0, 10_000, 0]);
    expect(health.admit(WAY, {})).toEqual({ waitMs: 10_000 });
  });

  test("that is not accepted is open at once", () => {
    const { call, states } = healthOf();
    call(WAY, REFUSED);
    expect(states()).toEqual(["open", "healthy", "open", "healthy"]);
  });

  test("stays open while it is half-open, and lets one call through", async () => {
    const { call, begin, clock, states, health } = healthOf();
    call(WAY, REFUSED);
    await clock.advance(10_000);
    expect([states()[0], health.look(WAY).waitMs]).toEqual(["open", 0]);
    const probe = begin(WAY);
    expect(health.admit({ ...WAY, model: "a/n" }, {})).toEqual({ waitMs: 1_000, isOperators: true });
    probe.end({ kind: "ok" });
    expect(states()).toEqual(["healthy", "healthy", "healthy", "healthy"]);
  });

  test("is bounded in what it is used for, by the bounds as they are now", async () => {
    const { health, clock } = healthOf();
    const bounds = { requestsPerMinute: 2, concurrency: 1 };
    const first = health.admit(WAY, bounds);
    expect(health.admit({ ...WAY, model: "a/n" }, bounds)).toEqual({ waitMs: 1_000 });
    expect("end" in health.admit({ ...WAY, credential: "K2" }, bounds)).toBe(true);
    if ("end" in first) first.end({ kind: "neutral" });
    expect("end" in health.admit(WAY, bounds)).toBe(true);
    expect(health.admit(WAY, { ...bounds, concurrency: 9 })).toEqual({ waitMs: 60_000 });
    await clock.advance(60_000);
    expect("end" in health.admit(WAY, { ...bounds, concurrency: 9 })).toBe(true);
  });

  test("that is refused a place has used nothing", () => {
    const { health } = healthOf();
    const bounds = { requestsPerMinute: 2, concurrency: 1 };
    const first = health.admit(WAY, bounds);
    for (let i = 0; i < 9; i += 1) health.admit(WAY, bounds);
    if ("end" in first) first.end({ kind: "neutral" });
    expect("end" in health.admit(WAY, bounds)).toBe(true);
  });

  test("by which a call was not made after all has used nothing, and its breaker may be tried", async () => {
    const { health, call, clock } = healthOf();
    const bounds = { requestsPerMinute: 1, concurrency: 1 };
    call(WAY, REFUSED);
    await clock.advance(10_000);
    for (let i = 0; i < 3; i += 1) {
      const place = health.admit(WAY, bounds);
      if ("end" in place) place.end({ kind: "not_made" });
      expect([i, "end" in place]).toEqual([i, true]);
    }
    expect(health.snapshot()[0]).toMatchObject({ state: "open", calls: 1, failed: 1 });
    expect(health.look(WAY, bounds)).toMatchObject({ waitMs: 0, underWay: 0 });
  });

  test("is seen by whoever chooses among ways and says what the bounds are", () => {
    const { health } = healthOf();
    const bounds = { concurrency: 1 };
    expect(health.look(WAY, bounds).waitMs).toBe(0);
    const place = health.admit(WAY, bounds);
    expect([health.look(WAY, bounds).waitMs, health.look(WAY).waitMs]).toEqual([1_000, 0]);
    if ("end" in place) place.end({ kind: "ok" });
    expect(health.look(WAY, bounds).waitMs).toBe(0);
  });

  test("gives its place back once", () => {
    const { health } = healthOf();
    const [one, two] = [health.admit(WAY, {}), health.admit(WAY, {})];
    if ("end" in one) for (let i = 0; i < 3; i += 1) one.end({ kind: "ok" });
    expect(health.look(WAY).underWay).toBe(1);
    if ("end" in two) two.end({ kind: "ok" });
    expect(health.look(WAY).underWay).toBe(0);
  });
});

describe("an answer that has begun", () => {
  test("counts as a success at once, and keeps its place until it ends", async () => {
    const { begin, call, clock, health, states } = healthOf();
    call(WAY, REFUSED);
    await clock.advance(10_000);
    const place = begin(WAY);
    place.answered(300);
    expect([states()[0], health.look(WAY).latencyMs, health.look(WAY).underWay]).toEqual(["healthy", 300, 1]);
    await clock.advance(400_000);
    place.end({ kind: "ok", tookMs: 9 });
    expect([health.look(WAY).latencyMs, health.look(WAY).underWay]).toEqual([undefined, 0]);
  });

  test("and breaks counts as failed all the same, and is the first failure in a row", () => {
    const { begin, states, health } = healthOf();
    const breaks = (): void => {
      const place = begin(WAY);
      place.answered(300);
      place.end(FAILED);
    };
    for (let i = 0; i < 9; i += 1) breaks();
    expect(states()[0]).toBe("healthy");
    expect(health.snapshot()[0]).toMatchObject({ calls: 9, failed: 9, failures: 1 });
  });

  test("begins once, and not after its end", () => {
    const { begin, health } = healthOf();
    const place = begin(WAY);
    place.answered(100);
    place.answered(900);
    place.end({ kind: "neutral" });
    place.answered(900);
    expect(health.look(WAY).latencyMs).toBe(100);
  });
});

describe("a way whose rate is limited", () => {
  test("cools for as long as the provider asks, for that model and credential alone", async () => {
    const { call, clock, states, waits } = healthOf();
    call(WAY, { ...LIMITED, retryAfterMs: 7_000 });
    expect(states()).toEqual(["cooling", "healthy", "healthy", "healthy"]);
    await clock.advance(6_999);
    expect(waits()[0]).toBe(1);
    await clock.advance(1);
    expect([states()[0], waits()[0]]).toEqual(["healthy", 0]);
  });

  test("cools longer each time where the provider does not say how long, until a call succeeds", async () => {
    const { call, clock, waits } = healthOf();
    const cooled: number[] = [];
    for (let i = 0; i < 8; i += 1) {
      call(WAY, LIMITED);
      cooled.push(waits()[0] as number);
      await clock.advance(waits()[0] as number);
    }
    expect(cooled).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    call(WAY, { kind: "ok" });
    call(WAY, LIMITED);
    expect(waits()[0]).toBe(1_000);
  });

  test("cools no longer for calls that were all under way when the limit was reached", () => {
    const { begin, waits } = healthOf();
    const places = Array.from({ length: 20 }, () => begin(WAY));
    for (const place of places) place.end(LIMITED);
    expect(waits()[0]).toBe(1_000);
  });

  test("keeps to the longest pause that was asked for, whatever else ends meanwhile", () => {
    const { begin, waits } = healthOf();
    const [one, two, three, four] = [begin(WAY), begin(WAY), begin(WAY), begin(WAY)];
    one.end({ ...LIMITED, retryAfterMs: 30_000 });
    two.end({ ...LIMITED, retryAfterMs: 2_000 });
    three.end({ kind: "ok" });
    four.end(LIMITED);
    expect(waits()[0]).toBe(30_000);
  });

  test("does not count for the breaker", async () => {
    const { call, clock, states } = healthOf();
    for (let i = 0; i < 10; i += 1) {
      call(WAY, { ...LIMITED, retryAfterMs: 1_000 });
      await clock.advance(1_000);
    }
    expect(states()[0]).toBe("healthy");
  });

  test("an overloaded provider that asks for a pause gets it, and counts as failed", () => {
    const { call, health, states, waits } = healthOf();
    call(WAY, { ...FAILED, status: 503, retryAfterMs: 4_000 });
    expect([states()[0], waits()[0], health.snapshot()[0]?.failures]).toEqual(["cooling", 4_000, 1]);
  });
});

test("a model that a provider does not know cools there for a minute, then longer, by every credential", async () => {
  const { call, clock, states, waits } = healthOf();
  const cooled: number[] = [];
  for (let i = 0; i < 6; i += 1) {
    call(WAY, UNKNOWN);
    expect(states()).toEqual(["cooling", "cooling", "healthy", "healthy"]);
    cooled.push(waits()[0] as number);
    await clock.advance(waits()[0] as number);
  }
  expect(cooled).toEqual([60_000, 120_000, 240_000, 480_000, 600_000, 600_000]);
  call({ ...WAY, credential: "K2" }, { kind: "ok" });
  call(WAY, UNKNOWN);
  expect(waits()[0]).toBe(60_000);
});

describe("the latency of a route", () => {
  const ok = (tookMs: number): CallResult => ({ kind: "ok", tookMs });

  test("follows its last calls, by whichever credential, and no other route's", () => {
    const { call, health } = healthOf();
    call(WAY, ok(100));
    expect(health.look(WAY).latencyMs).toBe(100);
    call({ ...WAY, credential: "K2" }, ok(200));
    expect(health.look(WAY).latencyMs).toBe(120);
    for (let i = 0; i < 20; i += 1) call(WAY, ok(1_000));
    expect(health.look(WAY).latencyMs).toBeWithin(980, 1_000);
    expect(WAYS.slice(2).map((way) => health.look(way).latencyMs)).toEqual([undefined, undefined]);
  });

  test("is not known after five minutes, and begins anew", async () => {
    const { call, clock, health } = healthOf();
    call(WAY, ok(5_000));
    await clock.advance(300_000);
    expect(health.look(WAY).latencyMs).toBe(5_000);
    await clock.advance(1);
    expect(health.look(WAY).latencyMs).toBeUndefined();
    call(WAY, ok(10));
    expect(health.look(WAY).latencyMs).toBe(10);
  });

  test("of plain answers is a figure of its own, by whichever credential", async () => {
    const { begin, clock, health } = healthOf();
    begin(WAY).answered(300);
    begin(WAY).answered(9_000, true);
    begin({ ...WAY, credential: "K2" }).answered(14_000, true);
    expect(health.look(WAY)).toMatchObject({ latencyMs: 300, plainMs: 10_000 });
    expect(health.snapshot()[0]).toMatchObject({ latencyMs: 300, plainMs: 10_000 });
    await clock.advance(200_000);
    begin(WAY).answered(400);
    await clock.advance(100_001);
    expect(health.look(WAY)).toMatchObject({ latencyMs: 320, plainMs: undefined });
  });

  test("of images and videos is how long they take to be made, and is not that of the same provider's chats", () => {
    const { health } = healthOf();
    const way: WayKey = { ...WAY, media: true };
    health.made(way, 40_000);
    health.made({ ...way, credential: "K2" }, 50_000);
    expect([health.look(way).latencyMs, health.look(WAY).latencyMs]).toEqual([42_000, undefined]);
  });

  test("does not count calls without an answer", () => {
    const { call, health } = healthOf();
    const results: readonly CallResult[] = [{ kind: "ok" }, { kind: "neutral" }, FAILED];
    for (const result of results) call(WAY, result);
    expect(health.look(WAY).latencyMs).toBeUndefined();
  });
});

test("a snapshot has every way of the offer, with its state and its last failure in the machine's time", async () => {
  const { call, clock, health } = healthOf();
  clock.jump(3_600_000);
  const failedAtMs = clock.nowMs();
  call(WAY, { kind: "ok", tookMs: 80.4 });
  call(WAY, { ...LIMITED, retryAfterMs: 5_000 });
  call({ ...WAY, credential: "K2" }, REFUSED);
  call({ ...WAY, provider: "q" }, { kind: "neutral" });
  await clock.advance(1_000);
  const plain = {
    state: "healthy",
    untilMs: null,
    failures: 0,
    latencyMs: null,
    plainMs: null,
    calls: 0,
    failed: 0,
  } as const;
  expect(health.snapshot()).toEqual([
    {
      ...WAY,
      state: "cooling",
      untilMs: failedAtMs + 5_000,
      failures: 0,
      latencyMs: 80,
      plainMs: null,
      calls: 2,
      failed: 1,
      lastFailure: { reason: "rate_limited", status: 429, atMs: failedAtMs },
    },
    {
      ...WAY,
      credential: "K2",
      state: "open",
      untilMs: failedAtMs + 10_000,
      failures: 1,
      latencyMs: 80,
      plainMs: null,
      calls: 1,
      failed: 1,
      lastFailure: { reason: "credential_refused", status: 401, atMs: failedAtMs },
    },
    { ...WAY, model: "a/n", ...plain, lastFailure: null },
    { ...WAY, provider: "q", ...plain, calls: 1, lastFailure: null },
  ]);
});

test("new settings hold at once, and what was learned stays", () => {
  const { call, settings, states, health } = healthOf();
  call(WAY, FAILED);
  settings.breakerFailures = 2;
  settings.breakerMs = 90_000;
  health.retain();
  call(WAY, FAILED);
  expect([states()[0], health.look(WAY).waitMs]).toEqual(["open", 90_000]);
});

test("what an offer has no more is forgotten, and a call by it may still end", () => {
  const { begin, call, health, offer } = healthOf();
  const late = begin(WAY);
  call({ ...WAY, model: "a/n" }, UNKNOWN);
  for (const way of WAYS) if (way.model === "a/m") call(way, REFUSED);
  const statesWith = (holds: (way: WayKey) => boolean): unknown => {
    offer.ways = WAYS.filter(holds);
    health.retain();
    offer.ways = WAYS;
    return health.snapshot().map(({ state, calls }) => [state, calls]);
  };
  expect(statesWith(() => true)).toEqual([
    ["open", 2],
    ["open", 1],
    ["open", 1],
    ["open", 1],
  ]);
  expect(statesWith(({ model }) => model === "a/m")).toEqual([
    ["open", 2],
    ["open", 1],
    ["open", 0],
    ["open", 1],
  ]);
  expect(statesWith(({ credential }) => credential === "K2")).toEqual([
    ["healthy", 0],
    ["open", 1],
    ["healthy", 0],
    ["healthy", 0],
  ]);
  expect(statesWith(({ provider }) => provider === "q")).toEqual(WAYS.map(() => ["healthy", 0]));
  late.end(FAILED);
  expect(health.look(WAY).underWay).toBe(0);
});

test("an operator who wants no breaker has every way as healthy, whatever failed", () => {
  const { call, settings, states, waits, health } = healthOf();
  call(WAY, REFUSED);
  settings.breakerFailures = 0;
  expect([states()[0], waits()[0], health.snapshot()[0]?.state]).toEqual(["healthy", 0, "healthy"]);
  expect(health.admit(WAY, {})).toHaveProperty("end");
});

describe("a way that is left alone says so where only the operator can mend it", () => {
  const rows: readonly (readonly [string, readonly CallResult[], boolean])[] = [
    ["a credential that is not accepted", [REFUSED], true],
    ["a model that is not known", [UNKNOWN], true],
    [
      "a server that cannot show who it is",
      Array.from({ length: 5 }, () => ({ ...FAILED, reason: "untrusted" })),
      true,
    ],
    [
      "a model that is not open to the credential",
      [{ ...LIMITED, reason: "credential_refused", retryAfterMs: 60_000 }],
      true,
    ],
    ["failures in a row", Array.from({ length: 5 }, () => FAILED), false],
    ["a limit", [LIMITED], false],
  ];
  for (const [name, results, want] of rows)
    test(name, () => {
      const { call, health } = healthOf();
      for (const result of results) call(WAY, result);
      const refused = health.admit(WAY, {});
      expect("waitMs" in refused && refused.isOperators === true).toBe(want);
    });

  test("and no other credential's does, but for a model that is not known", () => {
    for (const [result, want] of [
      [REFUSED, undefined],
      [UNKNOWN, true],
    ] as const) {
      const { call, health } = healthOf();
      call(WAY, result);
      const other = health.admit({ ...WAY, credential: "K2" }, {});
      expect("waitMs" in other ? other.isOperators : undefined).toBe(want);
    }
  });
});

test("images and videos of a provider fare by themselves, by the same credential", () => {
  const media: WayKey = { ...WAY, model: "a/picture", media: true };
  const { call, health, offer } = healthOf([WAY, media]);
  call(media, REFUSED);
  expect([health.look(media).state, health.look(WAY).state]).toEqual(["open", "healthy"]);
  expect(health.snapshot()).toMatchObject([
    { model: "a/m", provider: "p", credential: "K1", state: "healthy" },
    { model: "a/picture", provider: "p", credential: "K1", state: "open", media: true },
  ]);
  offer.ways = [WAY];
  health.retain();
  expect(health.look(media).state).toBe("healthy");
});
