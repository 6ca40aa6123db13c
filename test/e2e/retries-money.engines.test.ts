import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { describeOnEngineOfSuite } from "../gateway/engines.ts";
import type { FakeClock } from "../gateway/fake-clock.ts";
import type { Json } from "../gateway/gateway.ts";
import { LONG } from "../runs.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { gateAt, resetAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import {
  type Bank,
  BOTH,
  inFull,
  openBank,
  seeded,
  statement,
  stoppedClock,
  UNIT,
  unitBody,
  usageOf,
  watchAccount,
} from "./money.ts";

// Requests whose first ways fail, against an account that is nearly spent. Between two attempts the client leaves, the
// key is revoked, or the settings change.

/** A model whose output costs three times as much as that of the unit model. */
const DEAR = "bank/dear";

describeOnEngineOfSuite("retries and money", (engine) => {
  let failing: UpstreamDouble;
  let bank: Bank;
  let clock: FakeClock;

  beforeAll(async () => {
    failing = await startUpstreamDouble();
  });
  afterAll(() => failing.close());
  beforeEach(() => {
    failing.reset();
    failing.handle(() => jsonAnswer(503, {}));
  });
  afterEach(() => bank.close());

  /** Both models at `first`, which fails, then at `second`. */
  const settings = (routing: object = {}, providers: readonly string[] = ["first", "second"]): string => {
    const models = [
      { id: UNIT, prices: { input: 0, output: 100 } },
      { id: BOTH, prices: { input: 100, output: 200 } },
      { id: DEAR, prices: { input: 0, output: 300 } },
    ];
    const urls: Record<string, string> = { first: failing.url, second: bank.double.url };
    const routes = providers.map((provider) => ({ provider, upstream_id: "up" }));
    return JSON.stringify({
      providers: Object.fromEntries(
        providers.map((name, i) => [
          name,
          {
            base_url: `${urls[name]}/v1`,
            dialect: "native",
            models: i === 0 ? models : [{ id: `other/${name}`, prices: { input: 1, output: 1 } }],
          },
        ]),
      ),
      routing: {
        retry_budget: 1,
        breaker_failures: 0,
        ...routing,
        models: Object.fromEntries(models.map(({ id }) => [id, { routes }])),
      },
      // The clock is moved on as fast as the machine allows, which may be busy.
      timeouts: { connect_seconds: 600 },
    });
  };

  async function opened(credits: number, routing: object = {}): Promise<Bank> {
    clock = stoppedClock();
    bank = await openBank(engine, { credits, clock });
    bank.change(settings(routing));
    return bank;
  }

  const requestRows = async (): Promise<Json[]> => (await bank.gateway.admin("GET", "/requests")).json.data;

  test("100 requests at once on credit for 10, each refused by its first route: 10 are served, and pay once", async () => {
    const { gateway, double, books } = await opened(30);
    const gate = createGate();
    double.handle((request) => gateAt(inFull(request), "start", gate));
    const watched = watchAccount(books, gateway.accountId);
    let refused = 0;
    const asked = Array.from({ length: 100 }, async () => {
      const answer = await gateway.chat(unitBody(3));
      if (answer.status === 402) refused += 1;
      return [answer.status, ((await answer.json()) as Json).credit];
    });
    // Ten retries are saved, so as many can be made at once.
    while (refused < 90) await Bun.sleep(1);
    await double.waitForRequest(10);
    gate.release();
    const answers = await Promise.all(asked);
    await gateway.settled();
    await watched.stop();
    expect(answers.filter(([status]) => status === 200)).toEqual(Array.from({ length: 10 }, () => [200, 3]));
    // A request that is refused for its credit is never sent, and one that is sent twice is held for once.
    expect([failing.requests.length, double.requests.length]).toEqual([10, 10]);
    expect(await gateway.account()).toMatchObject({ balance: 0, held: 0 });
    const settles = (await statement(gateway)).filter(({ kind }) => kind === "settle");
    expect(settles.map(({ amount }) => amount)).toEqual(Array(10).fill(-3));
  });

  test("requests of every outcome at once: each is charged for the attempt that served, and no credit is made up", async () => {
    const start = 400;
    const { gateway, double, books } = await opened(start, { unsafe_retries: ["reset"] });
    const random = seeded("retries of every outcome");
    const refusals = [500, 503, 408, 400, 502].map((status) => jsonAnswer(status, {}));
    const broken = resetAt(chatAnswer({ words: ["a"], usage: usageOf(3, 1) }), "start");
    failing.handle((request) =>
      random(4) === 0 ? inFull(request) : (refusals[random(refusals.length + 1)] ?? broken),
    );
    double.handle((request) => (random(5) === 0 ? refusals[random(4)] : inFull(request)));
    const watched = watchAccount(books, gateway.accountId);
    let isGoing = true;
    const passing = (async () => {
      while (isGoing) {
        await clock.advance(20);
        await Bun.sleep(1);
      }
    })();
    const answers = await Promise.all(
      Array.from({ length: LONG ? 600 : 120 }, async (_, i) => {
        const models = i % 3 === 0 ? { models: [UNIT, DEAR] } : {};
        const response = await gateway.chat(unitBody(1 + random(20), models));
        return { status: response.status, json: (await response.json()) as Json };
      }),
    );
    isGoing = false;
    await passing;
    await gateway.settled();
    expect(await watched.stop()).toBeGreaterThan(0);
    const served = answers.filter(({ status }) => status === 200);
    const charged = served.reduce((sum, { json }) => sum + (json.credit as number), 0);
    expect((await gateway.account()).balance).toBe(start - charged);
    const rows = await books.selectFrom("requests").selectAll().execute();
    const sent = rows.reduce((sum, { attempts }) => sum + (JSON.parse(attempts) as Json[]).length, 0);
    // Every call that a provider saw is an attempt of a request that credit was held for.
    expect(failing.requests.length + double.requests.length).toBe(sent);
    expect(rows.filter(({ charge }) => charge > 0n)).toHaveLength(served.length);
    expect(served.length).toBeGreaterThan(10);
  });

  for (const stream of [false, true])
    test(`a client that leaves in the pause before a retry (${stream ? "streamed" : "plain"}): nothing is sent, nothing charged`, async () => {
      const { gateway, double } = await opened(1_000);
      bank.change(settings({}, ["first"]));
      failing.handle(() => jsonAnswer(429, {}, { headers: [["retry-after", "3"]] }));
      const controller = new AbortController();
      const asked = gateway
        .chat({ ...unitBody(9), model: BOTH, stream }, { signal: controller.signal })
        .catch(() => {});
      await failing.waitForRequest(1);
      while (!(await hasFailed())) await new Promise((resolve) => setImmediate(resolve));
      await clock.advance(1_000);
      controller.abort();
      await asked;
      await gateway.settled();
      await clock.advance(60_000);
      expect([failing.requests.length, double.requests.length]).toEqual([1, 0]);
      expect(await gateway.account()).toMatchObject({ balance: 1_000, held: 0 });
      expect((await requestRows())[0]).toMatchObject({ outcome: "client_gone", credit: 0 });
    });

  /** Whether the gateway has read the refusal of the first call, so that it pauses. */
  async function hasFailed(): Promise<boolean> {
    const { json } = await bank.gateway.admin("GET", `/routes?model=${BOTH}`);
    return json.data[0].failed === 1;
  }

  for (const status of [400, 401, 429, 503])
    for (const stream of [false, true])
      test(`a client that leaves while a ${status} is read (${stream ? "streamed" : "plain"}) pays nothing`, async () => {
        const { gateway, double } = await opened(1_000);
        double.handle(inFull);
        const gate = createGate();
        const refusal = jsonAnswer(status, { error: { message: "No.", type: "x" } });
        failing.handle((request) =>
          (request.json() as Json).stop === undefined ? jsonAnswer(503, {}) : gateAt(refusal, 5, gate),
        );
        const controller = new AbortController();
        const asked = gateway
          .chat({ ...unitBody(9), model: BOTH, stream, stop: "x" }, { signal: controller.signal })
          .catch(() => {});
        await gate.reached;
        // The gateway has the answer to a later request, so it has had the head of this one.
        await (await gateway.chat(unitBody(1))).arrayBuffer();
        const { balance } = await gateway.account();
        controller.abort();
        await asked;
        await gateway.settled();
        expect((await gateway.account()).balance).toBe(balance);
        const row = (await requestRows()).find(({ outcome }: Json) => outcome === "client_gone");
        expect(row).toMatchObject({ credit: 0, attempts: [{ status }] });
      });

  test("a client that leaves during the second attempt pays for its input, once", async () => {
    const { gateway, double } = await opened(1_000);
    double.handle((request) => gateAt(inFull(request), "start", createGate()));
    const controller = new AbortController();
    const asked = gateway
      .chat({ ...unitBody(9), model: BOTH }, { signal: controller.signal })
      .catch(() => {});
    const request = await double.waitForRequest(1);
    controller.abort();
    await double.waitForClientGone(request);
    await asked;
    await gateway.settled();
    const [row] = await requestRows();
    expect([row.outcome, row.attempts.length]).toEqual(["client_gone", 2]);
    expect(row.credit).toBeGreaterThan(0);
    expect((await gateway.account()).balance).toBe(1_000 - row.credit);
  });

  test("a key that is revoked between two attempts serves what it began, and nothing more", async () => {
    const { gateway } = await opened(100);
    const gate = createGate();
    failing.handle(() => gateAt(jsonAnswer(503, {}), "start", gate));
    const asked = gateway.chat(unitBody(4));
    await failing.waitForRequest(1);
    expect((await gateway.admin("DELETE", `/keys/${gateway.keyId}`)).status).toBe(200);
    gate.release();
    const response = await asked;
    expect([response.status, ((await response.json()) as Json).credit]).toEqual([200, 4]);
    expect((await gateway.chat(unitBody(4))).status).toBe(401);
    expect((await gateway.account()).balance).toBe(96);
  });

  test("settings that change between two attempts: the request ends by those it began with, later ones by the new", async () => {
    const { gateway, double } = await opened(100);
    const gate = createGate();
    failing.handle(() => gateAt(jsonAnswer(503, {}), "start", gate));
    const asked = gateway.chat(unitBody(4));
    await failing.waitForRequest(1);
    bank.change(settings({}, ["first"]));
    gate.release();
    expect((await asked).status).toBe(200);
    expect(double.requests).toHaveLength(1);
    failing.handle(() => jsonAnswer(400, {}));
    expect((await gateway.chat(unitBody(4))).status).toBe(400);
    expect(double.requests).toHaveLength(1);
    expect((await gateway.account()).balance).toBe(96);
  });

  test("a setting that allows fewer attempts holds for requests under way", async () => {
    const { gateway, double } = await opened(100);
    const gate = createGate();
    failing.handle(() => gateAt(jsonAnswer(503, {}), "start", gate));
    const asked = gateway.chat(unitBody(4));
    await failing.waitForRequest(1);
    bank.change(settings({ attempts: 1 }));
    gate.release();
    expect((await asked).status).toBe(503);
    expect(double.requests).toEqual([]);
    expect(await gateway.account()).toMatchObject({ balance: 100, held: 0 });
  });
});
