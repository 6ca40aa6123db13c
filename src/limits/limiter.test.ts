import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createFakeClock } from "../../test/gateway/fake-clock.ts";
import { runsOf } from "../../test/runs.ts";
import { type KeyLimits, type LimitState, NO_LIMITS } from "../core/rate-limits.ts";
import { createLimiter, type LimitRefusal, type Pass, type UsedTokens } from "./limiter.ts";

const RUNS = runsOf(3_000, 50_000);

const START = Date.UTC(2026, 10, 21, 12);

test("a look says what would refuse a request now, and counts nothing", () => {
  const limiter = createLimiter(createFakeClock());
  const limits: KeyLimits = { requestsPerMinute: 2, tokensPerMinute: 100, concurrency: 5 };
  const look = () => limiter.look("k", limits);
  expect(look()).toBeUndefined();
  expect(limiter.size).toBe(0);
  const admit = () => limiter.admit({ keyId: "k", limits, inputTokens: 10, outputTokens: 0 });
  admit();
  for (let i = 0; i < 5; i += 1) expect(look()).toBeUndefined();
  expect(admit().ok).toBe(true);
  expect(look()).toEqual({ ok: false, limit: "requestsPerMinute", retryAfterMs: 60_000 });
  expect(admit()).toEqual({ ok: false, limit: "requestsPerMinute", retryAfterMs: 60_000 });
  expect(limiter.look("another", limits)).toBeUndefined();
});

test("what is used of each limit is told, of those that the key has", async () => {
  const clock = createFakeClock();
  const limiter = createLimiter(clock);
  const limits: KeyLimits = { requestsPerMinute: 5, tokensPerMinute: 1_000, concurrency: 2 };
  expect(limiter.usedOf("k", limits)).toEqual({ requestsPerMinute: 0, tokensPerMinute: 0, concurrency: 0 });
  expect(limiter.size).toBe(0);
  const first = limiter.admit({ keyId: "k", limits, inputTokens: 10, outputTokens: 100 });
  limiter.admit({ keyId: "k", limits, inputTokens: 20, outputTokens: 0 });
  expect(limiter.usedOf("k", limits)).toEqual({ requestsPerMinute: 2, tokensPerMinute: 130, concurrency: 2 });
  if (first.ok) first.end({ input: 10, output: 7 });
  expect(limiter.usedOf("k", limits)).toEqual({ requestsPerMinute: 2, tokensPerMinute: 37, concurrency: 1 });
  expect(limiter.usedOf("k", NO_LIMITS)).toEqual(NO_LIMITS);
  await clock.advance(60_000);
  expect(limiter.usedOf("k", limits)).toEqual({ requestsPerMinute: 0, tokensPerMinute: 0, concurrency: 1 });
});

test("a look sees tokens that are used up, and requests under way", () => {
  const limiter = createLimiter(createFakeClock());
  const limits: KeyLimits = { requestsPerMinute: null, tokensPerMinute: 100, concurrency: 1 };
  const pass = limiter.admit({ keyId: "k", limits, inputTokens: 100, outputTokens: 0 });
  expect(limiter.look("k", { ...limits, tokensPerMinute: null })).toMatchObject({ limit: "concurrency" });
  if (pass.ok) pass.end({ input: 100, output: 0 });
  expect(limiter.look("k", limits)).toMatchObject({ limit: "tokensPerMinute" });
  expect(limiter.look("k", { ...limits, tokensPerMinute: 101 })).toBeUndefined();
});

test("the smallest request is of one token, which a limit of one has room for", () => {
  const limiter = createLimiter(createFakeClock());
  const limits: KeyLimits = { requestsPerMinute: null, tokensPerMinute: 1, concurrency: null };
  const pass = limiter.admit({ keyId: "k", limits, inputTokens: 1, outputTokens: 0 });
  expect(limiter.look("k", limits)).toMatchObject({ limit: "tokensPerMinute", retryAfterMs: 60_000 });
  if (pass.ok) pass.end({ input: 0, output: 0 });
  expect(limiter.look("k", limits)).toBeUndefined();
});

/** A limiter whose clock is set by hand, also back. */
function createBench(limits: Partial<KeyLimits>) {
  let steadyMs = START;
  let jumpedMs = 0;
  const nowMs = (): number => steadyMs + jumpedMs;
  const clock = { ...createFakeClock(), nowMs, steadyMs: () => steadyMs };
  const limiter = createLimiter(clock);
  let now: KeyLimits = { ...NO_LIMITS, ...limits };
  const admit = (inputTokens = 1, outputTokens = 0, keyId = "k") =>
    limiter.admit({ keyId, limits: now, inputTokens, outputTokens });
  return {
    limiter,
    admit,
    pass(inputTokens = 1, outputTokens = 0, keyId = "k"): Pass {
      const decision = admit(inputTokens, outputTokens, keyId);
      if (!decision.ok) throw new Error(`refused by ${decision.limit}`);
      return decision;
    },
    refusal(inputTokens = 1, outputTokens = 0, keyId = "k"): Omit<LimitRefusal, "ok"> {
      const decision = admit(inputTokens, outputTokens, keyId);
      if (decision.ok) throw new Error("admitted");
      return { limit: decision.limit, retryAfterMs: decision.retryAfterMs };
    },
    state: (keyId = "k"): LimitState => limiter.stateOf(keyId, now),
    move: (ms: number) => void (steadyMs += ms),
    jump: (ms: number) => void (jumpedMs += ms),
    nowMs,
    limit: (change: Partial<KeyLimits>) => void (now = { ...now, ...change }),
  };
}

describe("requests per minute", () => {
  test("slide: no 60 seconds hold more than the limit, wherever a minute begins", () => {
    const { pass, refusal, move } = createBench({ requestsPerMinute: 3 });
    pass();
    move(59_000);
    pass();
    pass();
    expect(refusal()).toEqual({ limit: "requestsPerMinute", retryAfterMs: 1_000 });
    move(999);
    expect(refusal()).toEqual({ limit: "requestsPerMinute", retryAfterMs: 1 });
    move(1);
    pass();
    expect(refusal()).toEqual({ limit: "requestsPerMinute", retryAfterMs: 59_000 });
  });

  test("count a request that ended as one that runs", () => {
    const { pass, refusal } = createBench({ requestsPerMinute: 1 });
    pass().end({ input: 0, output: 0 });
    expect(refusal().limit).toBe("requestsPerMinute");
  });
});

describe("tokens per minute", () => {
  test("count a guess until the end, then input at its admission and output at its end", () => {
    const { pass, state, move, nowMs } = createBench({ tokensPerMinute: 1_000 });
    const stand = () => [state().tokens?.remaining, (state().tokens?.resetAtMs ?? 0) - START];
    const first = pass(100, 200);
    expect(stand()).toEqual([700, 60_000]);
    move(10_000);
    first.end({ input: 90, output: 500 });
    expect(stand()).toEqual([410, 70_000]);
    move(50_000);
    expect(stand()).toEqual([500, 70_000]);
    move(10_000);
    expect(stand()).toEqual([1_000, nowMs() - START]);
  });

  test("count the whole output of a request that ran for longer than a minute", () => {
    const { pass, state, move } = createBench({ tokensPerMinute: 1_000 });
    const long = pass(100, 200);
    move(300_000);
    expect(state().tokens?.remaining).toBe(1_000);
    long.end({ input: 100, output: 900 });
    expect(state().tokens?.remaining).toBe(100);
  });

  test("give back what a request did not use", () => {
    const { pass, state } = createBench({ tokensPerMinute: 1_000 });
    pass(100, 900).end({ input: 0, output: 0 });
    expect(state().tokens?.remaining).toBe(1_000);
  });

  test("let the guess stand where nobody can tell what was used", () => {
    const { pass, state } = createBench({ tokensPerMinute: 1_000 });
    pass(100, 200).end("as_guessed");
    expect(state().tokens?.remaining).toBe(700);
  });

  test("that were passed by an answer longer than guessed refuse until enough has aged", () => {
    const { pass, refusal, state, move } = createBench({ tokensPerMinute: 1_000 });
    const first = pass(100, 100);
    move(5_000);
    first.end({ input: 100, output: 5_000 });
    expect(state().tokens?.remaining).toBe(0);
    move(1_000);
    expect(refusal(1)).toEqual({ limit: "tokensPerMinute", retryAfterMs: 59_000 });
    move(59_000);
    pass(1_000);
  });

  test("tell the time at which enough is free for this request, and no more", () => {
    const { pass, refusal, move } = createBench({ tokensPerMinute: 100 });
    for (const input of [10, 20, 30, 40]) {
      pass(input);
      move(1_000);
    }
    const waits = [1, 10, 11, 30, 31, 60, 61, 100].map((input) => refusal(input).retryAfterMs);
    expect(waits).toEqual([56_000, 56_000, 57_000, 57_000, 58_000, 58_000, 59_000, 59_000]);
  });

  test("refuse for ever only a request whose input alone is larger", () => {
    const { admit, pass, refusal, state } = createBench({ tokensPerMinute: 100 });
    expect(refusal(101)).toEqual({ limit: "tokensPerMinute", retryAfterMs: null });
    expect(state().tokens?.remaining).toBe(100);
    // The guess at its output takes what room there is.
    const only = pass(60, 4_000);
    expect(state().tokens?.remaining).toBe(0);
    expect(admit(1, 0).ok).toBe(false);
    only.end({ input: 60, output: 10 });
    expect(admit(1, 0).ok).toBe(true);
  });
});

describe("concurrency", () => {
  test("is how many are under way; each end frees one place, and only once", () => {
    const { pass, refusal } = createBench({ concurrency: 2 });
    const first = pass();
    pass();
    expect(refusal()).toEqual({ limit: "concurrency", retryAfterMs: 1_000 });
    for (let i = 0; i < 5; i += 1) first.end({ input: 1, output: 1 });
    pass();
    expect(refusal().limit).toBe("concurrency");
  });

  test("does not pass with time: a request that runs for an hour keeps its place", () => {
    const { pass, refusal, move } = createBench({ concurrency: 1 });
    const long = pass();
    for (let i = 0; i < 60; i += 1) {
      move(60_000);
      expect(refusal().limit).toBe("concurrency");
      pass(1, 0, `other ${i}`).end({ input: 1, output: 0 });
    }
    long.end({ input: 1, output: 1 });
    pass();
  });

  test("counts those that began before the key had this limit", () => {
    const { pass, refusal, limit } = createBench({ requestsPerMinute: 100 });
    pass();
    limit({ concurrency: 1 });
    expect(refusal().limit).toBe("concurrency");
  });
});

describe("limits together", () => {
  const cases: readonly {
    readonly by: keyof KeyLimits;
    readonly limits: Partial<KeyLimits>;
    readonly input: number;
  }[] = [
    { by: "requestsPerMinute", limits: { requestsPerMinute: 1 }, input: 1 },
    { by: "tokensPerMinute", limits: { tokensPerMinute: 10 }, input: 5 },
    { by: "tokensPerMinute", limits: { tokensPerMinute: 10 }, input: 11 },
    { by: "concurrency", limits: { concurrency: 1 }, input: 1 },
  ];
  for (const { by, limits, input } of cases) {
    test(`a request of ${input} tokens that ${by} refuses uses nothing of the others`, () => {
      const wide = { requestsPerMinute: 100, tokensPerMinute: 1_000, concurrency: 100 };
      const { pass, refusal, state, limit } = createBench({ ...wide, ...limits });
      pass(8);
      for (let i = 0; i < 50; i += 1) expect(refusal(input).limit).toBe(by);
      limit(wide);
      expect(state()).toMatchObject({ requests: { remaining: 99 }, tokens: { remaining: 992 } });
      limit({ concurrency: 2 });
      pass(1);
    });
  }

  test("the longest wait is told, so that no other limit refuses then", () => {
    const { pass, refusal, move } = createBench({
      requestsPerMinute: 2,
      tokensPerMinute: 100,
      concurrency: 5,
    });
    pass(10);
    move(10_000);
    pass(80);
    expect(refusal(1)).toEqual({ limit: "requestsPerMinute", retryAfterMs: 50_000 });
    expect(refusal(50)).toEqual({ limit: "tokensPerMinute", retryAfterMs: 60_000 });
    move(60_000);
    pass(50);
  });

  test("of two keys are apart", () => {
    const { pass, refusal } = createBench({ requestsPerMinute: 1, tokensPerMinute: 5, concurrency: 1 });
    pass(5, 0, "one");
    pass(5, 0, "two");
    expect(refusal(1, 0, "one").limit).toBe("requestsPerMinute");
  });

  test("that are raised or lowered count what was used before", () => {
    const { pass, refusal, limit, move } = createBench({ requestsPerMinute: 2 });
    pass();
    move(1_000);
    pass();
    limit({ requestsPerMinute: 3 });
    move(1_000);
    pass();
    limit({ requestsPerMinute: 1 });
    expect(refusal().retryAfterMs).toBe(60_000);
    limit({ requestsPerMinute: 2 });
    expect(refusal().retryAfterMs).toBe(59_000);
  });

  test("show what is left and when all of it is free, and only where there is a limit", () => {
    const { pass, state, move, limit } = createBench({ requestsPerMinute: 5 });
    expect(state()).toEqual({ requests: { limit: 5, remaining: 5, resetAtMs: START } });
    pass();
    move(2_000);
    pass();
    expect(state()).toEqual({ requests: { limit: 5, remaining: 3, resetAtMs: START + 62_000 } });
    limit({ requestsPerMinute: 1 });
    expect(state().requests?.remaining).toBe(0);
    limit({ requestsPerMinute: null, concurrency: 1 });
    expect(state()).toEqual({});
  });
});

describe("a clock that jumps", () => {
  test("back frees nothing early and locks nothing for ever; the times told are those of the clock", () => {
    const { pass, refusal, state, move, jump, nowMs } = createBench({
      requestsPerMinute: 1,
      tokensPerMinute: 9,
    });
    pass(9);
    move(20_000);
    expect(refusal().retryAfterMs).toBe(40_000);
    jump(-3_600_000);
    expect(refusal()).toEqual({ limit: "requestsPerMinute", retryAfterMs: 40_000 });
    expect(state().requests?.resetAtMs).toBe(nowMs() + 40_000);
    move(39_999);
    expect(refusal().retryAfterMs).toBe(1);
    move(1);
    pass(9);
  });

  test("forward is no time that has passed", () => {
    const { pass, refusal, move, jump, state, nowMs } = createBench({ requestsPerMinute: 1 });
    pass();
    jump(86_400_000);
    expect(refusal().retryAfterMs).toBe(60_000);
    expect(state().requests).toEqual({ limit: 1, remaining: 0, resetAtMs: nowMs() + 60_000 });
    move(60_000);
    pass();
  });
});

describe("memory", () => {
  test("is of keys with use in the last minute or with requests under way", () => {
    const { limiter, pass, move, refusal } = createBench({ requestsPerMinute: 1, concurrency: 1 });
    const long = pass(1, 0, "long");
    for (let i = 0; i < 10_000; i += 1) {
      pass(1, 0, `key ${i}`).end({ input: 1, output: 1 });
      move(60);
      expect(limiter.size).toBeLessThan(1_100);
    }
    expect(refusal(1, 0, "long").limit).toBe("concurrency");
    expect(refusal(1, 0, "key 9999").limit).toBe("requestsPerMinute");
    long.end({ input: 1, output: 1 });
    move(60_000);
    for (let i = 0; i < 2_000; i += 1) pass(1, 0, `later ${i}`).end({ input: 1, output: 1 });
    expect(limiter.size).toBeLessThanOrEqual(2_000);
  });

  test("loses two keys without use by each request, however many there are", () => {
    const { limiter, pass, move } = createBench({ requestsPerMinute: 100 });
    for (let i = 0; i < 10; i += 1) pass(1, 0, `key ${i}`).end({ input: 1, output: 1 });
    move(60_000);
    const sizes = [0, 1, 2].map(() => {
      pass(1, 0, "another");
      return limiter.size;
    });
    expect(sizes).toEqual([9, 7, 5]);
  });

  test("loses keys without use behind one that was there before them and is in use", () => {
    const { limiter, pass, move } = createBench({ requestsPerMinute: 100 });
    for (const key of ["busy", "idle", "idle too"]) pass(1, 0, key).end({ input: 1, output: 1 });
    move(59_000);
    pass(1, 0, "busy").end({ input: 1, output: 1 });
    move(1_000);
    pass(1, 0, "busy");
    expect(limiter.size).toBe(1);
  });

  test("does not grow by requests that are refused", () => {
    const { limiter, admit } = createBench({ requestsPerMinute: 1 });
    for (let i = 0; i < 1_000; i += 1) admit();
    expect(limiter.size).toBe(1);
  });
});

// The same rules as plainly as they can be said: every request is remembered for ever, and everything is counted anew.

interface PlainRequest {
  readonly admittedMs: number;
  readonly guess: number;
  endedMs?: number;
  used?: UsedTokens;
}

function createPlainLimiter({ requestsPerMinute, tokensPerMinute, concurrency }: KeyLimits) {
  const requests: PlainRequest[] = [];
  const within = (atMs: number, nowMs: number): boolean => atMs <= nowMs && nowMs < atMs + 60_000;
  const counted = (nowMs: number): number =>
    requests.filter(({ admittedMs }) => within(admittedMs, nowMs)).length;
  const tokensOf = ({ admittedMs, guess, endedMs, used }: PlainRequest, nowMs: number): number =>
    (within(admittedMs, nowMs) ? (used?.input ?? guess) : 0) +
    (endedMs !== undefined && within(endedMs, nowMs) ? (used?.output ?? 0) : 0);
  const tokens = (nowMs: number): number =>
    requests.reduce((sum, request) => sum + tokensOf(request, nowMs), 0);
  const moments = (): number[] =>
    requests.flatMap(({ admittedMs, endedMs }) => [
      admittedMs + 60_000,
      ...(endedMs === undefined ? [] : [endedMs + 60_000]),
    ]);
  const firstMoment = (nowMs: number, holds: (atMs: number) => boolean): number =>
    [nowMs, ...moments().filter((atMs) => atMs > nowMs)].toSorted((a, b) => a - b).find(holds) ?? Infinity;
  const guessOf = (input: number, output: number): number =>
    tokensPerMinute === null ? 0 : Math.max(input, Math.min(input + output, tokensPerMinute));
  return {
    counted,
    tokens,
    /** How long the request must wait: 0 when it is served, Infinity when it never is. */
    waitMs(nowMs: number, input: number, output: number): number {
      if (tokensPerMinute !== null && input > tokensPerMinute) return Infinity;
      const underWay = requests.filter(({ endedMs }) => endedMs === undefined).length;
      const guess = guessOf(input, output);
      return Math.max(
        concurrency !== null && underWay >= concurrency ? 1_000 : 0,
        requestsPerMinute === null
          ? 0
          : firstMoment(nowMs, (atMs) => counted(atMs) < requestsPerMinute) - nowMs,
        tokensPerMinute === null
          ? 0
          : firstMoment(nowMs, (atMs) => tokens(atMs) + guess <= tokensPerMinute) - nowMs,
      );
    },
    add(nowMs: number, input: number, output: number): PlainRequest {
      const request = { admittedMs: nowMs, guess: guessOf(input, output) };
      requests.push(request);
      return request;
    },
    requests,
  };
}

const limitOf = (max: number) => fc.option(fc.integer({ min: 1, max }), { nil: null });
const small = fc.integer({ min: 0, max: 60 });
const stepOf = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant("ask" as const), input: small, output: small }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("end" as const), which: fc.nat(20), input: small, output: small }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.oneof(fc.nat(50), fc.nat(70_000)) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("jump" as const),
      ms: fc.integer({ min: -10_000_000, max: 10_000_000 }),
    }),
  },
);

test("any history: admitted and refused as by plain counting, with the same waits, and no window above its limit", () => {
  fc.assert(
    fc.property(
      fc.record({ requestsPerMinute: limitOf(6), tokensPerMinute: limitOf(200), concurrency: limitOf(4) }),
      fc.array(stepOf, { maxLength: 80 }),
      (limits, steps) => {
        const { admit, state, move, jump } = createBench(limits);
        const plain = createPlainLimiter(limits);
        const underWay: { readonly pass: Pass; readonly request: PlainRequest }[] = [];
        let nowMs = 0;
        for (const step of steps) {
          if (step.do === "wait") {
            nowMs += step.ms;
            move(step.ms);
          } else if (step.do === "jump") {
            jump(step.ms);
          } else if (step.do === "end") {
            const [ended] = underWay.splice(step.which % Math.max(1, underWay.length), 1);
            const used = { input: step.input, output: step.output };
            if (ended === undefined) continue;
            ended.pass.end(used);
            Object.assign(ended.request, { endedMs: nowMs, used });
          } else {
            const wait = plain.waitMs(nowMs, step.input, step.output);
            const decision = admit(step.input, step.output);
            if (decision.ok) {
              expect(wait).toBe(0);
              underWay.push({ pass: decision, request: plain.add(nowMs, step.input, step.output) });
            } else expect(decision.retryAfterMs ?? Infinity).toBe(wait);
          }
          const { requests, tokens } = state();
          if (limits.requestsPerMinute !== null)
            expect(requests?.remaining).toBe(limits.requestsPerMinute - plain.counted(nowMs));
          if (limits.tokensPerMinute !== null)
            expect(tokens?.remaining).toBe(Math.max(0, limits.tokensPerMinute - plain.tokens(nowMs)));
        }
        for (const { admittedMs } of plain.requests)
          expect(plain.counted(admittedMs)).toBeLessThanOrEqual(limits.requestsPerMinute ?? Infinity);
      },
    ),
    RUNS,
  );
});
