import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createFakeClock, type FakeClock } from "../gateway/fake-clock.ts";
import { startGateway, streamEvents, type TestGateway, UPSTREAM_KEY, type Json } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { afterEvent, eventEnds } from "../upstream/cuts.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { gateAt, resetAt, withoutLastChunk } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { geminiAnswer, geminiChunks, geminiPlain, geminiStream } from "../upstream/gemini-bytes.ts";
import { sse } from "../upstream/sse-bytes.ts";

// What a client of generateContent is told, and what it is charged, for each fault of the provider, over real sockets.

const MODEL = "google/gemini-3.8-flash";
const USAGE = { promptTokenCount: 11, candidatesTokenCount: 4, totalTokenCount: 15 };
const CREDIT = 0.2325;
const body = {
  contents: [{ role: "user", parts: [{ text: "Say hello." }] }],
  generationConfig: { maxOutputTokens: 64 },
};

let clock: FakeClock;
let double: UpstreamDouble;
let gateway: TestGateway;
/** What the account had when the test began. */
let balance: number;

beforeAll(async () => {
  clock = createFakeClock();
  double = await startUpstreamDouble({ sleep: async () => undefined });
  gateway = await startGateway({
    environment: { GEMINI_API_KEY: UPSTREAM_KEY, GEMINI_BASE_URL: double.url },
    clock,
  });
});
beforeEach(async () => {
  double.reset();
  ({ balance } = await gateway.account());
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});

const ask = (stream: boolean): Promise<Response> =>
  gateway.post(
    `/api/v1/models/${MODEL}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    body,
  );

async function spent(): Promise<number> {
  await gateway.settled();
  return Math.round((balance - (await gateway.account()).balance) * 1e6) / 1e6;
}

/** The usage grows with the answer, as Gemini tells it: each chunk has the counts so far. */
const growing = ["one ", "two ", "three "].map((text, i, all) => ({
  candidates: [
    {
      content: { role: "model", parts: [{ text }] },
      ...(i === all.length - 1 ? { finishReason: "STOP" } : {}),
      index: 0,
    },
  ],
  usageMetadata: { promptTokenCount: 10, candidatesTokenCount: i + 1, totalTokenCount: 11 + i },
}));
/** 10 × 0.75 USD per million for the prompt, and 3.75 for each word, in credits. */
const costOf = (words: number): number => (750 + words * 375) / 10_000;

describe("a stream that is cut", () => {
  const bytes = sse(growing);
  const ends: readonly { readonly how: "fin" | "reset"; readonly at: number; readonly words: number }[] = [
    { how: "fin", at: afterEvent(bytes, 1), words: 1 },
    { how: "fin", at: afterEvent(bytes, 2), words: 2 },
    { how: "fin", at: afterEvent(bytes, 2) + 20, words: 2 },
    { how: "fin", at: bytes.length - 3, words: 2 },
  ];
  for (const { how, at, words } of ends) {
    test(`by a ${how} after ${at} bytes ends with an error, and is charged for ${words} words`, async () => {
      double.handle(() => ({ ...sseAnswer(bytes), framing: "close", end: { at, how } }));
      const events = streamEvents(await (await ask(true)).text());
      expect(events.slice(0, -1)).toEqual(growing.slice(0, words) as Json[]);
      expect(events.at(-1)).toEqual({
        error: { code: 502, message: expect.any(String), status: "UNAVAILABLE", type: "upstream_error" },
        credit: costOf(words),
      });
      expect(await spent()).toBe(costOf(words));
    });
  }

  /** Reads until two words have come, lets upstream go on, and reads the rest. */
  const readPastGate = async (answer: Answer, at: number): Promise<Json[]> => {
    const gate = createGate();
    double.handle(() => gateAt(answer, at, gate));
    const response = await ask(true);
    let text = "";
    const decoder = new TextDecoder();
    for await (const piece of response.body ?? []) {
      text += decoder.decode(piece, { stream: true });
      if (text.includes("two ")) gate.release();
    }
    return streamEvents(text);
  };

  test("by a reset once its content has begun likewise", async () => {
    const at = afterEvent(bytes, 2);
    const events = await readPastGate(resetAt(sseAnswer(bytes), at), at);
    expect(events.at(-1)).toMatchObject({ error: { code: 502 }, credit: costOf(2) });
    expect(await spent()).toBe(costOf(2));
  });

  test("after its last chunk is whole: only the goodbye was lost", async () => {
    const events = await readPastGate(withoutLastChunk(sseAnswer(bytes)), bytes.length);
    expect(events.at(-1)).toEqual({ ...growing.at(-1), credit: costOf(3) });
    expect(await spent()).toBe(costOf(3));
  });

  test("before any content is a status of its own, and free", async () => {
    const [first] = eventEnds(bytes);
    for (const at of [0, (first ?? 0) - 5]) {
      double.handle(() => ({ ...sseAnswer(bytes), framing: "close", end: { at, how: "fin" } }));
      const response = await ask(true);
      expect([response.status, await response.json()]).toMatchObject([
        502,
        { error: { code: 502, type: "upstream_error" } },
      ]);
    }
    expect(await spent()).toBe(0);
  });
});

describe("what upstream says instead of an answer", () => {
  const unavailable = { error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } };
  const before: readonly [string, Answer, number, string][] = [
    ["an error", jsonAnswer(503, unavailable), 503, "overloaded_error"],
    ["an error in a list", jsonAnswer(503, [unavailable]), 503, "overloaded_error"],
    ["an error in a 200", jsonAnswer(200, unavailable), 503, "overloaded_error"],
    ["an error in a list in a 200", jsonAnswer(200, [unavailable]), 503, "overloaded_error"],
    ["HTML", { ...jsonAnswer(200, {}), headers: [["content-type", "text/html"]] }, 502, "upstream_error"],
    ["garbage", jsonAnswer(200, "nope"), 502, "upstream_error"],
  ];
  for (const [name, answer, status, type] of before) {
    test(`${name}, plain and streamed: ${status}, and free`, async () => {
      double.handle(() => answer);
      for (const stream of [false, true]) {
        const response = await ask(stream);
        expect([response.status, await response.json()]).toMatchObject([
          status,
          { error: { code: status, type } },
        ]);
      }
      expect(await spent()).toBe(0);
    });
  }

  const inside: readonly [string, string, number, string][] = [
    ["an error", JSON.stringify(unavailable), 503, "overloaded_error"],
    ["an error in a list", JSON.stringify([unavailable]), 503, "overloaded_error"],
    ["garbage", "nope", 502, "upstream_error"],
    ["an end mark of another format", "[DONE]", 502, "upstream_error"],
  ];
  for (const [name, data, status, type] of inside) {
    test(`${name} as the first event is a status of its own; in mid-stream it ends the stream`, async () => {
      double.handle(() => sseAnswer(sse([data])));
      const first = await ask(true);
      expect([first.status, await first.json()]).toMatchObject([status, { error: { type } }]);
      expect(await spent()).toBe(0);
      double.handle(() => sseAnswer(sse([growing[0] as Json, data, growing[1] as Json])));
      const events = streamEvents(await (await ask(true)).text());
      expect(events).toMatchObject([growing[0], { error: { code: status, type }, credit: costOf(1) }]);
      expect(JSON.stringify(events)).not.toContain("finishReason");
      expect(await spent()).toBe(costOf(1));
    });
  }

  test("a 200 without candidates is no answer, and free", async () => {
    double.handle(() => jsonAnswer(200, { usageMetadata: USAGE }));
    expect((await ask(false)).status).toBe(502);
    double.handle(() => sseAnswer(sse([{ usageMetadata: USAGE }])));
    expect((await ask(true)).status).toBe(502);
    expect(await spent()).toBe(0);
  });
});

test("usage that is missing is counted by us, told and flagged, plain and streamed", async () => {
  const logged = gateway.logs.length;
  const parts = ["x".repeat(40)];
  double.handle((request) =>
    request.target.includes(":stream")
      ? geminiStream({ parts, usage: null })
      : jsonAnswer(200, geminiAnswer({ parts, usage: null })),
  );
  const plain = (await (await ask(false)).json()) as Json;
  const streamed = streamEvents(await (await ask(true)).text()).at(-1);
  expect(plain.usageMetadata.candidatesTokenCount).toBe(10);
  expect(streamed.usageMetadata).toEqual(plain.usageMetadata);
  expect(streamed.credit).toBe(plain.credit);
  expect(await spent()).toBeCloseTo(plain.credit * 2, 6);
  expect(JSON.stringify(gateway.logs.slice(logged))).toContain("estimated");
});

test("a count that cannot be is charged within the hold, and told as it was charged", async () => {
  double.handle(() =>
    geminiPlain({ usage: { promptTokenCount: 5, candidatesTokenCount: 1e12, totalTokenCount: 1e12 } }),
  );
  const answer = (await (await ask(false)).json()) as Json;
  // 64 tokens of output were held for, and somewhat more than the prompt.
  expect(answer.credit).toBeLessThan(64 * 0.0375 + 5);
  expect(await spent()).toBe(answer.credit);
});

test("a stream that is slow to begin is kept open by empty parts, and then answers", async () => {
  const gate = createGate();
  double.handle(() => gateAt(geminiStream({ usage: USAGE }), "start", gate));
  const waiting = ask(true);
  await double.waitForRequest(1);
  await clock.advance(15_000);
  const response = await waiting;
  expect(response.status).toBe(200);
  await clock.advance(45_000);
  gate.release();
  const text = await response.text();
  expect(text.replace(/^data: \{.*\}\n\n/gm, "")).toBe("");
  const events = streamEvents(text);
  const empty = { candidates: [{ content: { role: "model", parts: [{ text: "" }] }, index: 0 }] };
  expect(events.filter((event) => Bun.deepEquals(event, empty)).length).toBeGreaterThanOrEqual(3);
  expect(events.at(-1)).toMatchObject({ usageMetadata: USAGE, credit: CREDIT });
  expect(events.every(({ candidates }) => candidates[0].content.parts.length > 0)).toBeTrue();
});

test("a refusal after the 200 was committed is told inside the stream, and free", async () => {
  const gate = createGate();
  const refusal = {
    error: { code: 429, message: "Quota.", status: "RESOURCE_EXHAUSTED", details: [{ retryDelay: "7s" }] },
  };
  double.handle(() => gateAt(jsonAnswer(429, refusal), "start", gate));
  const waiting = ask(true);
  await double.waitForRequest(1);
  await clock.advance(15_000);
  const response = await waiting;
  gate.release();
  const event = streamEvents(await response.text()).at(-1);
  expect(event).toMatchObject({ error: { code: 503, type: "overloaded_error" }, credit: 0 });
  expect(event.error.details[0].retryDelay).toBe("7s");
  expect(await spent()).toBe(0);
});

test("without a bound the hold decides it, and it goes up inside the config", async () => {
  double.handle(() => geminiPlain({ usage: USAGE }));
  const path = `/api/v1/models/${MODEL}:generateContent`;
  await gateway.post(path, { contents: body.contents, generation_config: { temperature: 1 } });
  expect(double.requests[0]?.json()).toEqual({
    contents: body.contents,
    generation_config: { temperature: 1 },
  });
  const { json: account } = await gateway.admin("POST", "/accounts", { name: "poor" });
  await gateway.admin("POST", `/accounts/${account.id}/credits`, { amount: 200, reason: "test" });
  const { json: key } = await gateway.admin("POST", "/keys", { account_id: account.id, name: "poor" });
  await gateway.post(
    path,
    { contents: body.contents, generation_config: { temperature: 1 } },
    { headers: { authorization: `Bearer ${key.key}` } },
  );
  const sent = double.requests[1]?.json() as Json;
  expect(sent.generation_config.temperature).toBe(1);
  // Half of 200 credits at 0.0375 a token.
  expect(sent.generation_config.maxOutputTokens).toBeWithin(2_500, 2_667);
  expect(geminiChunks().length).toBe(2);
});
