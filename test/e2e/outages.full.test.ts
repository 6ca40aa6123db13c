import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { systemRandom } from "../../src/core/random.ts";
import { openForWriting } from "../../src/db/sqlite-file.ts";
import { newKeyText } from "../../src/keys/key-text.ts";
import type { TestEngine } from "../gateway/engines.ts";
import { ADMIN_TOKEN, type Json, streamEvents, type TestGateway } from "../gateway/gateway.ts";
import { startProcess, temporaryFolder } from "../gateway/process.ts";
import { type Cluster, startCluster } from "../postgres/cluster.ts";
import { describeOnOwnPostgres } from "../postgres/on-postgres.ts";
import { sseAnswer } from "../upstream/answer.ts";
import { chatAnswer, chatStream } from "../upstream/chat-bytes.ts";
import { afterEvent } from "../upstream/cuts.ts";
import { gateAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { type Bank, inFull, openBank, statement, unitBody, usageOf } from "./money.ts";

// The store cannot be asked, or takes nothing: that is our fault and never the caller's, it costs nobody anything,
// and it passes.

const START = 1_000;
/** A key as we make them, but of nobody. */
const UNKNOWN = { headers: { authorization: `Bearer ${newKeyText(systemRandom)}` } };

const status = async (gateway: TestGateway, path: string): Promise<number> => {
  const response = await fetch(gateway.url + path);
  await response.arrayBuffer();
  return response.status;
};

const expectBusy = async (response: Response): Promise<void> => {
  expect(response.status).toBe(503);
  expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(((await response.json()) as Json).error.type).toBe("overloaded_error");
};

/** Waits until the gateway says that it can take work again. */
const recovered = async (gateway: TestGateway): Promise<void> => {
  while ((await status(gateway, "/readyz")) !== 200) await Bun.sleep(50);
};

describeOnOwnPostgres("PostgreSQL cannot be asked", () => {
  let cluster: Cluster;
  let bank: Bank;
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster.remove());
  beforeEach(async () => {
    const engine: TestEngine = {
      name: "postgres",
      async newPlace() {
        const { url, drop } = await cluster.database();
        return { place: { url }, environment: { DATABASE_URL: url }, remove: drop };
      },
    };
    bank = await openBank(engine, { credits: START });
  });
  afterEach(async () => {
    // A test that failed may have left it stopped or frozen.
    if (cluster.processes().length === 0) await cluster.start();
    cluster.resume();
    await bank.close();
  });

  const outages = [
    {
      name: "stopped",
      begin: () => cluster.stop("fast"),
      end: () => cluster.start(),
    },
    {
      name: "killed",
      begin: () => cluster.stop("immediate"),
      end: () => cluster.start(),
    },
    { name: "frozen", begin: () => cluster.pause(), end: async () => cluster.resume() },
  ];

  for (const { name, begin, end } of outages) {
    test(`${name}: a known and an unknown key are a 503 that says when, nothing is called, and it passes`, async () => {
      const { gateway, double } = bank;
      expect((await gateway.chat(unitBody(1))).status).toBe(200);
      await begin();
      const [ready, healthy, opening, reading, listing, auditing, ...refused] = await Promise.all([
        status(gateway, "/readyz"),
        status(gateway, "/healthz"),
        gateway.admin("POST", "/accounts", { name: "a" }),
        gateway.admin("GET", `/accounts/${gateway.accountId}`),
        gateway.admin("GET", "/requests"),
        gateway.admin("GET", "/audit"),
        gateway.chat(unitBody(1)),
        gateway.chat(unitBody(1), UNKNOWN),
        gateway.chat(unitBody(1, { stream: true })),
      ]);
      for (const answer of refused) await expectBusy(answer);
      expect([ready, healthy]).toEqual([503, 200]);
      expect(opening.status).toBe(503);
      expect([reading.status, listing.status, auditing.status]).toEqual([503, 503, 503]);
      expect(double.requests.length).toBe(1);
      await end();
      await recovered(gateway);
      expect((await gateway.chat(unitBody(2))).status).toBe(200);
      expect((await gateway.chat(unitBody(1), UNKNOWN)).status).toBe(401);
      expect((await gateway.account()).balance).toBe(START - 3);
      expect(double.requests.length).toBe(2);
    }, 120_000);
  }

  test("a gateway as its own process outlives it, and ends in order", async () => {
    const folder = temporaryFolder();
    const gateway = startProcess({
      ...bank.place.environment,
      SWITCHYARD_HOME: folder.path,
      SWITCHYARD_CONFIG: join(folder.path, "none.yaml"),
      SWITCHYARD_ADMIN_TOKEN: ADMIN_TOKEN,
    });
    try {
      const url = await gateway.ready();
      const models = () =>
        fetch(`${url}/api/v1/models`, { headers: { authorization: `Bearer ${bank.gateway.key}` } });
      const ready = async (): Promise<number> => (await fetch(`${url}/readyz`)).status;
      expect((await models()).status).toBe(200);
      await cluster.stop("immediate");
      expect(await ready()).toBe(503);
      await expectBusy(await fetch(`${url}/api/v1/models`, UNKNOWN));
      await cluster.start();
      while ((await ready()) !== 200) await Bun.sleep(50);
      expect((await models()).status).toBe(200);
      expect((await fetch(`${url}/api/v1/models`, UNKNOWN)).status).toBe(401);
      gateway.child.kill("SIGTERM");
      expect(await gateway.exited()).toBe(0);
      await recovered(bank.gateway);
    } finally {
      gateway.child.kill("SIGKILL");
      folder.remove();
    }
  }, 120_000);

  test("restarted during a stream: the stream goes on, ends well, and is charged what it says", async () => {
    const { gateway, double } = bank;
    const events = chatStream({ words: ["one ", "two ", "three"], usage: usageOf(3, 5) });
    const gate = createGate();
    double.handle(() => gateAt(sseAnswer(events), afterEvent(events, 3), gate));
    const response = await gateway.chat(unitBody(9, { stream: true }));
    await cluster.stop("fast");
    await cluster.start();
    gate.release();
    const all = streamEvents(await response.text());
    expect(all.at(-1)).toBe("[DONE]");
    expect(all.at(-2).credit).toBe(5);
    await gateway.settled();
    expect((await gateway.account()).balance).toBe(START - 5);
  }, 120_000);

  test("away at a stream's end: the client is told that it is not finished and of no charge, and it settles afterwards", async () => {
    const { gateway, double } = bank;
    const events = chatStream({ words: ["one ", "two ", "three"], usage: usageOf(3, 5) });
    const gate = createGate();
    double.handle(() => gateAt(sseAnswer(events), afterEvent(events, 3), gate));
    const response = await gateway.chat(unitBody(9, { stream: true }));
    await cluster.stop("fast");
    gate.release();
    const text = await response.text();
    const all = streamEvents(text);
    // The words are there, and an end that says that something went wrong.
    expect(text).toContain("three");
    expect(all.at(-1)).toBe("[DONE]");
    expect(all.at(-2).error.type).toBe("overloaded_error");
    // What it comes to is not known yet: a credit that the ledger does not have must not be told.
    expect(all.filter((event) => event.credit !== undefined)).toEqual([]);
    await cluster.start();
    await recovered(gateway);
    await gateway.settled();
    expect((await gateway.account()).balance).toBe(START - 5);
    expect((await statement(gateway)).filter((entry) => entry.kind === "settle").length).toBe(1);
  }, 120_000);

  test("away at a plain answer's end: the client gets a 503 and no answer, and is charged nothing", async () => {
    const { gateway, double } = bank;
    const gate = createGate();
    double.handle(() => gateAt(chatAnswer({ words: ["a"], usage: usageOf(3, 5) }), "start", gate));
    const waiting = gateway.chat(unitBody(9));
    await double.waitForRequest(1);
    await cluster.stop("fast");
    gate.release();
    await expectBusy(await waiting);
    await cluster.start();
    await recovered(gateway);
    await gateway.settled();
    expect(await gateway.account()).toMatchObject({ held: 0, balance: START });
    const rows = await bank.books.selectFrom("requests").selectAll().execute();
    expect(rows.map(({ outcome, charge }) => [outcome, charge])).toEqual([["unwritten", 0n]]);
  }, 120_000);
});

test("SQLite is locked by another for longer than we wait: requests go on and are charged, all else is a 503, and it passes", async () => {
  const folder = temporaryFolder();
  const engine: TestEngine = {
    name: "sqlite",
    newPlace: async () => ({
      place: { file: join(folder.path, "switchyard.db") },
      environment: { SWITCHYARD_HOME: folder.path },
      remove: async () => folder.remove(),
    }),
  };
  const bank = await openBank(engine, { credits: START });
  const { gateway, double } = bank;
  const other = openForWriting(join(folder.path, "switchyard.db"));
  const gate = createGate();
  const events = chatStream({ words: ["one ", "two"], usage: usageOf(3, 5) });
  double.handle((request) =>
    (request.json() as Json).stream === true
      ? gateAt(sseAnswer(events), afterEvent(events, 2), gate)
      : inFull(request),
  );
  expect((await gateway.chat(unitBody(1))).status).toBe(200);
  const stream = await gateway.chat(unitBody(9, { stream: true }));

  other.execute("begin immediate");
  // The journal has what the tables cannot take now.
  expect((await gateway.chat(unitBody(1))).status).toBe(200);
  expect((await gateway.admin("POST", "/accounts", { name: "a" })).status).toBe(503);
  expect((await gateway.admin("GET", `/accounts/${gateway.accountId}`)).status).toBe(503);
  expect(await status(gateway, "/readyz")).toBe(503);
  expect(await status(gateway, "/healthz")).toBe(200);
  // Reads go on beside a writer: a key that is none is still known to be none.
  expect((await gateway.chat(unitBody(1), UNKNOWN)).status).toBe(401);
  expect(double.requests.length).toBe(3);
  gate.release();
  const all = streamEvents(await stream.text());
  expect(all.at(-2).credit).toBe(5);
  other.execute("rollback");
  other.close();

  await recovered(gateway);
  expect((await gateway.chat(unitBody(2))).status).toBe(200);
  await gateway.settled();
  expect((await gateway.account()).balance).toBe(START - 1 - 1 - 5 - 2);
  await bank.close();
}, 120_000);
