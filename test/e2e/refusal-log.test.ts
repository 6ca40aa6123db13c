import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Json, type LogLine, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { WAITING } from "./task-station.ts";

// What the log has of a refused request: the model, the field and the message, and nothing that the caller wrote.

/** Stands in every text that a caller writes here. */
const CANARY = "canary7f3a";

let gateway: TestGateway;
let double: UpstreamDouble;
beforeAll(async () => {
  double = await startUpstreamDouble();
  gateway = await startGateway({
    openai: `${double.url}/v1`,
    anthropic: double.url,
    environment: { SWITCHYARD_SANDBOX: "on" },
  });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});

/** The answer to a request, and its line of the log. */
async function send(path: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await gateway.post(path, body, { headers });
  await response.text();
  return { status: response.status, line: lineOf(response) };
}

function lineOf({ headers }: Response): LogLine {
  const id = headers.get("x-request-id");
  const line = gateway.logs.find((each) => each.message === "request" && each.request_id === id);
  if (line === undefined) throw new Error("The request has no line.");
  return line;
}

const CHAT = "/api/v1/chat/completions";
const MESSAGES = "/api/v1/messages";
const GENERATE = "/api/v1/models/google/gemini-3.8-flash:generateContent";
const IMAGES = "/api/v1/images/generations";
const VIDEOS = "/api/v1/videos";

const TEXT = `Tell nobody of ${CANARY}.`;
const turn = { role: "user", content: TEXT };
const CHAT_MODEL = "openai/gpt-5.6-luna";
const MESSAGES_MODEL = "anthropic/claude-haiku-4.5";
const SEEDANCE = "bytedance/seedance-2.0-fast";

const REFUSED: readonly {
  readonly name: string;
  readonly path: string;
  readonly body: unknown;
  readonly headers?: Record<string, string>;
  readonly line: Partial<LogLine>;
}[] = [
  {
    name: "a value out of its range",
    path: CHAT,
    body: { model: CHAT_MODEL, messages: [turn], temperature: 3 },
    line: {
      status: 400,
      model: CHAT_MODEL,
      error: "invalid_request_error",
      param: "temperature",
      refusal: "temperature must be at most 2.",
    },
  },
  {
    name: "a content that is none",
    path: CHAT,
    body: { model: CHAT_MODEL, messages: [turn, { role: "user", content: { text: TEXT } }] },
    line: {
      model: CHAT_MODEL,
      param: "messages[1].content",
      refusal: expect.stringContaining("messages[1]"),
    },
  },
  {
    name: "a model that is none",
    path: CHAT,
    body: { model: CANARY, messages: [turn] },
    line: { param: "model", refusal: expect.stringContaining('"…"') },
  },
  {
    name: "a type of tool that has no price",
    path: MESSAGES,
    body: { model: MESSAGES_MODEL, max_tokens: 9, messages: [turn], tools: [{ type: CANARY, name: "x" }] },
    line: {
      model: MESSAGES_MODEL,
      param: "tools[0].type",
      refusal: expect.stringContaining('tools[0].type "…" cannot be used here'),
    },
  },
  {
    name: "a member that stands twice",
    path: MESSAGES,
    body: `{"model":"${MESSAGES_MODEL}","max_tokens":9,"messages":[{"role":"user","${CANARY}":1,"${CANARY}":2}]}`,
    line: {
      model: MESSAGES_MODEL,
      param: "messages",
      refusal: '"…" stands twice in one object of messages: send it once.',
    },
  },
  {
    name: "a field that is missing",
    path: GENERATE,
    body: { generationConfig: { temperature: 1 } },
    line: { model: "google/gemini-3.8-flash", param: "contents", refusal: "contents is required." },
  },
  {
    name: "a size that is none",
    path: IMAGES,
    body: { model: "openai/gpt-image-2", prompt: TEXT, size: CANARY },
    line: {
      model: "openai/gpt-image-2",
      param: "size",
      refusal: expect.stringContaining("size must be one of 512*512, 768*768, "),
    },
  },
  {
    name: "two first frames",
    path: VIDEOS,
    body: {
      model: SEEDANCE,
      prompt: TEXT,
      frame_images: ["https://a.example/1.png", "x"].map((image_url) => ({ image_url, frame_type: CANARY })),
    },
    line: { model: SEEDANCE, param: "frame_images[0].frame_type" },
  },
  {
    name: "no JSON",
    path: CHAT,
    body: `{"model":"${CHAT_MODEL}","messages":["${CANARY}"`,
    line: { status: 400, refusal: "The body is not valid JSON." },
  },
  {
    name: "no credit",
    path: VIDEOS,
    body: { model: SEEDANCE, prompt: TEXT },
    headers: { authorization: "poor" },
    line: { status: 402, model: SEEDANCE, error: "insufficient_credits" },
  },
  {
    name: "a key that is none",
    path: CHAT,
    body: { model: CHAT_MODEL, messages: [turn] },
    headers: { authorization: `Bearer sk-${CANARY}` },
    line: { status: 401, error: "auth_error", code: "api_key_malformed" },
  },
];

describe("the line of a refused request tells why, and nothing that the caller wrote", () => {
  for (const { name, path, body, headers = {}, line: want } of REFUSED) {
    test(name, async () => {
      const poor =
        headers.authorization === "poor" ? { authorization: `Bearer ${await poorKey()}` } : headers;
      const { line } = await send(path, body, poor);
      expect({ ...line }).toMatchObject(want);
      expect(line.refusal).toMatch(/\S/);
      expect(JSON.stringify(line)).not.toContain(CANARY);
    });
  }

  test("a path and a query with what the caller wrote", async () => {
    const headers = { authorization: `Bearer ${gateway.key}` };
    const found = await fetch(`${gateway.url}/api/v1/models/${CANARY}/x?category=${CANARY}`, { headers });
    expect([found.status, lineOf(found).refusal]).toEqual([
      404,
      expect.stringContaining('There is no model "…"'),
    ]);
    const response = await gateway.admin("GET", `/requests?tell%20${CANARY}=1`);
    expect(response.status).toBe(400);
    expect(gateway.logs.at(-1)?.refusal).toStartWith('"…" is not known here. The query takes ');
  });

  test("a request that is served has none of it", async () => {
    const { status, line } = await send(IMAGES, {
      model: "alibaba/qwen-image-2.0",
      prompt: TEXT,
      async: true,
    });
    expect([status, line.model]).toEqual([202, "alibaba/qwen-image-2.0"]);
    for (const name of ["refusal", "param", "code", "error"]) expect(line).not.toHaveProperty(name);
  });
});

async function poorKey(): Promise<string> {
  const { json: account } = await gateway.admin("POST", "/accounts", { name: "poor" });
  const { json } = await gateway.admin("POST", "/keys", { account_id: account.id, name: "poor" });
  return json.key;
}

describe("what a provider says of a request", () => {
  const quoting = [
    { said: `Invalid value: '${CANARY}'. Supported values are: 'a' and 'b'.`, shown: "Invalid value: …" },
    { said: `Unsupported parameter: "verbosity" with "${CANARY}".`, shown: "Unsupported parameter: …" },
    { said: "Invalid type for 'messages[0].content': got an integer.", shown: "'messages[0].content': got" },
  ];
  for (const { said, shown } of quoting) {
    test(`is told without what it quotes: ${shown}`, async () => {
      double.handle(() =>
        jsonAnswer(400, { error: { message: said, type: "invalid_request_error", code: "invalid_value" } }),
      );
      for (const stream of [false, true]) {
        const body = { model: CHAT_MODEL, messages: [turn], stream };
        const { status, line } = await send(CHAT, body);
        expect([status, line.model, line.refusal]).toEqual([400, CHAT_MODEL, expect.stringContaining(shown)]);
        expect(line.upstream_error).toContain("upstream 400: invalid_request_error invalid_value");
        expect(JSON.stringify(line)).not.toContain(CANARY);
      }
    });
  }

  test("is not told where its moderation says it: that is about the words of the caller", async () => {
    const message = `Banned prompt: ${CANARY}`;
    double.handle(() => jsonAnswer(400, { error: { message, code: "content_policy_violation" } }));
    const { status, line } = await send(CHAT, { model: CHAT_MODEL, messages: [turn] });
    expect([status, line.error, line.refusal]).toEqual([400, "content_moderation", "…"]);
    expect(JSON.stringify(line)).not.toContain(CANARY);
  });
});

/** A body of each endpoint with something in most of its fields. */
const ASKED: Readonly<Record<string, Json>> = {
  [CHAT]: {
    model: CHAT_MODEL,
    messages: [
      { role: "system", content: TEXT },
      { role: "user", content: [{ type: "text", text: TEXT }] },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "a", content: TEXT },
    ],
    tools: [{ type: "function", function: { name: "f", parameters: { type: "object" } } }],
    tool_choice: { type: "function", function: { name: "f" } },
    response_format: { type: "json_schema", json_schema: { name: "n", schema: { type: "object" } } },
    reasoning_effort: "low",
    modalities: ["text"],
    service_tier: "auto",
    stop: ["x"],
    user: "u",
  },
  [MESSAGES]: {
    model: MESSAGES_MODEL,
    max_tokens: 9,
    system: [{ type: "text", text: TEXT, cache_control: { type: "ephemeral", ttl: "5m" } }],
    messages: [
      { role: "user", content: [{ type: "image", source: { type: "url", url: "https://a.example/1.png" } }] },
      { role: "assistant", content: [{ type: "tool_use", id: "a", name: "f", input: { x: TEXT } }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: TEXT }] },
    ],
    tools: [{ type: "custom", name: "f", input_schema: { type: "object" } }],
    tool_choice: { type: "tool", name: "f" },
    thinking: { type: "disabled" },
    service_tier: "auto",
    metadata: { user_id: "u" },
    stop_sequences: ["x"],
  },
  [GENERATE]: {
    contents: [
      { role: "user", parts: [{ text: TEXT }, { inlineData: { mimeType: "image/png", data: "AAAA" } }] },
      { role: "model", parts: [{ functionCall: { name: "f", args: { x: TEXT } } }] },
      { role: "user", parts: [{ functionResponse: { name: "f", response: { x: TEXT } } }] },
    ],
    systemInstruction: { parts: [{ text: TEXT }] },
    generationConfig: {
      responseModalities: ["TEXT"],
      stopSequences: ["x"],
      thinkingConfig: { thinkingLevel: "low" },
    },
    tools: [{ functionDeclarations: [{ name: "f", parameters: { type: "OBJECT" } }] }],
    toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["f"] } },
    serviceTier: "standard",
    cachedContent: "cachedContents/x",
  },
  [IMAGES]: {
    model: "openai/gpt-image-2",
    prompt: TEXT,
    size: "1024*1024",
    quality: "low",
    image: ["https://a.example/1.png"],
    mask: "https://a.example/1.png",
    background: "opaque",
    output_format: "png",
    response_format: "url",
    async: true,
  },
  [VIDEOS]: {
    model: SEEDANCE,
    prompt: TEXT,
    duration: "5",
    resolution: "480p",
    aspect_ratio: "16:9",
    frame_images: [{ image_url: "https://a.example/1.png", frame_type: "first_frame" }],
    input_references: ["https://a.example/1.png"],
    shot_type: "single",
    negative_prompt: TEXT,
  },
};

const FULL: Readonly<Record<string, Json>> = {
  ...ASKED,
  [`${MESSAGES}/count_tokens`]: ASKED[MESSAGES],
  [GENERATE.replace("generateContent", "countTokens")]: { generateContentRequest: ASKED[GENERATE] },
};

/** The value with one of its leaves as something else, for each leaf and each of `others`. */
function* changed(value: Json, others: readonly unknown[]): Generator<Json> {
  if (typeof value === "object" && value !== null) {
    for (const key of Object.keys(value)) {
      for (const inner of changed(value[key], others)) {
        const copy = Array.isArray(value) ? [...value] : { ...value };
        copy[key] = inner;
        yield copy;
      }
    }
  }
  yield* others;
}

test("whatever stands in the place of any value, nothing of it is in a line of the log", async () => {
  // The provider repeats what it gets in quotes, as providers do.
  double.handle((request) =>
    jsonAnswer(400, { error: { message: `Invalid: '${JSON.stringify(request.json())}'`, type: "x" } }),
  );
  // Names of fields may be in the log, but not what is no name.
  const others = [
    TEXT,
    `${CANARY}" '${CANARY}' \`x\` and ${CANARY}`,
    { unknown_field: CANARY },
    { [TEXT]: CANARY },
    [CANARY],
  ];
  const before = gateway.logs.length;
  let refused = 0;
  for (const [path, body] of Object.entries(FULL)) {
    const sent = [...changed(body, others)].map((one) => send(path, one, WAITING));
    for (const { status } of await Promise.all(sent)) if (status >= 400 && status < 500) refused += 1;
  }
  expect(refused).toBeGreaterThan(300);
  const leaked = gateway.logs.slice(before).filter((line) => JSON.stringify(line).includes(CANARY));
  expect(leaked.map(({ path, param, refusal }) => ({ path, param, refusal }))).toEqual([]);
});
