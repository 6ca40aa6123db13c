import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { redirectTo } from "../upstream/faults.ts";

// What a provider says of our account, its balance, credential or address, in every format. The client is told that the
// provider failed, and no more. The operator has an error line that is marked.

let double: UpstreamDouble;
let gateway: TestGateway;

beforeAll(async () => {
  double = await startUpstreamDouble();
  gateway = await startGateway({
    openai: `${double.url}/v1`,
    anthropic: double.url,
    environment: { GEMINI_API_KEY: UPSTREAM_KEY, GEMINI_BASE_URL: double.url },
  });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => double.reset());

const CANARY = "canary-of-the-account";

/** How a client asks in each format, and how a provider breaks a stream of it with an error. */
const FORMATS = [
  {
    name: "chat completions",
    ask: (stream: boolean) =>
      gateway.chat({ model: "openai/gpt-5.6-luna", messages: [{ role: "user", content: "hi" }], stream }),
    broken: (error: object) =>
      `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta: { content: "Hel" } }] })}\n\n` +
      `data: ${JSON.stringify({ error })}\n\n`,
  },
  {
    name: "messages",
    ask: (stream: boolean) =>
      gateway.post("/api/v1/messages", {
        model: "anthropic/claude-haiku-4.5",
        max_tokens: 9,
        messages: [{ role: "user", content: "hi" }],
        stream,
      }),
    broken: (error: object) =>
      [
        {
          type: "message_start",
          message: { model: "x", content: [], usage: { input_tokens: 1, output_tokens: 1 } },
        },
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hel" } },
        { type: "error", error },
      ]
        .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
        .join(""),
  },
  {
    name: "generateContent",
    ask: (stream: boolean) =>
      gateway.post(
        `/api/v1/models/google/gemini-3.8-flash:${stream ? "streamGenerate" : "generate"}Content`,
        {
          contents: [{ role: "user", parts: [{ text: "hi" }] }],
        },
      ),
    broken: (error: object) =>
      `data: ${JSON.stringify({ candidates: [{ index: 0, content: { role: "model", parts: [{ text: "Hel" }] } }] })}\n\n` +
      `data: ${JSON.stringify({ error })}\n\n`,
  },
];

const ERRORS = {
  "a key that is not valid": { status: 401, error: { code: "invalid_api_key", message: CANARY } },
  "a balance that is used up": { status: 402, error: { code: 402, message: CANARY } },
  "what the account may not do": {
    status: 403,
    error: { code: 403, status: "PERMISSION_DENIED", message: CANARY },
  },
  "a quota that is used up": { status: 429, error: { type: "insufficient_quota", message: CANARY } },
  "a balance, as a 400": {
    status: 400,
    error: { type: "invalid_request_error", message: `Your credit balance is too low. ${CANARY}` },
  },
} as const;

/** Asks once, and expects that the client is told nothing and the operator enough. */
async function expectAlarm(answer: Answer, ask: () => Promise<Response>): Promise<Response> {
  double.handle(() => answer);
  const response = await ask();
  const text = await response.clone().text();
  await gateway.settled();
  expect(text).toContain('"upstream_error"');
  expect(text).not.toContain(CANARY);
  const line = gateway.logs.findLast(({ message }) => message === "request");
  expect(line).toMatchObject({ level: "error", operator_fault: true, upstream_status: answer.status });
  expect(JSON.stringify(line)).not.toContain(CANARY);
  return response;
}

for (const { name, ask, broken } of FORMATS) {
  describe(name, () => {
    for (const [what, { status, error }] of Object.entries(ERRORS)) {
      for (const stream of [false, true]) {
        test(`${what} is a 502 and an alarm${stream ? ", streamed" : ""}`, async () => {
          const response = await expectAlarm(jsonAnswer(status, { error }), () => ask(stream));
          expect([response.status, response.headers.get("retry-after")]).toEqual([502, null]);
        });
      }
    }

    for (const [what, { error }] of Object.entries(ERRORS).slice(0, 4)) {
      test(`${what}, said in mid-stream, is the error of the stream and an alarm`, async () => {
        const response = await expectAlarm(sseAnswer(broken(error)), () => ask(true));
        expect(response.status).toBe(200);
        expect(await response.text()).toContain("Hel");
      });
    }

    test("a redirect, which is an address that is not right, is a 502 and an alarm", async () => {
      const response = await expectAlarm(redirectTo("https://elsewhere.invalid/"), () => ask(false));
      expect(response.status).toBe(502);
    });
  });
}
