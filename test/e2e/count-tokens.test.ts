import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { createFakeClock } from "../gateway/fake-clock.ts";
import { startGateway, type Json, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { strictGenerateContent } from "../upstream/strict-gemini.ts";
import { strictMessages } from "../upstream/strict-messages-format.ts";

// Counting with the official SDKs, unmodified. The upstream is the double, as strict as the vendors are: it refuses what
// a request to count may not have.

const HAIKU = "anthropic/claude-haiku-4.5";
const OPUS = "anthropic/claude-opus-5.5";
const FLASH = "google/gemini-3.8-flash";
const LUNA = "openai/gpt-5.6-luna";

let double: UpstreamDouble;
let gateway: TestGateway;
let anthropic: Anthropic;
let google: GoogleGenAI;

beforeAll(async () => {
  double = await startUpstreamDouble();
  gateway = await startGateway({
    openai: `${double.url}/v1`,
    anthropic: double.url,
    environment: { GEMINI_API_KEY: UPSTREAM_KEY, GEMINI_BASE_URL: double.url },
    // No provider is ever too slow, however busy the machine is.
    clock: createFakeClock(),
    // Nothing is paid for: a key without credit counts.
    credits: 0,
  });
  anthropic = new Anthropic({ baseURL: `${gateway.url}/api`, apiKey: gateway.key, maxRetries: 0 });
  google = new GoogleGenAI({
    apiKey: gateway.key,
    httpOptions: { baseUrl: `${gateway.url}/api`, apiVersion: "v1" },
  });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});

const messagesCheck = strictMessages({ keys: [UPSTREAM_KEY] });
const googleCheck = strictGenerateContent({ keys: [UPSTREAM_KEY] });
const GOOGLE_COUNT = { totalTokens: 21, promptTokensDetails: [{ modality: "TEXT", tokenCount: 21 }] };

beforeEach(() => {
  double.reset();
  double.handle((request) =>
    request.target.startsWith("/v1/messages")
      ? (messagesCheck(request) ?? jsonAnswer(200, { input_tokens: 14 }))
      : (googleCheck(request) ?? jsonAnswer(200, GOOGLE_COUNT)),
  );
});

const said = [{ role: "user" as const, content: "Say hello." }];
const contents = [{ role: "user", parts: [{ text: "Say hello." }] }];
const MESSAGES = "/api/v1/messages/count_tokens";
const GENERATE = `/api/v1/models/${FLASH}:countTokens`;

/** Posts a request to count and reads the answer. */
async function count(path: string, body: unknown, init: RequestInit = {}) {
  const response = await gateway.post(path, body, init);
  const json: Json = await response.json();
  return {
    status: response.status,
    json,
    estimate: response.headers.get("x-switchyard-estimate"),
    warning: response.headers.get("warning"),
    sent: double.requests.at(-1)?.bodyText,
  };
}

describe("messages", () => {
  test("the SDK is given what Anthropic counts, and Anthropic is asked at its counting path alone", async () => {
    expect(await anthropic.messages.countTokens({ model: HAIKU, messages: said })).toEqual({
      input_tokens: 14,
    });
    expect(double.requests.map(({ method, target }) => `${method} ${target}`)).toEqual([
      "POST /v1/messages/count_tokens",
    ]);
    expect(double.requests[0]?.json()).toEqual({ model: "claude-haiku-4-5", messages: said });
  });

  test("the beta client and its query are served too, with the previews that are relayed", async () => {
    const counted = await anthropic.beta.messages.countTokens({
      model: OPUS,
      messages: said,
      betas: ["token-counting-2024-11-01", "fast-mode-2026-02-01"],
    });
    expect(counted).toEqual({ input_tokens: 14 } as Json);
    expect(double.requests[0]?.target).toBe("/v1/messages/count_tokens");
    expect(double.requests[0]?.header("anthropic-beta")).toBe("token-counting-2024-11-01");
  });

  test("where the base address ends in /api/v1 it is found as well", async () => {
    const using = new Anthropic({ baseURL: `${gateway.url}/api/v1`, apiKey: gateway.key, maxRetries: 0 });
    expect(await using.messages.countTokens({ model: HAIKU, messages: said })).toEqual({ input_tokens: 14 });
  });

  test("the body goes up as its own bytes but for the model, and the answer comes down as its own", async () => {
    const answer = '{ "input_tokens":14,  "context_management": {"original_input_tokens":70} }';
    double.handle(() => ({ ...jsonAnswer(200, {}), body: answer }));
    const body = `{"tool_choice" :{"type":"auto"}, "model":"${HAIKU}","messages":[{"role":"user","content":"\\u0041 1.0e2"}],"system" : "s"}`;
    const response = await gateway.post(`${MESSAGES}?beta=true&x=%C3%A4`, body);
    expect(await response.text()).toBe(answer);
    expect(double.requests[0]?.bodyText).toBe(body.replace(HAIKU, "claude-haiku-4-5"));
  });

  test("what is said of an answer is left out and named", async () => {
    const { status, json, warning, estimate } = await count(MESSAGES, {
      model: HAIKU,
      messages: said,
      max_tokens: 100,
      stream: true,
      temperature: 3,
      stop_sequences: [],
      metadata: { user_id: "u" },
      service_tier: "priority",
      speed: "fast",
      context_management: { edits: [] },
    });
    expect([status, json, estimate]).toEqual([200, { input_tokens: 14 }, null]);
    expect(double.requests[0]?.json()).toEqual({ model: "claude-haiku-4-5", messages: said });
    for (const name of ["max_tokens", "stream", "temperature", "speed", "context_management"])
      expect(warning).toContain(`${name} was left out`);
  });

  test("thinking is put as the model knows it, as for an answer", async () => {
    const thinking = { type: "enabled", budget_tokens: 30_000 };
    await count(MESSAGES, { model: OPUS, messages: said, thinking });
    expect(double.requests[0]?.json()).toMatchObject({ thinking: { type: "adaptive" } });
    await count(MESSAGES, { model: HAIKU, messages: said, thinking });
    expect(double.requests[1]?.json()).toMatchObject({ thinking });
  });
});

describe("generateContent", () => {
  test("the SDK is given what Gemini counts, and Gemini is asked at its counting path alone", async () => {
    const counted = await google.models.countTokens({ model: FLASH, contents: "Say hello." });
    expect(counted.totalTokens).toBe(21);
    expect(double.requests.map(({ method, target }) => `${method} ${target}`)).toEqual([
      "POST /v1beta/models/gemini-3.8-flash:countTokens",
    ]);
  });

  test("contents alone go up as they came", async () => {
    const body = '{ "contents":[ {"parts":{"text":"\\u0041"}}]}';
    expect(await count(GENERATE, body)).toMatchObject({ status: 200, json: GOOGLE_COUNT, sent: body });
  });

  test("a whole request goes up within its member, with the model that the path names", async () => {
    const whole =
      '{"system_instruction":{"parts":[{"text":"s"}]},"contents":[{"parts":[{"text":"a"}]}],"model":"models/x"}';
    for (const name of ["generateContentRequest", "generate_content_request"]) {
      const { status, json, sent } = await count(GENERATE, `{"${name}" : ${whole}}`);
      expect([status, json]).toEqual([200, GOOGLE_COUNT]);
      expect(sent).toBe(`{"generateContentRequest":${whole.replace("models/x", "models/gemini-3.8-flash")}}`);
    }
  });

  test("contents alone stay within it where they came so", async () => {
    const model = "models/gemini-3.8-flash";
    expect((await count(GENERATE, { generateContentRequest: { contents } })).status).toBe(200);
    expect(double.requests[0]?.json()).toEqual({ generateContentRequest: { contents, model } });
  });

  test("the enterprise form is put where the reference has it", async () => {
    const body = {
      contents,
      systemInstruction: { parts: [{ text: "s" }] },
      tools: [{ functionDeclarations: [{ name: "f" }] }],
      generationConfig: { temperature: 1 },
      serviceTier: "flex",
    };
    const { status, json, warning } = await count(GENERATE, body);
    const { serviceTier: _, ...kept } = body;
    expect([status, json]).toEqual([200, GOOGLE_COUNT]);
    expect(warning).toContain("serviceTier was left out");
    expect(double.requests[0]?.json()).toEqual({
      generateContentRequest: { ...kept, model: "models/gemini-3.8-flash" },
    });
  });

  for (const path of [
    "/api/v1/models/google%2Fgemini-3.8-flash:countTokens",
    "/api/v1/models/google%2fgemini-3.8-flash%3acountTokens?key=x",
    "/api/v1/google/gemini-3.8-flash:countTokens",
    "/api/v1beta/models/google/gemini-3.8-flash:countTokens",
    "/api/v1/v1beta/models/google/gemini-3.8-flash:countTokens",
  ])
    test(`${path} counts`, async () =>
      expect(await count(path, { contents })).toMatchObject({ status: 200, json: GOOGLE_COUNT }));
});

describe("a request that is not valid is a 400 in the shape of its format, and nobody is asked", () => {
  const call = { type: "tool_use", id: "t", name: "f" };
  const deep = `${"[".repeat(70)}${"]".repeat(70)}`;
  const cases: readonly [name: string, path: string, body: unknown, says: string][] = [
    ["no messages", MESSAGES, { model: HAIKU }, "messages"],
    ["no model", MESSAGES, { messages: said }, "model"],
    ["a model that there is not", MESSAGES, { model: "v/nobody", messages: said }, "v/nobody"],
    ["no JSON", MESSAGES, "{", "not valid JSON"],
    ["a member that stands twice", MESSAGES, `{"model":"a","model":"b"}`, "twice"],
    ["nesting without an end", MESSAGES, `{"model":"${HAIKU}","messages":${deep}}`, "deeper"],
    ["half a block", MESSAGES, { model: HAIKU, messages: [{ role: "user", content: [call] }] }, "input"],
    [
      "a tool without a price",
      MESSAGES,
      { model: HAIKU, messages: said, tools: [{ type: "x_1" }] },
      "tools[0].type",
    ],
    [
      "a link of a scheme that is not relayed",
      MESSAGES,
      {
        model: HAIKU,
        messages: [
          { role: "user", content: [{ type: "image", source: { type: "url", url: "file:///etc/passwd" } }] },
        ],
      },
      "source.url",
    ],
    ["no contents", GENERATE, {}, "contents"],
    [
      "both forms at once",
      GENERATE,
      { contents, generateContentRequest: { contents } },
      "generateContentRequest",
    ],
    ["a request that is none", GENERATE, { generateContentRequest: [] }, "generateContentRequest"],
    ["an empty request", GENERATE, { generateContentRequest: {} }, "contents"],
    ["a part of an unknown kind", GENERATE, { contents: [{ parts: [{ hologram: 1 }] }] }, "hologram"],
    [
      "a kind of input that the model does not take",
      GENERATE.replace(FLASH, LUNA),
      {
        contents: [{ parts: [{ fileData: { fileUri: "https://a.example/v.mp4", mimeType: "video/mp4" } }] }],
      },
      "video",
    ],
  ];
  for (const [name, path, body, says] of cases) {
    test(name, async () => {
      const { status, json } = await count(path, body);
      expect([status, json.error.type]).toEqual([400, "invalid_request_error"]);
      expect(json.error.message).toContain(says);
      if (path === MESSAGES) expect(json.type).toBe("error");
      else expect(json.error).toMatchObject({ code: 400, status: "INVALID_ARGUMENT" });
      expect(double.requests).toEqual([]);
    });
  }

  test("a body that is too large, or not JSON by its type", async () => {
    const large = `{"model":"${HAIKU}","messages":[{"role":"user","content":"${"a".repeat(33 * 1024 * 1024)}"}]}`;
    expect((await count(MESSAGES, large)).json.error.type).toBe("input_too_large");
    const plain = await count(MESSAGES, "{}", { headers: { "content-type": "text/plain" } });
    expect([plain.status, plain.json.error.message]).toMatchObject([
      400,
      expect.stringContaining("content-type"),
    ]);
  });

  test("without a key, and with one that is wrong, it is a 401; by another method a 405", async () => {
    for (const path of [MESSAGES, GENERATE]) {
      const bare = await fetch(gateway.url + path, { method: "POST", body: "{}" });
      expect([bare.status, ((await bare.json()) as Json).error.type]).toEqual([401, "auth_error"]);
      const wrong = await count(path, "{}", { headers: { authorization: "Bearer sk-wrong" } });
      expect(wrong.status).toBe(401);
      expect((await gateway.post(path, undefined, { method: "PUT" })).status).toBe(405);
    }
    expect(double.requests).toEqual([]);
  });

  test("a model that the key may not use is none for it", async () => {
    const { json: key } = await gateway.admin("POST", "/keys", {
      account_id: gateway.accountId,
      name: "gemini alone",
      models: [FLASH],
    });
    const headers = { authorization: `Bearer ${key.key}` };
    expect((await count(MESSAGES, { model: HAIKU, messages: said }, { headers })).status).toBe(400);
    expect((await count(GENERATE, { contents }, { headers })).status).toBe(200);
  });
});

test("counting leaves nothing in the books, and takes nothing of a key's limits", async () => {
  const clock = createFakeClock();
  const funded = await startGateway({
    openai: `${double.url}/v1`,
    anthropic: double.url,
    clock,
    credits: 100,
  });
  try {
    double.handle((request) =>
      request.target === "/v1/messages/count_tokens" ? jsonAnswer(200, { input_tokens: 14 }) : chatAnswer(),
    );
    const { json: key } = await funded.admin("POST", "/keys", {
      account_id: funded.accountId,
      name: "limited",
      limits: { requests_per_minute: 1, tokens_per_minute: 1_000, concurrency: 1 },
    });
    const headers = { authorization: `Bearer ${key.key}` };
    const long = [{ role: "user", content: "word ".repeat(2_000) }];
    for (let i = 0; i < 5; i += 1) {
      const response = await funded.post(MESSAGES, { model: HAIKU, messages: long }, { headers });
      expect([response.status, response.headers.get("x-switchyard-estimate")]).toEqual([200, null]);
      expect([...response.headers.keys()].filter((name) => name.includes("ratelimit"))).toEqual([]);
    }
    const entries = await funded.admin("GET", `/accounts/${funded.accountId}/ledger`);
    expect(entries.json.data.map(({ type }: Json) => type)).toHaveLength(1);
    expect((await funded.admin("GET", "/requests")).json.data).toEqual([]);
    expect(await funded.account()).toMatchObject({ balance: 100, held: 0 });
    // The one request of the minute is still there.
    const asked = await funded.chat({ model: LUNA, messages: said, max_tokens: 5 }, { headers });
    expect(asked.status).toBe(200);
    expect((await funded.admin("GET", "/requests")).json.data).toHaveLength(1);
  } finally {
    await funded.close();
  }
});

describe("a model is counted by every name that it answers to", () => {
  test("and the answer says where another serves", async () => {
    const named = await startGateway({
      clock: createFakeClock(),
      openai: `${double.url}/v1`,
      anthropic: double.url,
      settings: `aliases: { "claude-*": ${LUNA}, small: ${HAIKU} }`,
      credits: 0,
    });
    try {
      const asked = async (model: string) => {
        const response = await named.post(MESSAGES, { model, messages: said });
        expect(response.status).toBe(200);
        return [
          response.headers.get("x-switchyard-estimate"),
          response.headers.get("warning")?.includes("is an alias") ?? false,
        ];
      };
      // The vendor's own names are patterns of the operator's here.
      expect(await asked("claude-opus-4-8")).toEqual(["true", true]);
      expect(await asked("small")).toEqual([null, true]);
      expect(await asked("anthropic/claude-haiku-4-5-20251001")).toEqual([null, false]);
      expect(double.requests.map((request) => (request.json() as Json).model)).toEqual([
        "claude-haiku-4-5",
        "claude-haiku-4-5",
      ]);
    } finally {
      await named.close();
    }
  });

  test("by those of Google's clients in the path", async () => {
    expect(await count("/v1beta/models/gemini-3.8-flash:countTokens", { contents })).toMatchObject({
      status: 200,
      json: GOOGLE_COUNT,
      estimate: null,
    });
  });

  test("one that makes images has no input to count", async () => {
    const { status, json } = await count(MESSAGES, { model: "openai/gpt-image-2", messages: said });
    expect([status, json.error.message]).toEqual([
      400,
      expect.stringContaining("/api/v1/images/generations"),
    ]);
  });
});

describe("a model whose provider speaks another format", () => {
  test("is counted by us, and nobody is asked", async () => {
    const ours = await count(MESSAGES, { model: LUNA, messages: said });
    expect(ours).toMatchObject({ status: 200, estimate: "true" });
    expect(ours.warning).toContain(
      "the count is an estimate: the provider of this model does not count in this format",
    );
    expect(ours.json.input_tokens).toBeGreaterThan(5);
    const google = await count(GENERATE.replace(FLASH, HAIKU), { contents });
    expect(google).toMatchObject({ status: 200, estimate: "true" });
    expect(google.json).toEqual({
      totalTokens: google.json.totalTokens,
      promptTokensDetails: [{ modality: "TEXT", tokenCount: google.json.totalTokens }],
    });
    expect(double.requests).toEqual([]);
  });

  test("has everything counted that is billed: system, tools, calls, results, images, documents", async () => {
    const tokens = async (body: object): Promise<number> =>
      (await count(MESSAGES, { model: LUNA, messages: said, ...body })).json.input_tokens;
    const text = "word ".repeat(200);
    const bare = await tokens({});
    const turn = (role: string, content: unknown) => ({ role, content });
    const call = { type: "tool_use", id: "t", name: "f", input: { text } };
    const result = { type: "tool_result", tool_use_id: "t", content: text };
    const pixel =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
    for (const more of [
      { system: text },
      { tools: [{ name: "f", description: text, input_schema: { type: "object" } }] },
      { messages: [...said, turn("assistant", [call]), turn("user", [{ ...result, content: "" }])] },
      { messages: [...said, turn("assistant", [{ ...call, input: {} }]), turn("user", [result])] },
    ])
      expect(await tokens(more)).toBeGreaterThan(bare + 200);
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } };
    expect(await tokens({ messages: [turn("user", [image])] })).toBeGreaterThan(bare - 5);
    const linked = { type: "image", source: { type: "url", url: "https://a.example/b.png" } };
    expect(await tokens({ messages: [turn("user", [linked])] })).toBeGreaterThan(bare + 1_000);
  });
});
