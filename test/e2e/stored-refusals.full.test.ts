import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";

// A provider says of one caller's file, cache or container that it is not there, or not the caller's. That caller is
// told, and every other request goes on to the provider.

let double: UpstreamDouble;
let gateway: TestGateway;

beforeEach(async () => {
  double = await startUpstreamDouble();
  gateway = await startGateway({
    openai: `${double.url}/v1`,
    anthropic: double.url,
    settings: "routing: { breaker_seconds: 60 }",
    environment: { GEMINI_API_KEY: UPSTREAM_KEY, GEMINI_BASE_URL: double.url },
  });
});
afterEach(async () => {
  await gateway.close();
  await double.close();
});

const GEMINI = "google/gemini-3.8-flash";
const CLAUDE = "anthropic/claude-haiku-4.5";
const GPT = "openai/gpt-5.6-luna";

const generate = (parts: Json[], more: Json = {}) =>
  gateway.post(`/api/v1/models/${GEMINI}:generateContent`, { contents: [{ role: "user", parts }], ...more });
const messages = (model: string, content: Json, more: Json = {}) =>
  gateway.post("/api/v1/messages", { model, max_tokens: 9, messages: [{ role: "user", content }], ...more });
const chat = (model: string, content: Json) => gateway.chat({ model, messages: [{ role: "user", content }] });
const responses = (content: Json) =>
  gateway.post("/api/v1/responses", { model: GPT, store: false, input: [{ role: "user", content }] });

const FILE = { type: "file", file: { file_id: "file-1" } };
const PDF = { type: "document", source: { type: "file", file_id: "file_1" } };
const HI = { type: "text", text: "hi" };

const NAMED: readonly (readonly [name: string, model: string, ask: () => Promise<Response>])[] = [
  ["a file in chat completions", GPT, () => chat(GPT, [FILE])],
  ["a file of Responses", GPT, () => responses([{ type: "input_file", file_id: "file-1" }])],
  ["an image of Responses", GPT, () => responses([{ type: "input_image", file_id: "file-1" }])],
  ["a file in messages", CLAUDE, () => messages(CLAUDE, [PDF])],
  [
    "a file in a tool's result",
    CLAUDE,
    () =>
      gateway.post("/api/v1/messages", {
        model: CLAUDE,
        max_tokens: 9,
        messages: [
          { role: "user", content: "hi" },
          { role: "assistant", content: [{ type: "tool_use", id: "t", name: "look", input: {} }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: [PDF] }] },
        ],
        tools: [{ name: "look", input_schema: { type: "object" } }],
      }),
  ],
  [
    "a file translated to messages",
    CLAUDE,
    () => chat(CLAUDE, [{ type: "file", file: { file_id: "file_011CNha8iCJcU1wXNR6q4V8w" } }]),
  ],
  [
    "a file of Google's",
    GEMINI,
    () => generate([{ fileData: { mimeType: "image/png", fileUri: "files/a" } }]),
  ],
  [
    "an object of a bucket",
    GEMINI,
    () => generate([{ fileData: { mimeType: "application/pdf", fileUri: "gs://b/o.pdf" } }]),
  ],
  ["a cache of Google's", GEMINI, () => generate([{ text: "hi" }], { cachedContent: "cachedContents/a" })],
];

async function statesOf(model: string): Promise<readonly unknown[]> {
  const { json } = await gateway.admin("GET", `/routes?model=${model}`);
  return json.data.map(({ state, failures }: Json) => [state, failures]);
}

for (const status of [403, 404])
  for (const [name, model, ask] of NAMED)
    test(`${status} to ${name} is that request's 400, and leaves the provider healthy`, async () => {
      double.handle(() => jsonAnswer(status, { error: { message: "You may not see this." } }));
      const response = await ask();
      const { error } = (await response.json()) as Json;
      expect([response.status, error.type]).toEqual([400, "invalid_request_error"]);
      expect(error.message).toContain("You may not see this.");
      expect(double.requests).toHaveLength(1);
      expect(await statesOf(model)).toEqual([["healthy", 0]]);
    });

describe("what names nothing that is stored", () => {
  const others: readonly (readonly [string, () => Promise<Response>])[] = [
    [CLAUDE, () => messages(CLAUDE, [HI])],
    [GPT, () => chat(GPT, [HI])],
    [GEMINI, () => generate([{ text: "hi" }])],
  ];
  for (const [model, ask] of others) {
    test(`a 403 keeps ${model} alone from the credential, and no other model`, async () => {
      double.handle(() => jsonAnswer(403, { error: { message: "x" } }));
      const response = await ask();
      expect(response.status).toBe(502);
      expect(await statesOf(model)).toEqual([["cooling", 0]]);
      const { json } = await gateway.admin("GET", "/routes");
      const states = json.data.filter(({ model: id }: Json) => id !== model).map(({ state }: Json) => state);
      expect([...new Set(states)]).toEqual(["healthy"]);
    });

    test(`a 401 opens the breaker of ${model}'s credential`, async () => {
      double.handle(() => jsonAnswer(401, { error: { message: "x" } }));
      expect((await ask()).status).toBe(502);
      expect(await statesOf(model)).toEqual([["open", 1]]);
    });
  }
});
