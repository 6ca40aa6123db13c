import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { ApiError, GoogleGenAI, type HttpOptions } from "@google/genai";
import { createDatedClock } from "../gateway/dated-clock.ts";
import { startGateway, UPSTREAM_KEY, type TestGateway } from "../gateway/gateway.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { afterEvent } from "../upstream/cuts.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { gateAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { geminiChunks, geminiStream } from "../upstream/gemini-bytes.ts";
import { sse } from "../upstream/sse-bytes.ts";
import { all, contents, CREDIT, IMAGE_MODEL, MODEL, strict, USAGE } from "./genai-asked.ts";

// What the official SDK raises, and what is charged, when there is no answer or half of one.

let double: UpstreamDouble;
let gateway: TestGateway;
let client: GoogleGenAI;

beforeAll(async () => {
  double = await startUpstreamDouble();
  gateway = await startGateway({
    clock: createDatedClock(),
    environment: { GEMINI_API_KEY: UPSTREAM_KEY, GEMINI_BASE_URL: double.url },
  });
  client = open({ baseUrl: `${gateway.url}/api`, apiVersion: "v1" });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => double.reset());

function open(httpOptions: HttpOptions, apiKey = gateway.key): GoogleGenAI {
  return new GoogleGenAI({ apiKey, httpOptions });
}

async function failure(call: Promise<unknown>): Promise<{ status: number; error: Record<string, unknown> }> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return {
      status: error.status,
      error: (JSON.parse(error.message) as { error: Record<string, unknown> }).error,
    };
  }
  throw new Error("The call did not fail.");
}

test("errors are ApiErrors whose body the SDK can read", async () => {
  const create = (config: object, using = client, model = MODEL) =>
    using.models.generateContent({ model, contents, config });
  expect(await failure(create({ temperature: 3 }))).toMatchObject({
    status: 400,
    error: { code: 400, status: "INVALID_ARGUMENT", type: "invalid_request_error" },
  });
  const audio = await failure(create({ responseModalities: ["AUDIO"] }));
  expect(audio.status).toBe(400);
  expect(JSON.stringify(audio)).toContain('"field":"generationConfig.responseModalities"');
  expect(await failure(create({ tools: [{ googleMaps: {} }] }))).toMatchObject({ status: 400 });
  const stranger = open({ baseUrl: `${gateway.url}/api`, apiVersion: "v1" }, "sk-nobody");
  expect(await failure(create({}, stranger))).toMatchObject({
    status: 401,
    error: { code: 401, status: "UNAUTHENTICATED", type: "auth_error" },
  });
  expect(
    await failure(
      create(
        { maxOutputTokens: 32_768, candidateCount: 8, responseModalities: ["IMAGE"] },
        await poor(),
        IMAGE_MODEL,
      ),
    ),
  ).toMatchObject({
    status: 402,
    error: { code: 402, status: "FAILED_PRECONDITION", type: "insufficient_credits" },
  });
  double.handle(() =>
    jsonAnswer(429, {
      error: {
        code: 429,
        message: "You exceeded your current quota, please check your plan and billing details.",
        status: "RESOURCE_EXHAUSTED",
        details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.4s" }],
      },
    }),
  );
  const busy = await failure(create({}));
  expect(busy).toMatchObject({
    status: 503,
    error: { code: 503, status: "UNAVAILABLE", type: "overloaded_error" },
  });
  expect(JSON.stringify(busy)).toContain('"retryDelay":"35s"');
  double.handle(() => strict({ ...double.requests[0], header: () => "AIza-wrong" } as never));
  expect(await failure(create({}))).toMatchObject({ status: 502, error: { type: "upstream_error" } });
  const streamed = await failure(
    client.models.generateContentStream({ model: MODEL, contents, config: { topP: 2 } }),
  );
  expect(streamed.status).toBe(400);
});

/** A client whose account has next to nothing. */
async function poor(): Promise<GoogleGenAI> {
  const { json: account } = await gateway.admin("POST", "/accounts", { name: "poor" });
  await gateway.admin("POST", `/accounts/${account.id}/credits`, { amount: 10, reason: "test" });
  const { json: key } = await gateway.admin("POST", "/keys", { account_id: account.id, name: "poor" });
  return open({ baseUrl: `${gateway.url}/api`, apiVersion: "v1" }, key.key as string);
}

test("a blocked prompt is an answer, plain and streamed, charged by its usage", async () => {
  const blocked = {
    promptFeedback: { blockReason: "PROHIBITED_CONTENT" },
    usageMetadata: { promptTokenCount: 8, totalTokenCount: 8 },
  };
  double.handle((request) =>
    request.target.includes(":stream")
      ? { ...geminiStream(), body: sse([blocked]) }
      : jsonAnswer(200, blocked),
  );
  const before = await gateway.account();
  const plain = await client.models.generateContent({ model: MODEL, contents });
  const [streamed, ...rest] = await all(
    await client.models.generateContentStream({ model: MODEL, contents }),
  );
  for (const response of [plain, streamed])
    expect(response?.promptFeedback?.blockReason as string).toBe("PROHIBITED_CONTENT");
  expect(rest).toEqual([]);
  expect(before.balance - (await gateway.account()).balance).toBeCloseTo(0.12, 6);
});

test("a stream that breaks in the middle raises in the SDK, and what came is charged", async () => {
  const body = sse(geminiChunks({ parts: ["one ", "two ", "three"], usage: USAGE }));
  double.handle(() => ({
    ...geminiStream(),
    body,
    framing: "close",
    end: { at: afterEvent(body, 2), how: "fin" },
  }));
  const before = await gateway.account();
  let text = "";
  const read = async (): Promise<void> => {
    for await (const chunk of await client.models.generateContentStream({ model: MODEL, contents }))
      text += chunk.text ?? "";
  };
  const error: unknown = await read().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ApiError);
  expect([text, (error as ApiError).status]).toEqual(["one two ", 502]);
  expect((error as ApiError).message).toContain('"credit":0.2325');
  expect(before.balance - (await gateway.account()).balance).toBeCloseTo(CREDIT, 6);
});

test("abort: the SDK leaves in mid-stream, upstream is stopped, and what was delivered is charged", async () => {
  const before = await gateway.account();
  const body = sse(geminiChunks({ parts: ["one ", "two ", "three ", "four "], usage: USAGE }));
  const gate = createGate();
  double.handle(() => gateAt({ ...geminiStream(), body }, afterEvent(body, 2), gate));
  const controller = new AbortController();
  const stream = await client.models.generateContentStream({
    model: MODEL,
    contents,
    config: { abortSignal: controller.signal },
  });
  let text = "";
  const reading = (async () => {
    for await (const chunk of stream) {
      text += chunk.text ?? "";
      if (text === "one two ") controller.abort();
    }
  })();
  await reading.catch(() => undefined);
  const request = await double.waitForRequest(1);
  await double.waitForClientGone(request);
  await gateway.settled();
  expect(text).toBe("one two ");
  const spent = before.balance - (await gateway.account()).balance;
  expect(spent).toBeGreaterThan(0);
  expect(spent).toBeLessThan(CREDIT + 0.0001);
  gate.release();
});
