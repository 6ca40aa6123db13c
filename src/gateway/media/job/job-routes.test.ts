import { describe, expect, test } from "bun:test";
import { createFakeClock, type FakeClock } from "../../../../test/gateway/fake-clock.ts";
import {
  createTestFiles,
  createTestRun,
  routingAt,
  IMAGE,
  keepingLog,
  mediaModel,
  mediaOffer,
  type TestRun,
} from "../../../../test/gateway/media-run.ts";
import {
  createScriptedMaker,
  type MakerScript,
  refused,
  type ScriptedMaker,
  working,
} from "../../../../test/gateway/scripted-maker.ts";
import { testImage } from "../../../../test/upstream/media/result-files.ts";
import { readPrices } from "../../../catalog/prices.ts";
import type { Model, Route, RouteOrder } from "../../../core/model.ts";
import { createByteBudget } from "../../../core/bytes/byte-budget.ts";
import { GatewayError } from "../../../core/errors.ts";
import { noFailpoint } from "../../../core/failpoint.ts";
import { present } from "../../../core/json/json-value.ts";
import type { MediaStep } from "../../../providers/media.ts";
import type { MediaProvider } from "../../../providers/provider.ts";
import { createGridCutter } from "../../../runtime/images/grid-cutter.ts";
import type { TaskOutcome } from "../../../tasks/run/job.ts";
import type { Standing } from "../../routing/health.ts";
import { DEFAULT_TIMEOUTS } from "../../timeouts.ts";
import { createMediaJob } from "./job.ts";

// A task whose model has several routes: where it goes when one takes no work, and where it stays.

const done: MediaStep = { state: "done", outputs: [{ bytes: testImage() }] };
const broken = (code: string): GatewayError =>
  new GatewayError("upstream_error", "The provider could not be reached.", {
    cause: Object.assign(new Error("no"), { code }),
  });
const silent = new GatewayError("timeout_error", "The provider did not answer in time.");
const tooLarge = new GatewayError("input_too_large", "An input is too large.");

type Name = "a" | "b" | "c";

interface Scene {
  readonly clock: FakeClock;
  readonly run: TestRun;
  readonly makers: Readonly<Record<string, ScriptedMaker>>;
  /** Providers that have as many tasks as they may. */
  readonly full: Set<string>;
  /** How the provider fares, by its only credential or the one of that name. */
  standing(provider: Name, credential?: string): Standing;
  /** A run of another task, at the same providers. */
  another(first?: Name): TestRun;
  /** Every sending, by provider, with when it came. */
  sent(): readonly string[];
  begin(run?: TestRun): Promise<TaskOutcome>;
  /** Lets the run end, moving time as far as it takes. */
  end(run?: TestRun): Promise<string>;
}

/** A provider's script, or one for each of its credentials. */
type Script = MakerScript | { readonly credentials: Readonly<Record<string, MakerScript>> };

/** Providers by name, in the order of the model's routes. */
function scene(
  scripts: Partial<Record<Name, Script>>,
  more: {
    timeoutSec?: number;
    first?: Name;
    /** The order that the model is set to, and that the client asks for. */
    by?: RouteOrder;
    asks?: RouteOrder;
    /** Of each credential. */
    requestsPerMinute?: number;
    concurrency?: number;
    routes?: Partial<Record<Name, Partial<Route>>>;
  } = {},
): Scene {
  const clock = createFakeClock();
  const names = Object.keys(scripts) as Name[];
  const sendings: string[] = [];
  const makers: Record<string, ScriptedMaker> = {};
  const startMs = clock.nowMs();
  /** A maker that notes its sendings under `label`. */
  const openMaker = (name: Name, label: string, script: MakerScript): MediaProvider => {
    const maker = createScriptedMaker(script, clock, name);
    makers[label] = maker;
    const { image } = maker.provider.adapters;
    if (image === undefined) throw new Error("It makes images.");
    const create: typeof image.create = (request, call) => {
      sendings.push(`${label} ${call.reference.split(".")[1]} at ${clock.nowMs() - startMs}`);
      return image.create(request, call);
    };
    return { ...maker.provider, adapters: { image: { ...image, create } } };
  };
  const providers = names.map((name): MediaProvider => {
    const script = scripts[name] as Script;
    if (!("credentials" in script)) return openMaker(name, name, script);
    const credentials = Object.entries(script.credentials).map(([credential, each]) => ({
      name: credential,
      ...present({ requestsPerMinute: more.requestsPerMinute, concurrency: more.concurrency }),
      provider: openMaker(name, `${name} by ${credential}`, each),
    }));
    return { ...(credentials[0]?.provider as MediaProvider), credentials };
  });
  const { by = "order", routes = {} } = more;
  const listed = names.map((provider) => ({ provider, upstreamId: `${provider}-1`, ...routes[provider] }));
  const model: Model = {
    ...mediaModel("image", { prices: { image: 0.035 } }, listed),
    routing: { by, sticky: false, fallback: [] },
  };
  const full = new Set<string>();
  const routing = routingAt(clock);
  const doJob = createMediaJob({
    offer: () => mediaOffer([model], providers),
    timeouts: () => DEFAULT_TIMEOUTS,
    limitOf: ({ id }) => (full.has(id) ? 0 : 20),
    routing,
    assets: createTestFiles(),
    fetch: () => Promise.reject(new Error("Nothing is fetched.")),
    memory: createByteBudget(() => 1),
    cutGrid: createGridCutter().cut,
    clock,
    random: { bytes: (count) => new Uint8Array(count) },
    failpoint: noFailpoint,
    log: keepingLog(),
  });
  const { timeoutSec = 600, first, asks } = more;
  const openRun = (provider = first): TestRun =>
    createTestRun({
      clock,
      model,
      request: IMAGE,
      timeoutSec,
      ...(provider === undefined ? {} : { provider }),
      ...(asks === undefined ? {} : { by: asks }),
    });
  const run = openRun();
  return {
    clock,
    run,
    makers,
    full,
    standing: (provider, credential = "") =>
      routing.health.look({
        model: model.id,
        provider,
        upstreamId: `${provider}-1`,
        credential,
        media: true,
      }),
    another: openRun,
    sent: () => sendings,
    begin: (other = run) => doJob(other),
    async end(other = run) {
      let ended = false;
      const outcome = doJob(other).finally(() => (ended = true));
      for (let i = 0; i < 3_000 && !ended; i += 1) {
        if (clock.nowMs() >= other.deadlineMs) other.stop("deadline");
        await clock.advance(i === 0 ? 0 : 500);
      }
      return told(await outcome, other);
    },
  };
}

/** `failed` is the run of an outcome that may be a failure. */
function told(outcome: TaskOutcome, failed?: TestRun): string {
  if (outcome.kind === "released") return "released";
  if (outcome.kind === "completed") return `made by ${outcome.timeline.provider} for ${outcome.used}`;
  const by = failed?.timeline()?.provider;
  return `${outcome.failure.type}${outcome.unfinished ? ", unfinished" : ""} at ${by}`;
}

const MADE = "for 350000000";

describe("a task that its first route surely did not take is tried at the next at once", () => {
  const refusals: readonly (readonly [string, MediaStep | Error])[] = [
    ["takes no work now", refused("busy")],
    ["takes no work for a while", refused("busy", { retryAfterMs: 30_000 })],
    ["cannot be reached", broken("ECONNREFUSED")],
    ["has no address", broken("ENOTFOUND")],
    ["cannot show who it is", broken("CERT_HAS_EXPIRED")],
    ["does not accept the gateway, or does not know the model", refused("operator_fault")],
    ["takes no request so large by this credential", refused("beyond_limit")],
  ];
  for (const [name, refusal] of refusals)
    test(`where that ${name}`, async () => {
      const { end, sent, run } = scene({ a: { create: [refusal] }, b: { create: [done] } });
      expect(await end()).toBe(`made by b ${MADE}`);
      expect(sent()).toEqual(["a 1 at 0", "b 2 at 0"]);
      expect(run.steps).toEqual(["attempt", "refusal", "attempt at b"]);
    });

  test("and polled where it was taken", async () => {
    const { end, makers, run } = scene({
      a: { create: [refused("busy")], poll: [done] },
      b: { create: [working("job-b")], poll: [working("job-b"), done] },
    });
    expect(await end()).toBe(`made by b ${MADE}`);
    expect(makers["a"]?.calls).toEqual(["create 1"]);
    expect(makers["b"]?.calls).toEqual(["create 2", "poll job-b", "poll job-b"]);
    expect(run.steps.slice(-2)).toEqual(["attempt at b", "job job-b"]);
  });

  test("and at every further one, in the order of the model's routes", async () => {
    const { end, sent } = scene({
      a: { create: [refused("operator_fault")] },
      b: { create: [broken("ECONNREFUSED")] },
      c: { create: [done] },
    });
    expect(await end()).toBe(`made by c ${MADE}`);
    expect(sent()).toEqual(["a 1 at 0", "b 2 at 0", "c 3 at 0"]);
  });

  test("from where it was claimed for, whatever stands before that", async () => {
    const { end, sent } = scene(
      { a: { create: [done] }, b: { create: [refused("busy")] }, c: { create: [refused("busy")] } },
      { first: "b" },
    );
    expect(await end()).toBe(`made by a ${MADE}`);
    expect(sent()).toEqual(["b 1 at 0", "c 2 at 0", "a 3 at 0"]);
  });
});

describe("routes are tried in the model's order", () => {
  const busy = { create: [refused("busy")] };
  const costs = (usd: Partial<Record<Name, number>>): Partial<Record<Name, Partial<Route>>> =>
    Object.fromEntries(
      Object.entries(usd).map(([name, image]) => [name, { cost: readPrices({ image }).prices }]),
    );

  test("by cost, and one whose cost is not known counts at the model's price", async () => {
    const { end, sent } = scene(
      { a: busy, b: busy, c: { create: [done] } },
      { first: "b", by: "cost", routes: costs({ a: 0.04, b: 0.01 }) },
    );
    expect(await end()).toBe(`made by c ${MADE}`);
    expect(sent()).toEqual(["b 1 at 0", "c 2 at 0"]);
  });

  test("by weight, and round from where it was claimed for, after a restart too", async () => {
    const weights = { a: { weight: 1e-9 }, b: { weight: 1 }, c: { weight: 1e9 } };
    const { begin, end, sent, run, clock, full } = scene(
      { a: { create: [done] }, b: busy, c: busy },
      { first: "b", by: "weight", routes: weights },
    );
    full.add("a");
    const first = begin();
    await clock.advance(0);
    run.stop("shutdown");
    expect(told(await first)).toBe("released");
    await clock.advance(10_000);
    full.delete("a");
    expect(await end(run.next())).toBe(`made by a ${MADE}`);
    expect(sent()).toEqual(["b 1 at 0", "c 2 at 0", "b 3 at 10000", "a 4 at 10000"]);
  });

  test("by latency: of the whole work, whether its maker answers then or is polled", async () => {
    const { begin, end, sent, another, clock, standing, makers } = scene(
      {
        a: { create: [working("job", 100)], poll: [working("job", 29_900), done] },
        b: { create: ["later", done] },
        c: busy,
      },
      { by: "latency" },
    );
    expect(await end()).toBe(`made by a ${MADE}`);
    const slow = begin(another("b"));
    await clock.advance(0);
    await clock.advance(10_000);
    expect(standing("b").latencyMs).toBeUndefined();
    makers["b"]?.answer(done);
    expect(told(await slow)).toBe(`made by b ${MADE}`);
    expect([standing("a").latencyMs, standing("b").latencyMs, standing("c").latencyMs]).toEqual([
      30_000,
      10_000,
      undefined,
    ]);
    const before = sent().length;
    expect(await end(another("c"))).toBe(`made by b ${MADE}`);
    expect(
      sent()
        .slice(before)
        .map((sending) => sending[0]),
    ).toEqual(["c", "b"]);
  });

  test("and in that which the client asks for, where it does", async () => {
    const { end, sent } = scene(
      { a: busy, b: busy, c: { create: [done] } },
      { first: "b", by: "order", asks: "cost", routes: costs({ a: 0.04, b: 0.01 }) },
    );
    expect(await end()).toBe(`made by c ${MADE}`);
    expect(sent()).toEqual(["b 1 at 0", "c 2 at 0"]);
  });

  test("a job that another process began says nothing of how long it takes", async () => {
    const { end, run, standing } = scene({ a: { create: [], poll: [done] } }, { by: "latency" });
    await run.beginAttempt();
    await run.noteJob("job");
    expect(await end(run.next())).toBe(`made by a ${MADE}`);
    expect(standing("a").latencyMs).toBeUndefined();
  });
});

describe("a task that may have been begun, or was judged, stays at its route", () => {
  const ends: readonly (readonly [string, MediaStep | Error, string, readonly string[]])[] = [
    ["no clear answer", refused("unclear"), "generation_error, unfinished", ["a 1 at 0", "a 2 at 1000"]],
    ["a reset", broken("ECONNRESET"), "generation_error, unfinished", ["a 1 at 0", "a 2 at 1000"]],
    ["silence", silent, "timeout_error, unfinished", ["a 1 at 0"]],
    ["moderation", refused("moderation"), "content_moderation", ["a 1 at 0"]],
    ["a refusal as invalid", refused("invalid_request"), "invalid_request_error", ["a 1 at 0"]],
    ["a refusal as too large", refused("input_too_large"), "input_too_large", ["a 1 at 0"]],
    ["an input that cannot be had", tooLarge, "input_too_large", ["a 1 at 0"]],
    ["work that came to nothing", refused("failed"), "generation_error", ["a 1 at 0"]],
  ];
  for (const [name, answer, want, calls] of ends)
    test(`after ${name}`, async () => {
      const { end, sent } = scene({ a: { create: [answer] }, b: { create: [done] } });
      expect(await end()).toBe(`${want} at a`);
      expect(sent()).toEqual([...calls]);
    });

  test("for as long as that takes no work afterwards", async () => {
    const { end, sent } = scene({
      a: { create: [refused("unclear"), refused("busy"), refused("busy"), done] },
      b: { create: [done] },
    });
    expect(await end()).toBe(`made by a ${MADE}`);
    expect(sent()).toEqual(["a 1 at 0", "a 2 at 1000", "a 3 at 2000", "a 4 at 4000"]);
  });

  test("and fails where that then does not accept the gateway", async () => {
    const { end, sent } = scene({
      a: { create: [broken("ECONNRESET"), refused("operator_fault")] },
      b: { create: [done] },
    });
    expect(await end()).toBe("generation_error, unfinished at a");
    expect(sent()).toEqual(["a 1 at 0", "a 2 at 1000"]);
  });

  test("once a provider has named its job, whatever that says then", async () => {
    const { end, makers } = scene({
      a: { create: [working()], poll: [refused("operator_fault")] },
      b: { create: [done] },
    });
    expect(await end()).toBe("generation_error, unfinished at a");
    expect(makers["b"]?.calls).toEqual([]);
  });

  test("which may be the second", async () => {
    const { end, sent } = scene({
      a: { create: [refused("busy"), done] },
      b: { create: [broken("ECONNRESET"), refused("busy"), done] },
    });
    expect(await end()).toBe(`made by b ${MADE}`);
    expect(sent()).toEqual(["a 1 at 0", "b 2 at 0", "b 3 at 1000", "b 4 at 2000"]);
  });
});

describe("where no route takes work", () => {
  test("they are tried in turns, each after its own wait", async () => {
    const { end, sent } = scene({
      a: { create: [refused("busy", { retryAfterMs: 5_000 }), refused("busy"), done] },
      b: { create: [refused("busy"), refused("busy"), refused("busy"), refused("busy")] },
    });
    expect(await end()).toBe(`made by a ${MADE}`);
    expect(sent()).toEqual([
      "a 1 at 0",
      "b 2 at 0",
      "b 3 at 1000",
      "b 4 at 3000",
      "a 5 at 5000",
      "a 6 at 7000",
    ]);
  });

  test("it fails as overloaded before its deadline, at nobody's loss, and is sent no more than each allows", async () => {
    const { end, sent, clock, run } = scene(
      { a: { create: [refused("busy")] }, b: { create: [refused("busy", { retryAfterMs: 60_000 })] } },
      { timeoutSec: 50 },
    );
    expect(await end()).toBe("overloaded_error at a");
    expect(clock.nowMs()).toBeLessThan(run.deadlineMs);
    expect(sent()).toEqual([
      "a 1 at 0",
      "b 2 at 0",
      "a 3 at 1000",
      "a 4 at 3000",
      "a 5 at 7000",
      "a 6 at 15000",
      "a 7 at 31000",
    ]);
    expect(run.steps.filter((step) => step.startsWith("attempt"))).toHaveLength(7);
    expect(run.steps.filter((step) => step === "refusal")).toHaveLength(7);
  });

  test("one that does not accept the gateway is left out of the next round", async () => {
    const { end, sent } = scene({
      a: { create: [refused("busy"), refused("busy"), done] },
      b: { create: [refused("operator_fault"), done] },
    });
    expect(await end()).toBe(`made by a ${MADE}`);
    expect(sent()).toEqual(["a 1 at 0", "b 2 at 0", "a 3 at 1000", "a 4 at 3000"]);
  });

  test("it fails at once where none accepts the gateway, and nobody is at work on it", async () => {
    const { end, sent } = scene({
      a: { create: [refused("operator_fault")] },
      b: { create: [broken("CERT_HAS_EXPIRED")] },
    });
    expect(await end()).toBe("generation_error at b");
    expect(sent()).toEqual(["a 1 at 0", "b 2 at 0"]);
  });
});

describe("a request that alone is more than the credential may use in a minute", () => {
  test("goes to another credential, and the refusal counts against no route", async () => {
    const { end, sent, standing } = scene({
      a: { credentials: { K1: { create: [refused("beyond_limit")] }, K2: { create: [done] } } },
    });
    expect(await end()).toBe(`made by a ${MADE}`);
    expect(sent()).toEqual(["a by K1 1 at 0", "a by K2 2 at 0"]);
    expect(standing("a", "K1")).toMatchObject({ state: "healthy", failures: 0 });
  });

  test("fails at once where no route takes it, and nobody is at work on it", async () => {
    const beyond = { create: [refused("beyond_limit")] };
    const { end, sent } = scene({ a: beyond, b: beyond });
    expect(await end()).toBe("input_too_large at b");
    expect(sent()).toEqual(["a 1 at 0", "b 2 at 0"]);
  });

  for (const names of [
    ["a", "b"],
    ["b", "a"],
  ] as const)
    test(`is told so beside a route that only the operator can mend: ${names.join(" and ")}`, async () => {
      const scripts = {
        a: { create: [refused("beyond_limit")] },
        b: { create: [refused("operator_fault")] },
      };
      const { end } = scene(scripts, { first: names[0] });
      expect(await end()).toBe(`input_too_large at ${names[1]}`);
    });

  test("waits for a route that is only busy, and is not sent again to the one that refused", async () => {
    const { end, sent } = scene({
      a: { create: [refused("beyond_limit")] },
      b: { create: [refused("busy"), done] },
    });
    expect(await end()).toBe(`made by b ${MADE}`);
    expect(sent()).toEqual(["a 1 at 0", "b 2 at 0", "b 3 at 1000"]);
  });

  test("is refused anew by a run after a restart", async () => {
    const { begin, end, sent, run, clock } = scene({
      a: { create: [refused("beyond_limit")] },
      b: { create: [refused("busy"), refused("beyond_limit")] },
    });
    const first = begin();
    await clock.advance(0);
    run.stop("shutdown");
    expect(told(await first)).toBe("released");
    expect(await end(run.next())).toBe("input_too_large at b");
    expect(sent()).toEqual(["a 1 at 0", "b 2 at 0", "a 3 at 0", "b 4 at 1000"]);
  });

  test("stays where an earlier attempt is in doubt, which the operator may have to pay for", async () => {
    const { end, sent } = scene({
      a: { create: [refused("unclear"), refused("beyond_limit")] },
      b: { create: [done] },
    });
    expect(await end()).toBe("input_too_large, unfinished at a");
    expect(sent()).toEqual(["a 1 at 0", "a 2 at 1000"]);
  });
});

describe("a route is left out", () => {
  test("where its provider cannot be asked for all of the request", async () => {
    const { end, sent, run } = scene({
      a: { create: [refused("busy"), done] },
      b: { create: [done], lacks: "mask" },
    });
    expect(await end()).toBe(`made by a ${MADE}`);
    expect(sent()).toEqual(["a 1 at 0", "a 2 at 1000"]);
    expect(run.steps).toEqual(["attempt", "refusal", "attempt"]);
  });

  test("also where it is the first", async () => {
    const { end, sent, run } = scene({ a: { create: [done], lacks: "mask" }, b: { create: [done] } });
    expect(await end()).toBe(`made by b ${MADE}`);
    expect(sent()).toEqual(["b 1 at 0"]);
    expect(run.steps).toEqual(["attempt at b"]);
  });

  test("and where that leaves none, the client is told what cannot be used", async () => {
    const { begin, sent, run } = scene({
      a: { create: [done], lacks: "mask" },
      b: { create: [done], lacks: "size" },
    });
    expect(await begin()).toMatchObject({
      kind: "failed",
      failure: { type: "invalid_request_error", message: expect.stringContaining("mask cannot be used") },
      unfinished: false,
    });
    expect(sent()).toEqual([]);
    expect(run.steps).toEqual([]);
  });

  test("while its provider has as many tasks as it may", async () => {
    const { end, sent, full, run, clock } = scene({
      a: { create: [refused("busy"), refused("busy"), refused("busy"), done] },
      b: { create: [done] },
      c: { create: [refused("busy")] },
    });
    full.add("b");
    clock.setTimer(2_000, () => full.delete("b"));
    expect(await end()).toBe(`made by b ${MADE}`);
    expect(sent()).toEqual([
      "a 1 at 0",
      "c 2 at 0",
      "a 3 at 1000",
      "c 4 at 1000",
      "a 5 at 3000",
      "b 6 at 3000",
    ]);
    expect(run.steps.at(-1)).toBe("attempt at b");
  });

  test("which is no call, so that its minute is not used up", async () => {
    const { end, full, clock } = scene(
      {
        a: { create: Array(5).fill(refused("busy")) },
        b: { credentials: { K1: { create: [done] } } },
      },
      { requestsPerMinute: 2 },
    );
    full.add("b");
    clock.setTimer(8_000, () => full.delete("b"));
    expect(await end()).toBe(`made by b ${MADE}`);
    expect(clock.steadyMs() - createFakeClock().steadyMs()).toBeLessThan(30_000);
  });
});

describe("what one task has met, the next one knows", () => {
  test("a provider that does not accept the gateway is not asked by the next, for a while", async () => {
    const { end, sent, another, clock } = scene({
      a: { create: [refused("operator_fault"), done] },
      b: { create: [done] },
    });
    await end();
    expect(await end(another())).toBe(`made by b ${MADE}`);
    expect(sent()).toEqual(["a 1 at 0", "b 2 at 0", "b 1 at 0"]);
    await clock.advance(60_000);
    expect(await end(another())).toBe(`made by a ${MADE}`);
  });

  test("and is asked all the same where no other takes work: the client is told at once", async () => {
    const { end, sent, another } = scene({ a: { create: [refused("operator_fault")] } });
    for (let tasks = 0; tasks < 3; tasks += 1) expect(await end(another())).toBe("generation_error at a");
    expect(sent()).toEqual(["a 1 at 0", "a 1 at 0", "a 1 at 0"]);
  });

  test("and is not asked while another is to be waited for", async () => {
    const { end, sent, another } = scene({
      a: { create: [refused("operator_fault")] },
      b: { create: [refused("busy"), refused("busy"), done] },
    });
    expect(await end()).toBe(`made by b ${MADE}`);
    expect(sent()).toEqual(["a 1 at 0", "b 2 at 0", "b 3 at 1000", "b 4 at 3000"]);
    expect(await end(another())).toBe(`made by b ${MADE}`);
    expect(sent().slice(4)).toEqual(["b 1 at 3000"]);
  });

  test("one that asked for a pause has it", async () => {
    const { end, sent, another, clock } = scene({
      a: { create: [refused("busy", { retryAfterMs: 5_000 }), done] },
      b: { create: [done] },
    });
    await end();
    const next = another();
    expect(await end(next)).toBe(`made by b ${MADE}`);
    expect(next.steps).toEqual(["attempt at b"]);
    await clock.advance(5_000);
    expect(await end(another())).toBe(`made by a ${MADE}`);
    expect(sent()).toEqual(["a 1 at 0", "b 2 at 0", "b 1 at 0", "a 1 at 5000"]);
  });

  test("one that broke for some in a row is left alone, also by a task that would stay there", async () => {
    const { end, sent, another, clock, run } = scene({
      a: { create: [...Array<MediaStep>(5).fill(refused("unclear")), done] },
      b: { create: [done] },
    });
    expect(await end()).toBe("generation_error, unfinished at a");
    expect(await end(another())).toBe("generation_error, unfinished at a");
    // The fifth opens the breaker for ten seconds; where nobody knows what became of the task it waits for it.
    expect(await end(another())).toBe(`made by a ${MADE}`);
    const [, , , , fifth = "", sixth = ""] = sent();
    expect([fifth, sixth].map((sending) => sending.replace(/\d+$/, ""))).toEqual(["a 1 at ", "a 2 at "]);
    const atMs = (sending: string): number => Number(sending.split(" at ")[1]);
    expect(atMs(sixth) - atMs(fifth)).toBe(10_000);
    expect(clock.nowMs()).toBeLessThan(run.deadlineMs);
  });

  test("a call that was stopped says nothing, and leaves its place", async () => {
    const { begin, end, another, sent, clock, run } = scene({ a: { create: ["never", done] } });
    const first = begin();
    await clock.advance(0);
    run.stop("lost");
    expect(told(await first)).toBe("released");
    expect(await end(another())).toBe(`made by a ${MADE}`);
    expect(sent()).toEqual(["a 1 at 0", "a 1 at 0"]);
  });
});

describe("a provider with several credentials", () => {
  test("is tried by each, before another provider is", async () => {
    const { end, sent, run } = scene({
      a: { credentials: { K1: { create: [refused("operator_fault")] }, K2: { create: [refused("busy")] } } },
      b: { create: [done] },
    });
    expect(await end()).toBe(`made by b ${MADE}`);
    expect(sent()).toEqual(["a by K1 1 at 0", "a by K2 2 at 0", "b 3 at 0"]);
    expect(run.steps).toEqual(["attempt", "refusal", "attempt", "refusal", "attempt at b"]);
  });

  test("polls a job by that with which it was begun, after a restart too", async () => {
    const { begin, end, run, makers, clock } = scene({
      a: {
        credentials: {
          K1: { create: [refused("busy")], poll: [done] },
          K2: { create: [working("job-2")], poll: ["never", done] },
        },
      },
    });
    const first = begin();
    await clock.advance(0);
    await clock.advance(2_000);
    run.stop("shutdown");
    expect(told(await first)).toBe("released");
    expect(run.steps.at(-1)).toBe("job job-2  K2");
    const next = run.next();
    expect(await end(next)).toBe(`made by a ${MADE}`);
    expect(makers["a by K1"]?.calls).toEqual(["create 1"]);
    expect(makers["a by K2"]?.calls).toEqual(["create 2", "poll job-2", "poll job-2"]);
  });

  test("polls a job by the first where the credential that began it is gone", async () => {
    const { end, run, makers } = scene({ a: { credentials: { K1: { create: [], poll: [done] } } } });
    await run.beginAttempt();
    await run.noteJob("job-2  K2");
    expect(await end(run.next())).toBe(`made by a ${MADE}`);
    expect(makers["a by K1"]?.calls).toEqual(["poll job-2"]);
  });

  test("repeats what may have been begun by the same credential", async () => {
    const { end, sent } = scene({
      a: {
        credentials: { K1: { create: [refused("busy"), done] }, K2: { create: [refused("unclear"), done] } },
      },
    });
    expect(await end()).toBe(`made by a ${MADE}`);
    expect(sent()).toEqual(["a by K1 1 at 0", "a by K2 2 at 0", "a by K2 3 at 1000"]);
  });
});

describe("a credential's bounds hold for every call that begins work:", () => {
  const endings: readonly (readonly [string, MakerScript])[] = [
    ["that is done", { create: [done] }],
    ["whose job is polled", { create: [working()], poll: [working(), done] }],
    ["that is refused for good", { create: [refused("moderation")] }],
    ["that does not accept the gateway", { create: [refused("operator_fault")] }],
    ["that takes no work, then some", { create: [refused("busy"), done] }],
    ["in doubt, and its repetition", { create: [refused("unclear"), done] }],
    ["that reaches no server", { create: [broken("ECONNREFUSED"), done] }],
    ["that breaks off", { create: [broken("ECONNRESET"), done] }],
    ["to a server that is not trusted", { create: [broken("CERT_HAS_EXPIRED")] }],
    ["that is silent", { create: [silent] }],
    ["whose input is too large", { create: [tooLarge] }],
  ];
  for (const [name, script] of endings)
    test(`one ${name} gives its place back`, async () => {
      const { end, standing } = scene({ a: { credentials: { K1: script } } }, { concurrency: 1 });
      await end();
      expect(standing("a", "K1").underWay).toBe(0);
    });

  test("one takes its place before it is made, and the next task waits for that", async () => {
    const { begin, another, sent, clock, standing, makers } = scene(
      { a: { credentials: { K1: { create: ["later", done] } } } },
      { concurrency: 1 },
    );
    const first = begin();
    const second = another();
    const other = begin(second);
    await clock.advance(0);
    await clock.advance(1_000);
    expect([standing("a", "K1").underWay, sent().length]).toEqual([1, 1]);
    makers["a by K1"]?.answer(done);
    await first;
    await clock.advance(1_000);
    expect(told(await other)).toBe(`made by a ${MADE}`);
  });

  test("one is made where none accepts the gateway, within its minute all the same", async () => {
    const { end, another, sent } = scene(
      { a: { credentials: { K1: { create: [refused("operator_fault")] } } } },
      { requestsPerMinute: 2 },
    );
    for (let tasks = 0; tasks < 3; tasks += 1) expect(await end(another())).toBe("generation_error at a");
    expect(sent()).toEqual(["a by K1 1 at 0", "a by K1 1 at 0", "a by K1 1 at 60000"]);
  });

  test("one that is accepted again opens the credential to others at once", async () => {
    const untrusted = Array<Error>(5).fill(broken("CERT_HAS_EXPIRED"));
    const { end, another, standing } = scene({
      a: { credentials: { K1: { create: [...untrusted, done] } } },
    });
    for (let tasks = 0; tasks < 5; tasks += 1) await end(another());
    expect(standing("a", "K1").state).toBe("open");
    expect(await end(another())).toBe(`made by a ${MADE}`);
    expect(standing("a", "K1").state).toBe("healthy");
  });
});

describe("the run after one that was left behind", () => {
  test("begins behind the provider that refused the task last", async () => {
    const { begin, end, run, sent, clock, full } = scene({
      a: { create: [refused("busy"), done] },
      b: { create: [done] },
    });
    full.add("b");
    const first = begin();
    await clock.advance(0);
    run.stop("shutdown");
    expect(told(await first)).toBe("released");
    full.delete("b");
    expect(await end(run.next())).toBe(`made by b ${MADE}`);
    expect(sent()).toEqual(["a 1 at 0", "b 2 at 0"]);
  });

  test("stays where the task may have been begun", async () => {
    const { begin, end, run, sent, clock } = scene({
      a: { create: [refused("busy"), done] },
      b: { create: ["never", done] },
    });
    const first = begin();
    await clock.advance(0);
    run.stop("shutdown");
    await clock.advance(3_000);
    expect(told(await first)).toBe("released");
    const next = run.next();
    expect(next.provider).toBe("b");
    expect(await end(next)).toBe(`made by b ${MADE}`);
    expect(sent()).toEqual(["a 1 at 0", "b 2 at 0", "b 3 at 3000"]);
  });

  test("polls the job of the second route", async () => {
    const { begin, end, run, makers, clock } = scene({
      a: { create: [refused("busy"), done] },
      b: { create: [working("job-b")], poll: ["never", done] },
    });
    const first = begin();
    await clock.advance(0);
    await clock.advance(2_000);
    run.stop("shutdown");
    expect(told(await first)).toBe("released");
    expect(await end(run.next())).toBe(`made by b ${MADE}`);
    expect(makers["a"]?.calls).toEqual(["create 1"]);
    expect(makers["b"]?.calls).toEqual(["create 2", "poll job-b", "poll job-b"]);
  });

  test("begins elsewhere where its provider is gone that has no part in the task", async () => {
    const { end, sent, run } = scene({ b: { create: [done] } }, { first: "a" });
    expect(await end()).toBe(`made by b ${MADE}`);
    expect(sent()).toEqual(["b 1 at 0"]);
    expect(run.steps).toEqual(["attempt at b"]);
  });

  test("fails where its provider is gone that may have begun it", async () => {
    const { begin, run, sent } = scene({ b: { create: [done] } }, { first: "a" });
    await run.beginAttempt();
    expect(await begin(run.next())).toMatchObject({ kind: "failed", unfinished: true });
    expect(sent()).toEqual([]);
  });
});
