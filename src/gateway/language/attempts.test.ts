import { describe, expect, test } from "bun:test";
import { createFakeClock } from "../../../test/gateway/fake-clock.ts";
import { GatewayError } from "../../core/errors.ts";
import type { AnswerContext } from "../../protocols/protocol.ts";
import { readRefusal } from "../../protocols/refusal.ts";
import { createRouting, type Routing } from "../routing/routing.ts";
import { DEFAULT_ROUTING, type RoutingSettings } from "../routing/settings.ts";
import { type Attempts, type Candidate, openAttempts, type Sendable, type Until } from "./attempts.ts";

interface Sent extends Sendable<Sent> {
  readonly name: string;
}

const KEPT = { body: { isKept: true } };
const SIGNED = new Set(["signed"]);

/** Routes of one model, `provider/credential` each, and what requests of them become. */
function waysOf(names: readonly string[], settings: Partial<RoutingSettings> = {}) {
  const clock = createFakeClock();
  const routes = new Map<string, Candidate<Sent>["way"]["route"]>();
  const prepared = (name: string, marks: ReadonlySet<string>): Sent => ({
    ...KEPT,
    name: [name, ...marks].join(" "),
    ...(marks.size > 0 && { unsigned: () => prepared(name, new Set()) }),
  });
  const candidates = names.map((name): Candidate<Sent> => {
    const [provider = "", credential = ""] = name.split("/");
    const route = routes.get(provider) ?? { provider, upstreamId: "up" };
    routes.set(provider, route);
    return {
      way: {
        key: { model: "m", provider, upstreamId: "up", credential },
        route,
        bounds: {},
        failsAsAsked: false,
      },
      prepare: () => prepared(name, SIGNED),
    };
  });
  const routing = createRouting({
    clock,
    random: { bytes: (count) => new Uint8Array(count) },
    settings: () => ({ ...DEFAULT_ROUTING, ...settings }),
    ways: () => candidates.map(({ way }) => way.key),
  });
  const retries: string[] = [];
  const open = (ways = candidates): Attempts<Sent> =>
    openAttempts(
      { routing, clock },
      { candidates: ways },
      { retried: (...retry) => void retries.push(retry.join(" ")) },
    );
  const underWay = (): number =>
    candidates.reduce((sum, { way }) => sum + routing.health.look(way.key).underWay, 0);
  return { clock, routing, candidates, open, underWay, retries };
}

const CONTEXT = { model: "m", secrets: [], nowSec: 1 } as unknown as AnswerContext;
const answer = (status: number) => ({ status, stream: false });
const refused = (status: number, error: object = {}): GatewayError =>
  readRefusal(
    { status, body: new TextEncoder().encode(JSON.stringify({ error })), retryAfter: null },
    CONTEXT,
  );
const limited = (retryAfter: string): GatewayError =>
  readRefusal({ status: 429, body: new Uint8Array(), retryAfter }, CONTEXT);
const UNTRUSTED = new GatewayError("upstream_error", "x", {
  cause: Object.assign(new Error("x"), { code: "CERT_HAS_EXPIRED" }),
});
const NOBODY = new GatewayError("upstream_error", "x", {
  cause: Object.assign(new Error("x"), { code: "ECONNREFUSED" }),
});
const UNSIGNED = refused(400, { message: "messages.1.content.0: Invalid `signature` in `thinking` block" });
const here: Until = { signal: new AbortController().signal, lateMs: Infinity };

/** The retries that the budget has left; takes them. */
function left({ budget }: Pick<Routing, "budget">): number {
  let count = 0;
  while (budget.take()) count += 1;
  return count;
}

describe("a request that fails", () => {
  test("tells of each retry who failed, why, and what the next attempt changes", async () => {
    const { open, retries } = waysOf(["a/1", "a/2", "b/1"], { breakerFailures: 0 });
    const tries = open();
    await tries.first(here);
    await tries.next(UNSIGNED, answer(400));
    await tries.next(refused(500), answer(500));
    expect(await tries.next(refused(500), answer(500))).toBeUndefined();
    const others = open();
    await others.first(here);
    await others.next(UNTRUSTED, undefined);
    expect(await others.next(refused(400), answer(400))).toBeUndefined();
    const again = open();
    await again.first(here);
    await again.next(refused(500), answer(500));
    expect(retries).toEqual([
      "a signatures same",
      "a failed route",
      "a untrusted route",
      "a failed credential",
    ]);
  });

  test("counts once against a credential, whatever its attempts, and once against each", async () => {
    const { clock, candidates, open, routing } = waysOf(["a/1", "a/2"]);
    const failures = (): readonly number[] =>
      candidates.map(({ way }) => routing.health.look(way.key).failures);
    const alone = candidates.slice(0, 1);
    const fail = async (ways: Candidate<Sent>[]): Promise<void> => {
      const tries = open(ways);
      await tries.first(here);
      for (const status of [500, 503, 500]) {
        const next = tries.next(refused(status), answer(status));
        await clock.advance(0);
        await clock.advance(5_000);
        await next;
      }
    };
    await fail(alone);
    expect(failures()).toEqual([1, 0]);
    await fail(candidates);
    expect(failures()).toEqual([2, 1]);
    for (let i = 0; i < 3; i += 1) await fail(alone);
    expect(routing.health.look(alone[0]!.way.key).state).toBe("open");
  });

  test("counts against a credential although an earlier call there said nothing of it", async () => {
    for (const [status, error] of [
      [429, limited("1")],
      [408, refused(408)],
    ] as const) {
      const { clock, candidates, open, routing } = waysOf(["a/1"]);
      const failures = (): number => routing.health.look(candidates[0]!.way.key).failures;
      const tries = open();
      await tries.first(here);
      const next = tries.next(error, answer(status));
      await clock.advance(0);
      await clock.advance(5_000);
      expect([status, await next, failures()]).toEqual([status, expect.anything(), 0]);
      tries.end(refused(500), answer(500));
      expect([status, failures()]).toEqual([status, 1]);
    }
  });

  test("never comes back to a way that an earlier failure has ruled out", async () => {
    const { open } = waysOf(["a/1", "a/2", "b/1", "c/1"], { breakerFailures: 0 });
    const tries = open();
    expect((await tries.first(here)).name).toBe("a/1 signed");
    expect((await tries.next(UNTRUSTED, undefined))?.name).toBe("b/1 signed");
    expect((await tries.next(NOBODY, undefined))?.name).toBe("c/1 signed");
  });

  test("to reach a server goes to other servers first, then to that one by another credential", async () => {
    const { open } = waysOf(["a/1", "a/2", "a/3", "b/1"]);
    const tries = open();
    await tries.first(here);
    expect((await tries.next(NOBODY, undefined))?.name).toBe("b/1 signed");
    expect((await tries.next(NOBODY, undefined))?.name).toBe("a/2 signed");
  });

  test("goes by ways whose last call failed behind all others while no retry is left, and in their order again after", async () => {
    const { open, routing } = waysOf(["a/1", "b/1", "c/1"], { retryBudget: 0.25 });
    const fail = async (): Promise<void> => {
      const tries = open();
      await tries.first(here);
      tries.end(refused(500), answer(500));
    };
    await fail();
    expect((await open().first(here)).name).toBe("a/1 signed");
    expect(left(routing)).toBe(10);
    expect((await open().first(here)).name).toBe("b/1 signed");
    for (let i = 0; i < 2; i += 1) expect((await open().first(here)).name).toBe("b/1 signed");
    // Four requests have earned a retry.
    expect((await open().first(here)).name).toBe("a/1 signed");
  });

  test("by the only way that there is takes it, though no retry is left and its last call failed", async () => {
    const { open, routing } = waysOf(["a/1"]);
    const tries = open();
    await tries.first(here);
    tries.end(refused(500), answer(500));
    left(routing);
    expect((await open().first(here)).name).toBe("a/1 signed");
  });

  test("is not tried again by a way that another request's limit keeps back for longer than it waits", async () => {
    const { routing, open } = waysOf(["a/1"]);
    const [one, other] = [open(), open()];
    await one.first(here);
    await other.first(here);
    other.end(limited("6"), answer(429));
    expect(await one.next(refused(503), answer(503))).toBeUndefined();
    expect(left(routing)).toBe(10);
  });

  test("takes nothing of the budget where there is no way left", async () => {
    const { open, routing, candidates } = waysOf(["a/1"], { breakerFailures: 0 });
    for (let i = 0; i < 40; i += 1) {
      const tries = open(candidates);
      await tries.first(here);
      expect(await tries.next(refused(401), answer(401))).toBeUndefined();
    }
    expect(left(routing)).toBe(10);
  });

  const leaving: readonly (readonly [string, (tries: Attempts<Sent>, leave: () => void) => void])[] = [
    ["its client leaves", (tries, leave) => (tries.end(), leave())],
    ["its time is over", (_tries, leave) => leave()],
  ];
  for (const [what, goes] of leaving) {
    test(`is not sent again, and counts and costs no retry, where ${what} while the next way is prepared`, async () => {
      const { open, candidates, retries, routing, underWay } = waysOf(["a/1", "b/1"]);
      const { promise, resolve } = Promise.withResolvers<Sent | undefined>();
      const [first, second] = candidates as [Candidate<Sent>, Candidate<Sent>];
      const tries = open([first, { ...second, prepare: () => promise }]);
      const client = new AbortController();
      await tries.first({ ...here, signal: client.signal });
      const next = tries.next(refused(401), answer(401));
      goes(tries, () => client.abort(new Error("gone")));
      resolve(await second.prepare());
      expect(next).rejects.toThrow("gone");
      await next.catch(() => {});
      expect([retries, underWay(), left(routing)]).toEqual([[], 0, 10]);
      expect(routing.health.snapshot().map(({ calls }) => calls)).toEqual([1, 0]);
    });
  }

  test("counts and costs no retry where its client leaves in the pause before it", async () => {
    const { open, retries, routing, underWay } = waysOf(["a/1"]);
    const tries = open();
    const client = new AbortController();
    await tries.first({ ...here, signal: client.signal });
    const next = tries.next(refused(503), answer(503));
    client.abort(new Error("gone"));
    expect(next).rejects.toThrow("gone");
    await next.catch(() => {});
    expect([retries, underWay(), left(routing)]).toEqual([[], 0, 10]);
  });

  test("is not sent again where its answer would be late before the pause has ended", async () => {
    for (const [ms, sent] of [
      [3_000, false],
      [6_000, true],
    ] as const) {
      const { clock, open, retries } = waysOf(["a/1"]);
      const tries = open();
      await tries.first({ ...here, lateMs: clock.steadyMs() + ms });
      const next = tries.next(limited("4"), answer(429));
      await clock.advance(0);
      await clock.advance(5_000);
      expect([ms, (await next) !== undefined, retries.length]).toEqual([ms, sent, sent ? 1 : 0]);
    }
  });

  test("keeps to the way that served where its model is so, and leaves nothing behind where it is not", async () => {
    for (const stickyKey of [7, undefined]) {
      const { candidates, open, routing } = waysOf(["a/1", "b/1"]);
      const told: unknown[] = [];
      routing.served = (...served) => void told.push(served);
      const tries = open(candidates.map((each) => ({ ...each, stickyKey })));
      await tries.first(here);
      await tries.next(refused(500), answer(500));
      tries.answered();
      expect(told).toEqual(stickyKey === undefined ? [] : [[7, candidates[1]?.way.key]]);
    }
  });

  test("has no place once it has ended, not even one that is taken later", async () => {
    const { open, candidates, underWay } = waysOf(["a/1", "b/1", "c/1"]);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const [first, second, third] = candidates as [Candidate<Sent>, Candidate<Sent>, Candidate<Sent>];
    const tries = open([first, { ...second, prepare: () => promise }, third]);
    const client = new AbortController();
    await tries.first({ ...here, signal: client.signal });
    const next = tries.next(refused(503), answer(503));
    tries.end();
    client.abort(new Error("gone"));
    resolve(undefined);
    expect(next).rejects.toThrow("gone");
    await next.catch(() => {});
    expect(underWay()).toBe(0);
  });
});

describe("a request that alone is beyond the limit of a credential", () => {
  const MESSAGE = "Request too large for up on tokens per min (TPM): Limit 1, Requested 30.";
  const beyond = (): GatewayError => refused(429, { code: "rate_limit_exceeded", message: MESSAGE });
  const later = { kind: "overloaded_error", cause: { kind: "input_too_large" } };

  test("is refused as that once every way has said so, also beside a way that only the operator can mend", async () => {
    const { open, candidates, routing } = waysOf(["a/1", "b/1", "c/1"], { attempts: 5 });
    const closed = routing.health.admit(candidates[2]!.way.key, {});
    if ("end" in closed)
      closed.end({ kind: "failed", blame: "credential", reason: "credential_refused", opens: true });
    const tries = open();
    await tries.first(here);
    expect((await tries.next(beyond(), answer(429)))?.name).toBe("b/1 signed");
    expect(await tries.next(beyond(), answer(429))).toBeUndefined();
  });

  test("is refused as that where the way after it is then refused for what only the operator can mend", async () => {
    const tries = waysOf(["a/1", "b/1"]).open();
    await tries.first(here);
    const error = beyond();
    await tries.next(error, answer(429));
    expect(tries.next(refused(401), answer(401))).rejects.toBe(error);
  });

  test("and then at a way that may have done the work ends as that says", async () => {
    const tries = waysOf(["a/1", "b/1"]).open();
    await tries.first(here);
    await tries.next(beyond(), answer(429));
    expect(await tries.next(refused(307), answer(307))).toBeUndefined();
  });

  test("is to be sent again where another way was limited, as late as that says", async () => {
    const { open } = waysOf(["a/1", "b/1"]);
    const tries = open();
    await tries.first(here);
    await tries.next(limited("20"), answer(429));
    const last = tries.next(beyond(), answer(429));
    expect(last).rejects.toMatchObject({ ...later, retryAfterSec: 20 });
    await last.catch(() => {});
  });

  test("is to be sent again where another way waits", async () => {
    const { open } = waysOf(["a/1", "b/1"]);
    const waits = open();
    await waits.first(here);
    await waits.next(limited("20"), answer(429));
    waits.end();
    const tries = open();
    expect((await tries.first(here)).name).toBe("b/1 signed");
    const last = tries.next(beyond(), answer(429));
    expect(last).rejects.toMatchObject({ ...later, retryAfterSec: 20 });
    await last.catch(() => {});
  });

  test("is to be sent again where the bounds on attempts leave a way out", async () => {
    const once = waysOf(["a/1", "b/1"], { attempts: 1 }).open();
    await once.first(here);
    const last = once.next(beyond(), answer(429));
    expect(last).rejects.toMatchObject(later);
    await last.catch(() => {});
    const { open, routing } = waysOf(["a/1", "b/1"]);
    const tries = open();
    await tries.first(here);
    left(routing);
    const next = tries.next(beyond(), answer(429));
    expect(next).rejects.toMatchObject(later);
    await next.catch(() => {});
  });
});

describe("a provider that refuses signatures", () => {
  test("is asked once more without them, and no way is sent any after that", async () => {
    const { open } = waysOf(["a/1", "b/1"]);
    const tries = open();
    await tries.first(here);
    expect((await tries.next(UNSIGNED, answer(400)))?.name).toBe("a/1");
    expect((await tries.next(refused(503), answer(503)))?.name).toBe("b/1");
  });

  test("is asked so within the budget of all requests, and not where that is used up", async () => {
    const { open, routing } = waysOf(["a/1"]);
    const all = left(routing);
    const none = open();
    await none.first(here);
    expect(await none.next(UNSIGNED, answer(400))).toBeUndefined();
    for (let i = 0; i < all; i += 1) routing.budget.giveBack();
    const tries = open();
    await tries.first(here);
    expect((await tries.next(UNSIGNED, answer(400)))?.name).toBe("a/1");
    expect(left(routing)).toBe(9);
  });

  test("that has nothing signed in its request takes nothing of the budget", async () => {
    const { open, routing, candidates } = waysOf(["a/1"]);
    const [only] = candidates as [Candidate<Sent>];
    const tries = open([{ ...only, prepare: () => ({ ...KEPT, name: "a/1" }) }]);
    await tries.first(here);
    expect(await tries.next(UNSIGNED, answer(400))).toBeUndefined();
    expect(left(routing)).toBe(10);
  });

  test("is not asked a third time", async () => {
    const { open } = waysOf(["a/1", "b/1"]);
    const tries = open();
    await tries.first(here);
    await tries.next(UNSIGNED, answer(400));
    expect(await tries.next(UNSIGNED, answer(400))).toBeUndefined();
  });

  test("is one of three calls at the most, and of as many as the operator allows", async () => {
    const { open } = waysOf(["a/1", "b/1", "c/1"]);
    const tries = open();
    await tries.first(here);
    await tries.next(refused(503), answer(503));
    expect((await tries.next(refused(503), answer(503)))?.name).toBe("c/1 signed");
    expect(await tries.next(UNSIGNED, answer(400))).toBeUndefined();
    const once = waysOf(["a/1"], { attempts: 1 }).open();
    await once.first(here);
    expect(await once.next(UNSIGNED, answer(400))).toBeUndefined();
  });
});
