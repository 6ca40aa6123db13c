import { describe, expect, test } from "bun:test";
import { systemRandom } from "../../src/core/random.ts";
import { newKeyText } from "../../src/keys/key-text.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { ANY_MODEL, openInterface, type Reply } from "./interface.ts";
import { describeTable } from "./spec-tables.ts";

const api = openInterface();
const USER = { role: "user", content: "Say hello." };

/** A good request of each format. */
const FORMATS = [
  {
    protocol: "compat_chat_completions",
    path: "/api/v1/chat/completions",
    body: { model: ANY_MODEL, messages: [USER], max_tokens: 10 },
  },
  {
    protocol: "compat_messages",
    path: "/api/v1/messages",
    body: { model: "anthropic/claude-haiku-4.5", messages: [USER], max_tokens: 10 },
  },
  {
    protocol: "compat_generate_content",
    path: "/api/v1/models/google%2Fgemini-3.8-flash:generateContent",
    body: { contents: [{ parts: [{ text: "Say hello." }] }], generationConfig: { maxOutputTokens: 10 } },
  },
] as const;
type Format = (typeof FORMATS)[number];

describeTable(
  { heading: "What the service does", column: "Protocol identifier" },
  Object.fromEntries(
    FORMATS.map(({ protocol, path, body }) => [
      protocol,
      async () => {
        const { status, json } = await api.ask(path, body);
        expect([status, typeof json.credit]).toEqual([200, "number"]);
      },
    ]),
  ),
);

async function eachWithHeaders(headersOf: (key: string) => Record<string, string>): Promise<number[]> {
  const statuses: number[] = [];
  for (const { path, body } of FORMATS) {
    const headers = { "content-type": "application/json", ...headersOf(api.gateway.key) };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    statuses.push((await fetch(api.gateway.url + path, init)).status);
  }
  return statuses;
}

describeTable(
  { heading: "Authentication", column: "Scheme" },
  {
    Bearer: async () =>
      expect(await eachWithHeaders((key) => ({ authorization: `Bearer ${key}` }))).toEqual([200, 200, 200]),
    "API key header": async () =>
      expect(await eachWithHeaders((key) => ({ "x-api-key": key }))).toEqual([200, 200, 200]),
  },
);

describe("Authentication", () => {
  test("the header of Google's clients is taken too", async () =>
    expect(await eachWithHeaders((key) => ({ "x-goog-api-key": key }))).toEqual([200, 200, 200]));
  test("a key in the URL is not", async () => {
    const { path, body } = FORMATS[2];
    const init = {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    };
    expect((await fetch(`${api.gateway.url}${path}?key=${api.gateway.key}`, init)).status).toBe(401);
  });
  test("keys begin with sk-", () => expect(api.gateway.key).toStartWith("sk-"));
});

/** The answer has the error of the interface, in the shape of its format, with request ids that agree. */
function expectError(reply: Reply, format: Format, status: number, type: string, code = type): void {
  expect(`${reply.status} ${reply.json?.error?.type}`).toBe(`${status} ${type}`);
  expect(reply.json.error.message).toMatch(/\S/);
  if (format.protocol === "compat_chat_completions") {
    expect(reply.json.error.code).toBe(code);
    expect(reply.json.error).toHaveProperty("param");
  }
  if (format.protocol === "compat_messages") {
    expect(reply.json).toMatchObject({ type: "error", request_id: reply.headers.get("request-id") });
  }
  if (format.protocol === "compat_generate_content") {
    expect(reply.json.error.code).toBe(status);
    expect(reply.json.error.status).toMatch(/^[A-Z_]+$/);
  }
  expect(reply.headers.get("x-request-id")).toStartWith("req_");
}

async function eachRefuses(
  status: number,
  type: string,
  ask: (format: Format) => Promise<Reply>,
  code = type,
): Promise<void> {
  for (const format of FORMATS) expectError(await ask(format), format, status, type, code);
}

/** What a provider answers, each in the words of its own format. */
function upstreamSays(message: string, code: string): void {
  api.double.handle(({ target }) => {
    if (target.startsWith("/v1/messages"))
      return jsonAnswer(400, { type: "error", error: { type: "invalid_request_error", message } });
    if (target.includes(":"))
      return jsonAnswer(400, { error: { code: 400, message, status: "INVALID_ARGUMENT" } });
    return jsonAnswer(400, { error: { message, type: "invalid_request_error", code } });
  });
}

async function keyWith(limits: object): Promise<string> {
  const { status, json } = await api.gateway.admin("POST", "/keys", {
    account_id: api.gateway.accountId,
    name: "limited",
    ...limits,
  });
  expect(status).toBe(201);
  return json.key;
}

async function poorKey(): Promise<string> {
  const { json: account } = await api.gateway.admin("POST", "/accounts", { name: "poor" });
  const { json } = await api.gateway.admin("POST", "/keys", { account_id: account.id, name: "poor" });
  return json.key;
}

const withKey = (key: string): RequestInit => ({ headers: { authorization: `Bearer ${key}` } });

describeTable(
  { heading: "Errors", column: "HTTP status" },
  {
    "400 invalid_request_error": () =>
      eachRefuses(400, "invalid_request_error", ({ path, body }) =>
        api.ask(path, { ...body, messages: 5, contents: 5 }),
      ),
    async "400 content_moderation"() {
      // Only chat completions has a code for it; the others answer a blocked prompt with an answer of their own.
      upstreamSays("Blocked by our content policy.", "content_policy_violation");
      const [chat] = FORMATS;
      expectError(await api.ask(chat.path, chat.body), chat, 400, "content_moderation");
    },
    async "400 input_too_large"() {
      const text = "word ".repeat(1_400_000);
      await eachRefuses(400, "input_too_large", ({ path, body }) =>
        api.ask(path, {
          ...body,
          messages: [{ role: "user", content: text }],
          contents: [{ parts: [{ text: text.repeat(2) }] }],
        }),
      );
    },
    async "401 auth_error"() {
      for (const [key, code] of [
        ["sk-nobody", "api_key_malformed"],
        [api.gateway.key.slice(0, -1), "api_key_malformed"],
        [newKeyText(systemRandom), "api_key_unknown"],
        ["", "api_key_missing"],
      ] as const)
        await eachRefuses(401, "auth_error", ({ path, body }) => api.ask(path, body, withKey(key)), code);
    },
    async "402 insufficient_credits"() {
      const key = await poorKey();
      await eachRefuses(402, "insufficient_credits", ({ path, body }) => api.ask(path, body, withKey(key)));
    },
    async "429 rate_limit_error"() {
      for (const format of FORMATS) {
        const key = await keyWith({ limits: { requests_per_minute: 1 } });
        expect((await api.ask(format.path, format.body, withKey(key))).status).toBe(200);
        const refused = await api.ask(format.path, format.body, withKey(key));
        expectError(refused, format, 429, "rate_limit_error");
        expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
        const models = await api.get("/api/v1/models", { authorization: `Bearer ${key}` });
        expect(models.status).toBe(200);
      }
    },
    async "404 (body not described)"() {
      const { status, json } = await api.get("/api/v1/models/nobody/nothing");
      expect([status, json.error.type]).toEqual([404, "not_found_error"]);
    },
  },
  ["409 (body not described)"],
);

async function within(name: string, good: readonly number[], bad: readonly number[]): Promise<void> {
  const googles = { temperature: "temperature", top_p: "topP" }[name] ?? name;
  for (const { path, body } of FORMATS) {
    const ask = (value: number) =>
      api.ask(path, { ...body, [name]: value, generationConfig: { maxOutputTokens: 10, [googles]: value } });
    for (const value of good) expect((await ask(value)).status).toBe(200);
    for (const value of bad) {
      const { status, json } = await ask(value);
      expect([status, json.error.type]).toEqual([400, "invalid_request_error"]);
      expect(json.error.message).toMatch(new RegExp(`${name}|${googles}`));
    }
  }
}

describeTable(
  { heading: "Limits", column: "Limit" },
  {
    temperature: () => within("temperature", [0, 1, 2], [-0.01, 2.01]),
    top_p: () => within("top_p", [0, 0.5, 1], [-0.01, 1.01]),
    async "credit conversion"() {
      // A million output tokens would cost 2 USD here: 3 tokens at 2 and 7 of input at 1 are 0.000013 USD.
      const { json } = await api.ask(FORMATS[0].path, FORMATS[0].body);
      expect(json.credit).toBe((10_000 * (7 * 1 + 3 * 2)) / 1_000_000);
    },
  },
  [
    "images per request n",
    "image async timeout",
    "video timeout",
    "video seed",
    "video duration",
    "chaos / weird / stylize",
    "image poll interval (recommended)",
    "video poll interval (recommended)",
    "typical image generation time",
  ],
);
