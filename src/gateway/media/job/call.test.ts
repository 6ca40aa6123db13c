import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createFakeClock, type FakeClock } from "../../../../test/gateway/fake-clock.ts";
import { jsonAnswer } from "../../../../test/upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../../../../test/upstream/double.ts";
import { endlessBody, gzipBomb, pauseAt, resetAt, stallAt } from "../../../../test/upstream/faults.ts";
import { type ByteAccount, createByteBudget } from "../../../core/bytes/byte-budget.ts";
import { GatewayError } from "../../../core/errors.ts";
import type { Hold } from "../../../core/money/hold.ts";
import type { MediaCall } from "../../../providers/media.ts";
import { refusalOf } from "../../../providers/media-answers.ts";
import { TaskStop } from "../../../tasks/run/job.ts";
import { openMediaCall } from "./call.ts";
import { createLongTexts } from "./long-texts.ts";

let double: UpstreamDouble;
beforeAll(async () => void (double = await startUpstreamDouble()));
afterAll(() => double.close());
beforeEach(() => double.reset());

interface Opened {
  readonly call: MediaCall;
  readonly clock: FakeClock;
  readonly statuses: readonly number[];
  readonly stopping: AbortController;
  /** Bytes that are held of what was sent and answered. */
  held(): number;
  /** Ends the run, and with it all that it holds. */
  close(): void;
}

function open(clientHeaders: Readonly<Record<string, string>> = {}, account?: ByteAccount): Opened {
  const clock = createFakeClock();
  const statuses: number[] = [];
  const stopping = new AbortController();
  const budget = createByteBudget(() => 1);
  const memory = account ?? budget.open();
  const call = openMediaCall(
    {
      paidBy: {} as Hold,
      provider: {
        id: "double",
        baseUrl: `${double.url}/api`,
        headers: { authorization: "Bearer sk-canary" },
        secrets: [],
        adapters: {},
        clientHeaders: ["x-told"],
      },
      upstreamId: "double-1",
      model: "test/model",
      clientHeaders,
      load: async (input, kind) => ({ mediaType: `${kind}/${input}`, bytes: new Uint8Array(1) }),
      memory,
      texts: createLongTexts(),
      limits: { clock, connectMs: 5_000, writeMs: 60_000 },
      onAnswer: (status) => void statuses.push(status),
      onBreak() {},
      onBegun() {},
    },
    { reference: "img_1.2", limitMs: 30_000, signal: stopping.signal },
  );
  return { call, clock, statuses, stopping, held: budget.taken, close: memory.close };
}

const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

test("a call sends JSON with the provider's credential, and gives the whole answer", async () => {
  double.handle(() => jsonAnswer(201, { a: 1 }, { headers: [["retry-after", "3"]] }));
  const { call, statuses } = open();
  const answer = await call.send({ method: "POST", path: "/x", json: { b: 2 }, headers: { "x-own": "1" } });
  expect([answer.status, answer.json, answer.header("retry-after")]).toEqual([201, { a: 1 }, "3"]);
  expect(new TextDecoder().decode(answer.bytes)).toBe('{"a":1}');
  const [request] = double.requests;
  expect(request?.json()).toEqual({ b: 2 });
  expect(request?.target).toBe("/api/x");
  expect([request?.header("authorization"), request?.header("x-own")]).toEqual(["Bearer sk-canary", "1"]);
  expect(statuses).toEqual([201]);
});

describe("Retry-After is read by the gateway's clock, as that of language models", () => {
  // The clock shows 21 November 2026, 12:00:00.
  const cases: readonly (readonly [header: string, ms: number | undefined])[] = [
    ["3", 3_000],
    ["2.3", 3_000],
    ["-5", 1_000],
    ["999999999", 60_000],
    ["Sat, 21 Nov 2026 12:00:07 GMT", 7_000],
    ["Mon, 21 Dec 2026 12:00:00 GMT", 60_000],
    ["Wed, 21 Oct 2015 07:28:00 GMT", 1_000],
    ["soon", undefined],
  ];
  for (const [header, ms] of cases)
    for (const status of [200, 429])
      test(`${header}, of a ${status}`, async () => {
        double.handle(() => jsonAnswer(status, {}, { headers: [["retry-after", header]] }));
        const answer = await open().call.send({ method: "POST", path: "/x", json: {} });
        expect(answer.retryAfterMs).toBe(ms as number);
        if (status === 429) expect(refusalOf(answer, { message: "" }).retryAfterMs).toBe(ms as number);
      });
});

test("an answer that is no JSON is none, whatever it says it is", async () => {
  const { call } = open();
  for (const body of ["", "<html>", '{"a":', "[".repeat(100_000)]) {
    double.enqueue({ ...jsonAnswer(200, {}), body });
    expect((await call.send({ method: "GET", path: "/x" })).json).toBeUndefined();
  }
});

test("of the client's headers a provider is told those that it asks for", async () => {
  double.handle(() => jsonAnswer(200, {}));
  const { call } = open({ "x-told": "yes", authorization: "Bearer sk-client", cookie: "a=b" });
  expect(call.clientHeaders).toEqual({ "x-told": "yes" });
  await call.send({ method: "GET", path: "/x" });
  const [request] = double.requests;
  expect([request?.header("x-told"), request?.header("cookie"), request?.header("authorization")]).toEqual([
    "yes",
    undefined,
    "Bearer sk-canary",
  ]);
});

for (const [name, answer] of [
  ["before its head", stallAt(jsonAnswer(200, {}), "start")],
  ["in its body", stallAt(jsonAnswer(200, { a: "x".repeat(50) }), 20)],
] as const) {
  test(`an answer that stalls ${name} ends at the limit`, async () => {
    double.handle(() => answer);
    const { call, clock } = open();
    const failing = errorOf(call.send({ method: "GET", path: "/x" }));
    const request = await double.waitForRequest(1);
    await clock.advance(29_999);
    await clock.advance(1);
    const error = await failing;
    expect(error instanceof GatewayError && error.kind).toBe("timeout_error");
    await double.waitForClientGone(request);
  });
}

test("a refusal that does not end is one by its status, after five seconds", async () => {
  double.handle(() => stallAt(jsonAnswer(503, { a: "x".repeat(50) }), 20));
  const { call, clock, statuses } = open();
  const answering = call.send({ method: "GET", path: "/x" });
  const request = await double.waitForRequest(1);
  while (statuses.length === 0) await Bun.sleep(1);
  await clock.advance(5_000);
  expect(await answering).toMatchObject({ status: 503, json: undefined });
  await double.waitForClientGone(request);
});

test("a refusal that breaks off is one by its status", async () => {
  double.handle(() => resetAt(jsonAnswer(429, { a: "x".repeat(50) }), 20));
  expect(await open().call.send({ method: "GET", path: "/x" })).toMatchObject({ status: 429 });
});

test("a run that is to stop ends its call with its reason", async () => {
  double.handle(() => stallAt(jsonAnswer(200, {}), "start"));
  const { call, stopping } = open();
  const failing = errorOf(call.send({ method: "GET", path: "/x" }));
  const request = await double.waitForRequest(1);
  stopping.abort(new TaskStop("lost"));
  expect(await failing).toBeInstanceOf(TaskStop);
  await double.waitForClientGone(request);
  expect(await errorOf(call.send({ method: "GET", path: "/x" }))).toBeInstanceOf(TaskStop);
  expect(double.requests).toHaveLength(1);
});

test("each request of a call has the whole limit", async () => {
  double.handle(() => pauseAt(jsonAnswer(200, {}), "start", 1));
  const { call, clock } = open();
  for (let i = 0; i < 3; i += 1) {
    await call.send({ method: "GET", path: "/x" });
    await clock.advance(29_000);
  }
  expect(double.requests).toHaveLength(3);
});

for (const [name, answer] of [
  ["without end", endlessBody(jsonAnswer(200, {}), new Uint8Array(4 * 1024 * 1024))],
  ["that unfolds", gzipBomb(jsonAnswer(200, {}), 80 * 1024 * 1024)],
] as const) {
  test(`a description ${name} is not read to its end`, async () => {
    double.handle(() => answer);
    const { call } = open();
    const error = await errorOf(call.send({ method: "GET", path: "/x" }));
    expect(error instanceof GatewayError && error.message).toBe("The provider's answer is too large.");
  });
}

describe("what is held of a call", () => {
  const MIB = 1024 * 1024;
  const image = new Uint8Array(MIB).fill(7).toBase64();

  test("is its request until it was answered or given up", async () => {
    const { call, held, stopping } = open();
    double.handle(() => stallAt(jsonAnswer(200, {}), "start"));
    const stalled = errorOf(call.send({ method: "POST", path: "/x", json: { image: image } }));
    await double.waitForRequest(1);
    expect(held()).toBeWithin(image.length, image.length + 100);
    stopping.abort(new TaskStop("lost"));
    await stalled;
    expect(held()).toBe(0);
  });

  test("is its answer where that carries media, until the run ends", async () => {
    const { call, held, close } = open();
    double.handle(() => jsonAnswer(200, { data: [{ b64_json: image }] }));
    await call.send({ method: "POST", path: "/x", json: { prompt: "x" } });
    expect(held()).toBeWithin(image.length, image.length + 100);
    close();
    expect(held()).toBe(0);
  });

  for (const framing of ["content-length", "chunked"] as const) {
    test(`is nothing of an answer that only describes, however long it is (${framing})`, async () => {
      const { call, held } = open();
      const texts = Array.from({ length: 40_000 }, (_, i) => `text ${i}`);
      double.handle(() => jsonAnswer(200, { texts }, { framing }));
      const { json } = await call.send({ method: "GET", path: "/x" });
      expect(json).toEqual({ texts });
      expect(held()).toBe(0);
    });

    test(`is nothing of an answer that breaks off (${framing})`, async () => {
      const { call, held } = open();
      double.handle(() => resetAt(jsonAnswer(200, { b64_json: image }, { framing }), MIB));
      expect(await errorOf(call.send({ method: "GET", path: "/x" }))).toBeInstanceOf(GatewayError);
      expect(held()).toBe(0);
    });
  }

  test("is waited for by an answer too, and that is not of the provider's time either", async () => {
    double.handle(() => jsonAnswer(200, { b64_json: "A".repeat(400_000) }));
    const budget = createByteBudget(() => 1);
    const other = budget.open();
    await other.take(1_000_000, new AbortController().signal);
    const { call, clock, statuses } = open({}, budget.open());
    const answer = call.send({ method: "GET", path: "/x" });
    for (let i = 0; statuses.length === 0 && i < 400; i += 1) await Bun.sleep(5);
    await Bun.sleep(0);
    await clock.advance(600_000);
    other.close();
    expect((await answer).status).toBe(200);
  });

  test("is waited for before the request is sent, and that is not of the provider's time", async () => {
    const budget = createByteBudget(() => 1);
    const other = budget.open();
    await other.take(MIB, new AbortController().signal);
    const { call, clock } = open({}, budget.open());
    double.handle(() => jsonAnswer(200, {}));
    const sent = call.send({ method: "POST", path: "/x", json: { image: image } });
    await clock.advance(100_000);
    expect(double.requests).toHaveLength(0);
    other.close();
    expect((await sent).status).toBe(200);
  });
});
