import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { createDatedClock } from "../gateway/dated-clock.ts";
import { startGateway, streamEvents, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { geminiPlain, geminiStream } from "../upstream/gemini-bytes.ts";
import { strictGenerateContent } from "../upstream/strict-gemini.ts";

// The addresses of generateContent as clients other than the official SDK make them, and what is none of them.

const MODEL = "google/gemini-3.8-flash";
const USAGE = { promptTokenCount: 11, candidatesTokenCount: 4, totalTokenCount: 15 };
/** 11 × 0.75 + 4 × 3.75 USD per million, in credits. */
const CREDIT = 0.2325;

let double: UpstreamDouble;
let gateway: TestGateway;

beforeAll(async () => {
  double = await startUpstreamDouble();
  gateway = await startGateway({
    clock: createDatedClock(),
    environment: { GEMINI_API_KEY: UPSTREAM_KEY, GEMINI_BASE_URL: double.url },
  });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => {
  double.reset();
  double.handle(
    (request) =>
      strict(request) ??
      (request.target.includes(":stream") ? geminiStream({ usage: USAGE }) : geminiPlain({ usage: USAGE })),
  );
});

const strict = strictGenerateContent({ keys: [UPSTREAM_KEY], models: ["gemini-3.8-flash"] });

const body = { contents: [{ parts: [{ text: "hi" }] }] };
for (const path of [
  "/api/v1/google/gemini-3.8-flash:generateContent",
  "/api/v1/models/google%2fgemini-3.8-flash%3AgenerateContent",
  "/api/v1/models/google/gemini-3.8-flash:generateContent?key=whatever&alt=json",
]) {
  test(`${path} is served`, async () => {
    const response = await gateway.post(path, body);
    expect([response.status, await response.json()]).toMatchObject([200, { credit: CREDIT }]);
  });
}

const refused: readonly [string, string, number, string][] = [
  ["POST", "/api/v1/models/google/gemini-3.8-flash:embedContent", 404, "NOT_FOUND"],
  ["POST", "/api/v1/models/google/nobody:countTokens", 400, "INVALID_ARGUMENT"],
  ["POST", "/api/v1/models/google/gemini-3.8-flash:", 404, "NOT_FOUND"],
  ["PUT", "/api/v1/models/google/gemini-3.8-flash:generateContent", 405, "INVALID_ARGUMENT"],
  ["POST", "/api/v1/models/google/nobody:generateContent", 400, "INVALID_ARGUMENT"],
  ["POST", "/api/v1/models/openai%2Fgpt-5.6-luna:generateContent", 400, "INVALID_ARGUMENT"],
  ["POST", "/api/v1/models/..%2f..%2fadmin:generateContent", 400, "INVALID_ARGUMENT"],
  ["POST", "/api/v1/models/a%5Cb:generateContent", 400, "INVALID_ARGUMENT"],
  ["POST", "/api/v1/models/__proto__:generateContent", 400, "INVALID_ARGUMENT"],
];
for (const [method, path, status, word] of refused) {
  test(`${method} ${path} is ${status}`, async () => {
    const response = await gateway.post(path, body, { method });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { code: status, status: word } });
    expect(double.requests).toEqual([]);
  });
}

test("without a verb, with a dot segment, and with bytes that are no UTF-8 it is as for any path", async () => {
  const status = async (path: string): Promise<number> => (await gateway.post(path, body)).status;
  expect(await status("/api/v1/models/google/gemini-3.8-flash")).toBe(405);
  expect(await status("/api/v1/nothing")).toBe(404);
  expect(await status("/api/v1/models/%2e%2e/%2e%2e/x:generateContent")).toBe(404);
  expect(await status("/api/v1/models/%ff:generateContent")).toBe(400);
  expect(await status("/api/v1/models/a%00b:generateContent")).toBe(400);
});

test("a key in the address opens nothing, and is not logged", async () => {
  const response = await fetch(`${gateway.url}/api/v1/models/${MODEL}:generateContent?key=${gateway.key}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(401);
  expect(await response.json()).toMatchObject({
    error: { code: 401, status: "UNAUTHENTICATED", type: "auth_error" },
  });
  expect(JSON.stringify(gateway.logs)).not.toContain(gateway.key);
});

test("a stream is one of events without alt=sse, too", async () => {
  const response = await gateway.post(`/api/v1/models/${MODEL}:streamGenerateContent`, body);
  expect(response.headers.get("content-type")).toStartWith("text/event-stream");
  const text = await response.text();
  expect(text).toEndWith("}\n\n");
  expect(text.replace(/^data: .*\n\n/gm, "")).toBe("");
  expect(streamEvents(text).at(-1)).toMatchObject({ usageMetadata: USAGE, credit: CREDIT });
});
