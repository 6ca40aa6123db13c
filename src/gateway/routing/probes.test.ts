import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createFakeClock, type FakeClock } from "../../../test/gateway/fake-clock.ts";
import { type Answer, jsonAnswer } from "../../../test/upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../../../test/upstream/double.ts";
import { resetAt } from "../../../test/upstream/faults.ts";
import type { ProtocolId } from "../../core/model.ts";
import type { Dialect, Provider, SpokenProtocol } from "../../providers/provider.ts";
import type { CallResult } from "./call-result.ts";
import type { WayKey } from "./way-key.ts";
import { createProber, type Prober } from "./probes.ts";
import { createRouting, type Routing } from "./routing.ts";
import { DEFAULT_ROUTING, type RoutingSettings } from "./settings.ts";

// A provider on a socket that is asked for its models while nothing else goes on. The tests say which calls are made,
// and what is learned from each answer.

const DIALECT: Dialect = { kind: "native", unknownFields: "pass", streamUsageOption: true, padding: [] };
const QUIET_MS = 30_000;
const FAILED: CallResult = { kind: "failed", blame: "credential", reason: "failed", status: 500 };
const REFUSED: CallResult = { ...FAILED, reason: "credential_refused", status: 401, opens: true };

let double: UpstreamDouble;
let clock: FakeClock;
let settings: RoutingSettings;
let providers: Map<string, Provider>;
let routing: Routing;
let prober: Prober;

beforeAll(async () => {
  double = await startUpstreamDouble();
});
afterAll(() => double.close());

beforeEach(() => {
  double.reset();
  double.handle(() => jsonAnswer(200, { object: "list", data: [] }));
  clock = createFakeClock();
  settings = { ...DEFAULT_ROUTING, probeMs: QUIET_MS };
  providers = new Map([["p", provider("p")]]);
  const ways = (): WayKey[] =>
    [...providers.values()].flatMap(({ id, credentials = [{ name: "" }] }) =>
      credentials.map(({ name }) => wayBy(id, name)),
    );
  const random = { bytes: (count: number) => new Uint8Array(count) };
  routing = createRouting({ clock, random, settings: () => settings, ways });
  prober = createProber({ clock, routing, providers: () => providers });
});
afterEach(() => prober.close());

const wayBy = (provider: string, credential = ""): WayKey => ({
  model: "a/m",
  provider,
  upstreamId: "m",
  credential,
});

const spoken = (id: ProtocolId, key: string, more: Partial<SpokenProtocol> = {}): SpokenProtocol => ({
  id,
  baseUrl: `${double.url}/base`,
  headers: { authorization: `Bearer ${key}` },
  dialect: DIALECT,
  ...more,
});

function provider(id: string, more: Partial<Provider> = {}): Provider {
  return { id, protocols: [spoken("compat_chat_completions", `key-${id}`)], secrets: [], ...more };
}

/** The calls that were made, each with its credential. */
const calls = (): readonly string[] =>
  double.requests.map(
    (request) =>
      `${request.method} ${request.target} ${request.header("authorization")?.replace("Bearer ", "")}`,
  );

/** Moves time on, and waits for the answer to the `nth` probe to be learned from. */
async function probed(nth: number, ms = QUIET_MS): Promise<void> {
  await clock.advance(ms);
  await double.waitForRequest(nth);
  // A probe that is over leaves only the timer of the next look.
  while (clock.timers() > 1) await new Promise((resolve) => setImmediate(resolve));
}

const call = (result: CallResult, by = wayBy("p")): void => {
  const place = routing.health.admit(by, {});
  if ("waitMs" in place) throw new Error(`It waits ${place.waitMs} ms.`);
  place.end(result);
};
const state = () => routing.health.look(wayBy("p")).state;
const snapshot = () => routing.health.snapshot()[0];

describe("a credential without traffic", () => {
  test("is probed once for each time of quiet, with one free call and its own credential", async () => {
    prober.start();
    await clock.advance(QUIET_MS - 1);
    expect(calls()).toEqual([]);
    await probed(1, 1);
    await probed(2);
    expect(calls()).toEqual(Array(2).fill("GET /base/models key-p"));
    expect(double.requests.map(({ body }) => body.length)).toEqual([0, 0]);
  });

  for (const [id, path] of [
    ["compat_chat_completions", "/base/models"],
    ["compat_responses", "/base/models"],
    ["compat_messages", "/base/v1/models?limit=1"],
    ["compat_generate_content", "/base/v1beta/models?pageSize=1"],
  ] as const)
    test(`is probed by the list of ${id}, where its provider prefers that`, async () => {
      providers.set("p", provider("p", { protocols: [spoken(id, "k"), spoken("compat_messages", "k")] }));
      prober.start();
      await probed(1);
      expect(calls()).toEqual([`GET ${path} k`]);
    });

  test("is probed beside others, each at its own provider", async () => {
    const other = await startUpstreamDouble();
    other.handle(() => jsonAnswer(200, {}));
    const credentials = ["K1", "K2"].map((name) => ({
      name,
      protocols: [spoken("compat_chat_completions", `key-${name}`)],
    }));
    providers.set("p", provider("p", { credentials }));
    providers.set(
      "q",
      provider("q", { protocols: [spoken("compat_messages", "key-q", { baseUrl: other.url })] }),
    );
    prober.start();
    await clock.advance(QUIET_MS / 2);
    call({ kind: "ok" }, wayBy("p", "K1"));
    await clock.advance(QUIET_MS / 2);
    await other.waitForRequest(1);
    await probed(1, 0);
    expect(calls()).toEqual(["GET /base/models key-K2"]);
    await probed(2, QUIET_MS / 2);
    expect(calls()).toEqual(["GET /base/models key-K2", "GET /base/models key-K1"]);
    expect(other.requests.map((request) => [request.target, request.header("authorization")])).toEqual([
      ["/v1/models?limit=1", "Bearer key-q"],
    ]);
    await other.close();
  });

  test("is never probed twice at once, and not asked of longer than five seconds", async () => {
    settings = { ...settings, probeMs: 1_000, breakerFailures: 1 };
    const { promise, resolve } = Promise.withResolvers<Answer>();
    double.handle(() => promise);
    prober.start();
    await clock.advance(1_000);
    const request = await double.waitForRequest(1);
    await clock.advance(4_999);
    expect([calls().length, state()]).toEqual([1, "healthy"]);
    await clock.advance(1);
    await double.waitForClientGone(request);
    while (state() === "healthy") await new Promise((resume) => setImmediate(resume));
    expect(state()).toBe("open");
    expect(snapshot()?.lastFailure?.reason).toBe("timed_out");
    resolve(jsonAnswer(200, {}));
  });

  test("is not probed where it is the sandbox's, or has no format of language models", async () => {
    const transport = () => Promise.reject(new Error("It was called."));
    providers = new Map([
      ["sandbox", provider("sandbox", { protocols: [spoken("compat_messages", "k", { transport })] })],
      ["media", provider("media", { protocols: [] })],
    ]);
    prober.start();
    await clock.advance(QUIET_MS * 3);
    expect([calls(), routing.health.snapshot().map(({ lastFailure }) => lastFailure)]).toEqual([
      [],
      [null, null],
    ]);
  });
});

describe("no probe is made", () => {
  test("unless the operator turns it on, nor any timer started for it", async () => {
    settings = DEFAULT_ROUTING;
    prober.start();
    expect(clock.timers()).toBe(0);
    await clock.advance(86_400_000);
    expect(calls()).toEqual([]);
    settings = { ...settings, probeMs: QUIET_MS };
    prober.start();
    await probed(1);
    settings = DEFAULT_ROUTING;
    prober.start();
    await clock.advance(86_400_000);
    expect([calls().length, clock.timers()]).toEqual([1, 0]);
  });

  test("of a credential with traffic, whatever became of its calls", async () => {
    prober.start();
    for (let i = 0; i < 10; i += 1) {
      await clock.advance(QUIET_MS - 1);
      call(i % 3 === 0 ? FAILED : { kind: "neutral" });
    }
    expect(calls()).toEqual([]);
    await probed(1);
  });

  test("while a call is under way by the credential, for however long", async () => {
    prober.start();
    const place = routing.health.admit(wayBy("p"), {});
    await clock.advance(QUIET_MS * 20);
    expect(calls()).toEqual([]);
    if ("end" in place) place.end({ kind: "ok" });
    await clock.advance(QUIET_MS - 1);
    expect(calls()).toEqual([]);
    await probed(1, 1);
  });

  test("after it was stopped, and those under way are let go of without a word about the provider", async () => {
    settings = { ...settings, breakerFailures: 1 };
    const { promise, resolve } = Promise.withResolvers<Answer>();
    double.handle(() => promise);
    prober.start();
    await clock.advance(QUIET_MS);
    const request = await double.waitForRequest(1);
    prober.close();
    await double.waitForClientGone(request);
    while (clock.timers() > 0) await new Promise((resume) => setImmediate(resume));
    prober.start();
    await clock.advance(QUIET_MS * 3);
    expect([calls().length, clock.timers(), state(), snapshot()?.lastFailure]).toEqual([
      1,
      0,
      "healthy",
      null,
    ]);
    resolve(jsonAnswer(200, {}));
  });
});

describe("what a probe tells", () => {
  const told: readonly (readonly [
    name: string,
    answer: Answer,
    state: "open" | "healthy",
    failures: number,
  ])[] = [
    ["a list", jsonAnswer(200, { data: [] }), "healthy", 0],
    ["a list of many models", jsonAnswer(200, { data: "x".repeat(2_000_000) }), "healthy", 0],
    [
      "a credential that is not known",
      jsonAnswer(401, { error: { message: "Incorrect API key." } }),
      "open",
      1,
    ],
    ["one that is not known, as Google says it", jsonAnswer(400, geminiBadKey()), "open", 1],
    ["one that is not let in", jsonAnswer(403, { error: { message: "Blocked." } }), "healthy", 0],
    [
      "one whose account is closed",
      jsonAnswer(403, { error: { code: "account_deactivated", message: "Closed." } }),
      "open",
      1,
    ],
    ["an account without a balance", jsonAnswer(402, {}), "open", 1],
    ["one that may only ask models, as OpenAI says it", jsonAnswer(401, openaiScopes()), "healthy", 0],
    [
      "one that may only ask models, as Anthropic says it",
      jsonAnswer(403, anthropicPermission()),
      "healthy",
      0,
    ],
    ["a server without a list: 404", jsonAnswer(404, { detail: "Not Found" }), "healthy", 0],
    ["a server without a list: 405", jsonAnswer(405, {}), "healthy", 0],
    ["a server without a list: 501", jsonAnswer(501, {}), "healthy", 0],
    ["a limited rate", jsonAnswer(429, {}), "healthy", 0],
    ["a call that it takes for wrong", jsonAnswer(400, {}), "healthy", 0],
    ["a failure", jsonAnswer(500, {}), "healthy", 1],
    ["a bad gateway", jsonAnswer(502, {}), "healthy", 1],
    ["an overload", jsonAnswer(503, {}), "healthy", 1],
    [
      "a redirect, which is not followed",
      jsonAnswer(302, {}, { headers: [["location", "/x"]] }),
      "healthy",
      1,
    ],
    ["a connection that breaks", resetAt(jsonAnswer(200, {}), "start"), "healthy", 1],
  ];
  for (const [name, answer, expected, failures] of told)
    test(`${name}: ${expected}, ${failures} failures`, async () => {
      double.handle(() => answer);
      prober.start();
      await probed(1);
      const { failed, calls: made } = snapshot() ?? {};
      expect([state(), snapshot()?.failures, snapshot()?.lastFailure !== null]).toEqual([
        expected,
        failures,
        failures > 0,
      ]);
      // Calls are those of requests.
      expect([made, failed]).toEqual([0, 0]);
      // The runtime sends a GET once more where it had kept the connection that broke.
      if (!name.includes("breaks")) expect(calls()).toHaveLength(1);
    });

  test("that nobody is there: after so many in a row the breaker is open", async () => {
    const port = await startUpstreamDouble();
    providers.set("p", provider("p", { protocols: [spoken("compat_messages", "k", { baseUrl: port.url })] }));
    await port.close();
    prober.start();
    for (let i = 1; i <= 5; i += 1) {
      expect(state()).toBe("healthy");
      await clock.advance(QUIET_MS);
      while (snapshot()?.failures !== i) await new Promise((resolve) => setImmediate(resolve));
    }
    expect([state(), snapshot()?.lastFailure?.reason]).toEqual(["open", "not_sent"]);
  });

  test("the success of a call is worth more: the next failure after a probe opens the breaker again", async () => {
    prober.start();
    for (let i = 0; i < 5; i += 1) call(FAILED);
    expect(state()).toBe("open");
    await probed(1);
    expect([state(), routing.health.look(wayBy("p")).waitMs, snapshot()?.failures]).toEqual([
      "healthy",
      0,
      4,
    ]);
    call(FAILED);
    // Twice as long as the first time.
    expect([state(), routing.health.look(wayBy("p")).waitMs]).toEqual(["open", 2_000]);
    await probed(2);
    call({ kind: "ok" });
    call(FAILED);
    expect([state(), snapshot()?.failures]).toEqual(["healthy", 1]);
  });

  test("closes a breaker before a request has to try it, also of a credential that was refused", async () => {
    settings = { ...settings, breakerMs: 3_600_000 };
    prober.start();
    call(REFUSED);
    await probed(1);
    expect(state()).toBe("healthy");
  });

  test("keeps a breaker open, so that no request tries it", async () => {
    settings = { ...settings, breakerMs: QUIET_MS + 1 };
    double.handle(() => jsonAnswer(401, {}));
    prober.start();
    call(REFUSED);
    for (let nth = 1; nth <= 5; nth += 1) {
      await probed(nth);
      expect(routing.health.look(wayBy("p")).waitMs).toBeGreaterThan(QUIET_MS);
    }
  });

  test("is nothing where a request has opened the breaker since", async () => {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    double.handle(() => promise);
    prober.start();
    await clock.advance(QUIET_MS);
    await double.waitForRequest(1);
    call(REFUSED);
    resolve(jsonAnswer(200, {}));
    while (clock.timers() > 1) await new Promise((resume) => setImmediate(resume));
    expect(state()).toBe("open");
  });

  test("takes no place from requests, however tight the bounds are", async () => {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    double.handle(() => promise);
    prober.start();
    await clock.advance(QUIET_MS);
    await double.waitForRequest(1);
    expect(routing.health.admit(wayBy("p"), { concurrency: 1, requestsPerMinute: 1 })).toHaveProperty("end");
    resolve(jsonAnswer(200, {}));
  });
});

function geminiBadKey() {
  const details = [{ reason: "API_KEY_INVALID" }];
  return { error: { code: 400, message: "API key not valid.", status: "INVALID_ARGUMENT", details } };
}

function openaiScopes() {
  const message =
    "You have insufficient permissions for this operation. Missing scopes: api.model.read. Check your role.";
  return { error: { message, type: "invalid_request_error", param: null, code: null } };
}

function anthropicPermission() {
  const message = "Your API key does not have permission to use the specified resource.";
  return { type: "error", error: { type: "permission_error", message } };
}
