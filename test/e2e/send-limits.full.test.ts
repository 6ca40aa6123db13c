import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createFakeClock, type FakeClock } from "../gateway/fake-clock.ts";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { neverRead } from "../upstream/admission.ts";
import { chatAnswer, chatStreamAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { createGate } from "../upstream/gate.ts";
import { type OutOfReach, startSilent } from "../upstream/out-of-reach.ts";

// What a request costs that no provider ever had whole: time, and nothing else. By a clock that only the test moves.

let clock: FakeClock;
let silent: OutOfReach;
let double: UpstreamDouble;
let gateway: TestGateway;

beforeAll(async () => {
  double = await startUpstreamDouble();
});
afterAll(() => double.close());
beforeEach(async () => {
  double.reset();
  clock = createFakeClock();
  silent = await startSilent();
  const unreached = `https://127.0.0.1:${silent.port}`;
  gateway = await startGateway({
    openai: `${unreached}/v1`,
    clock,
    settings: JSON.stringify({
      timeouts: { embedding: { connect_seconds: 8 }, image: { connect_seconds: 9 } },
      providers: {
        local: {
          base_url: `${double.url}/v1`,
          models: [{ id: "local/m", prices: { input: 1, output: 1 } }],
        },
      },
    }),
  });
});
afterEach(async () => {
  await gateway.close();
  silent.close();
});

const messages = [{ role: "user", content: "Say hello." }];
const chat = { model: "openai/gpt-5.6-luna", messages, max_tokens: 64 };

/** Asks, and holds the answer back until `ms` have passed since the call was begun. */
async function refusedAfter(ms: number, asking: Promise<Response>): Promise<[number, Json]> {
  let answer: Response | undefined;
  const answering = asking.then((response) => (answer = response));
  await silent.tried();
  await clock.advance(ms - 1);
  expect(answer).toBeUndefined();
  await clock.advance(1);
  const { status } = await answering;
  return [status, await (await answering).json()];
}

async function expectUntouched(): Promise<void> {
  await gateway.settled();
  expect((await gateway.account()).balance).toBe(1_000_000);
}

describe("a provider that cannot be connected to is a 504 at the limit, and free:", () => {
  for (const stream of [false, true])
    test(`a chat completion, ${stream ? "streamed" : "plain"}`, async () => {
      const [status, { error }] = await refusedAfter(5_000, gateway.chat({ ...chat, stream }));
      expect([status, error.type]).toEqual([504, "timeout_error"]);
      expect(error.message).toBe("The provider could not be connected to in time.");
      await expectUntouched();
    });

  test("embeddings, by their own limit", async () => {
    const body = { model: "openai/text-embedding-3-small", input: "Hello." };
    const [status, { error }] = await refusedAfter(8_000, gateway.post("/api/v1/embeddings", body));
    expect([status, error.type]).toEqual([504, "timeout_error"]);
    await expectUntouched();
  });
});

describe("retries of a request whose provider cannot be connected to", () => {
  /** A model by three credentials of a server out of reach, then by the routes that are named. */
  async function reroute(routes: readonly string[], timeouts: Json = {}): Promise<void> {
    await gateway.close();
    const good = { words: ["Hello."] };
    double.handle((request) => ((request.json() as Json).stream ? chatStreamAnswer(good) : chatAnswer(good)));
    const provider = (id: string, base_url: string, more: object = {}) => ({
      base_url,
      models: [{ id, upstream_id: "m", max_output: 100, prices: { input: 1, output: 1 } }],
      ...more,
    });
    const keys = { api_key_env: "K1", credentials: [{ env: "K2" }, { env: "K3" }] };
    const far = `https://127.0.0.1:${silent.port}`;
    gateway = await startGateway({
      clock,
      environment: { K1: "k1-0123456789", K2: "k2-0123456789", K3: "k3-0123456789" },
      settings: JSON.stringify({
        timeouts,
        providers: {
          far: provider("t/far", `${far}/v1`, keys),
          further: provider("t/further", `${far}/v2`),
          near: provider("t/near", `${double.url}/v1`),
        },
        routing: {
          models: { "t/far": { routes: routes.map((name) => ({ provider: name, upstream_id: "m" })) } },
        },
      }),
    });
  }
  const asking = (stream: boolean): Promise<Response> => gateway.chat({ ...chat, model: "t/far", stream });

  for (const stream of [false, true]) {
    const way = stream ? "streamed" : "plain";

    test(`take another route after one limit, whatever credentials the first has (${way})`, async () => {
      await reroute(["far", "near"]);
      const asked = asking(stream);
      await silent.tried();
      await clock.advance(4_999);
      expect(double.requests).toHaveLength(0);
      await clock.advance(1);
      expect((await asked).status).toBe(200);
    });

    test(`are none where there is no other route: a 504 at the limit (${way})`, async () => {
      await reroute(["far"]);
      const [status, { error }] = await refusedAfter(5_000, asking(stream));
      expect([status, error.type]).toEqual([504, "timeout_error"]);
      await expectUntouched();
    });

    test(`share the request's own time (${way})`, async () => {
      await reroute(["far", "further"], { plain_seconds: 8, first_byte_seconds: 8, connect_seconds: 7 });
      // A stream's limits are looked at every 5 s.
      const [status, { error }] = await refusedAfter(stream ? 10_000 : 8_000, asking(stream));
      expect([status, error.type]).toEqual([504, "timeout_error"]);
      await expectUntouched();
    });
  }
});

test("an image whose provider cannot be connected to is tried again, since nobody can have begun it", async () => {
  const body = { model: "openai/gpt-image-2", prompt: "A fox" };
  const leave = new AbortController();
  const asking = gateway.post("/api/v1/images/generations", body, { signal: leave.signal });
  const refusals = () => gateway.logs.filter(({ message }) => message === "the provider takes no work now");
  await silent.tried();
  await clock.advance(8_999);
  expect(refusals()).toHaveLength(0);
  await clock.advance(1);
  while (refusals().length === 0) await Bun.sleep(1);
  leave.abort();
  await asking.catch(() => {});
  await expectUntouched();
});

test("a provider that stops reading a request of 20 MB is a 504 after a minute, and free", async () => {
  double.admit(() => neverRead(createGate()));
  const body = {
    model: "local/m",
    messages: [{ role: "user", content: "x".repeat(20_000_000) }],
    max_tokens: 64,
  };
  let answer: Response | undefined;
  void gateway.chat(body).then((response) => (answer = response));
  await double.waitForRequest(1);
  while (answer === undefined) await clock.advance(1_000);
  const { error } = (await answer.json()) as Json;
  expect([answer.status, error.type]).toEqual([504, "timeout_error"]);
  expect(error.message).toBe("The provider did not take the request in time.");
  await expectUntouched();
});
