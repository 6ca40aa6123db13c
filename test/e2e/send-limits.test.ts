import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createFakeClock, type FakeClock } from "../gateway/fake-clock.ts";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { neverRead } from "../upstream/admission.ts";
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
