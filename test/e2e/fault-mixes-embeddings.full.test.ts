import { afterAll, beforeAll, expect, test } from "bun:test";
import { createFastClock } from "../gateway/fast-clock.ts";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { LONG } from "../runs.ts";
import { type Answer, jsonAnswer } from "../upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import {
  BUDGET,
  CREDENTIALS,
  eachInLanes,
  expectBooks,
  expectOneCharge,
  MODELS,
  PLAIN,
  type PlainDeed,
  requestRows,
  SHORT_TIMEOUTS,
  twoFaults,
  WELL,
} from "./fault-mixes.ts";
import { seeded } from "./money.ts";

// Two faults in one request for embeddings, at random, over routes and credentials. Its client gets all vectors in their
// places or is told that it has none, and each charge is one.

const COUNT = LONG ? 250 : 30;
/** Credits of a request that is served: eight tokens at a dollar a million. */
const PRICE = 0.08;

const GOOD: PlainDeed = { name: "good", answer: (good) => good };
const SAFE = PLAIN.filter(({ isSafe }) => isSafe === true);

/** Answers with a vector for each text that says which of the request's it is. */
function vectors(input: string | readonly string[]): Answer {
  const texts = typeof input === "string" ? [input] : input;
  const data = texts.map((text, index) => ({
    object: "embedding",
    index,
    embedding: [Number(/text (\d+)/.exec(text)?.[1]), texts.length],
  }));
  const usage = { prompt_tokens: 8, total_tokens: 8 };
  return jsonAnswer(200, { object: "list", model: "up", data, usage });
}

/** Models with two routes, of which the first has two credentials. */
function settings(double: UpstreamDouble): Json {
  const providers: Json = {};
  const models: Json = {};
  for (let i = 0; i < MODELS; i += 1) {
    const provider = (at: string, env: string): Json => ({
      base_url: `${double.url}/${at}${i}`,
      api_key_env: env,
      models: [
        {
          id: `${at}/vectors-${i}`,
          upstream_id: "up",
          category: "embedding",
          embedding: { dimensions: 2, most_texts: 9 },
          prices: { input: 1 },
        },
      ],
    });
    providers[`a-${i}`] = { ...provider("a", "A1"), credentials: [{ env: "A2", concurrency: 20 }] };
    providers[`b-${i}`] = provider("b", "B1");
    models[`a/vectors-${i}`] = {
      routes: [{ provider: `a-${i}` }, { provider: `b-${i}`, upstream_id: "up" }],
    };
  }
  return { providers, routing: { retry_budget: BUDGET, models }, timeouts: SHORT_TIMEOUTS };
}

/** One request, what providers do with its calls, and what they did. */
interface Mix {
  readonly n: number;
  readonly model: string;
  readonly texts: number;
  readonly deeds: readonly PlainDeed[];
  readonly done: PlainDeed[];
}

let double: UpstreamDouble;
let gateway: TestGateway;
beforeAll(async () => {
  double = await startUpstreamDouble({ sleep: async () => undefined });
  gateway = await startGateway({
    settings: JSON.stringify(settings(double)),
    environment: CREDENTIALS,
    clock: createFastClock(50),
  });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});

/** What its client was told: whole, or an error, which costs nothing. */
async function ask({ n, model, texts }: Mix): Promise<{ id: string; isWhole: boolean; credit: number }> {
  const input = Array.from({ length: texts }, (_, i) => `mix-${n}. text ${i}`);
  const response = await gateway.post("/api/v1/embeddings", { model, input });
  const id = response.headers.get("x-request-id") ?? "";
  const { error, data, credit = 0 } = (await response.json()) as Json;
  if (response.status !== 200) {
    expect(error).toMatchObject({ type: expect.any(String), message: expect.any(String) });
    return { id, isWhole: false, credit };
  }
  expect(data.map(({ embedding }: Json) => embedding)).toEqual(input.map((_, i) => [i, texts]));
  return { id, isWhole: true, credit };
}

test(`${COUNT} mixes of two faults in requests for embeddings: none is charged twice, none is lost, none is sent again that may have been served`, async () => {
  const below = seeded("mixes of faults in requests for embeddings");
  const all = Array.from({ length: COUNT * (1 + WELL) }, (_, n): Mix => {
    const deeds = n % (1 + WELL) === 0 ? twoFaults({ deeds: PLAIN, safe: SAFE }, below) : [];
    return { n, model: `a/vectors-${below(MODELS)}`, texts: 1 + below(3), deeds, done: [] };
  });
  double.handle((request) => {
    const mix = all[Number(/mix-(\d+)\./.exec(request.bodyText)?.[1])];
    if (mix === undefined) throw new Error("nobody asked for this");
    const deed = mix.deeds[mix.done.length] ?? GOOD;
    mix.done.push(deed);
    return deed.answer(vectors((request.json() as Json).input));
  });
  const { balance: before } = await gateway.account();
  const told = new Map<Mix, Awaited<ReturnType<typeof ask>>>();
  await eachInLanes(all, 8, async (mix) => void told.set(mix, await ask(mix)));
  await gateway.settled();

  const known = await requestRows(gateway);
  let [charged, whole, retries] = [0, 0, 0];
  for (const [mix, { id, isWhole, credit }] of told) {
    const { n, model, done, deeds } = mix;
    const story = `mix ${n}: ${model} ${done.map(({ name }) => name).join(", ")}`;
    expectOneCharge({ story, done, row: known.get(id), credit });
    expect([story, credit]).toEqual([story, isWhole ? PRICE : 0]);
    charged += credit;
    retries += Math.max(0, done.length - 1);
    if (isWhole && deeds.length > 0) whole += 1;
  }
  expect(double.requests).toHaveLength(all.reduce((sum, { done }) => sum + done.length, 0));
  await expectBooks(gateway, { before, charged, retries, requests: all.length });
  expect([whole > 0, whole < COUNT, retries > 0]).toEqual([true, true, true]);
  console.log(
    `${COUNT} mixes, ${all.length} requests: ${whole} whole, ${COUNT - whole} refused; ${retries} retries`,
  );
});
