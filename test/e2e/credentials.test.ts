import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { systemRandom } from "../../src/core/random.ts";
import { newKeyText } from "../../src/keys/key-text.ts";
import { ADMIN_TOKEN, type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";

// What a client is told of the credential it shows, by each format, over a real socket.

let gateway: TestGateway;
const keys = { revoked: "", expired: "" };
beforeAll(async () => {
  gateway = await startGateway();
  for (const kind of ["revoked", "expired"] as const) {
    const { json } = await gateway.admin("POST", "/keys", { account_id: gateway.accountId, name: kind });
    keys[kind] = json.key;
    if (kind === "revoked") await gateway.admin("DELETE", `/keys/${json.id}`);
    else await gateway.admin("PATCH", `/keys/${json.id}`, { expires_at: 1 });
  }
});
afterAll(() => gateway.close());

const USER = { role: "user", content: "Say hello." };
const FORMATS = [
  { path: "/api/v1/chat/completions", body: { model: "openai/gpt-5.6-luna", messages: [USER] } },
  {
    path: "/api/v1/messages",
    body: { model: "anthropic/claude-haiku-4.5", max_tokens: 9, messages: [USER] },
  },
  {
    path: "/api/v1/models/google/gemini-3.8-flash:generateContent",
    body: { contents: [{ parts: [{ text: "Say hello." }] }] },
  },
  { path: "/api/v1/images/generations", body: { model: "openai/gpt-image-2", prompt: "x" } },
] as const;

interface Shown {
  readonly name: string;
  readonly code: string;
  readonly words: string;
  readonly headers?: () => Record<string, string>;
  readonly query?: () => string;
}

const unknown = newKeyText(systemRandom);
const bearer = (text: string) => ({ authorization: `Bearer ${text}` });
const SHOWN: readonly Shown[] = [
  { name: "no key", code: "api_key_missing", words: "This request has no API key." },
  {
    name: "an empty variable",
    code: "api_key_missing",
    words: "is the variable that holds it set?",
    headers: () => ({ "x-api-key": "" }),
  },
  {
    name: "a provider's key",
    code: "api_key_malformed",
    words: "a provider's own key opens nothing here",
    headers: () => ({ "x-api-key": "sk-ant-api03-example" }),
  },
  {
    name: "a key that was not copied whole",
    code: "api_key_malformed",
    words: "Copy it whole",
    headers: () => bearer(gateway.key.slice(0, -1)),
  },
  {
    name: "a key of another gateway",
    code: "api_key_unknown",
    words: "This gateway has no such API key.",
    headers: () => bearer(unknown),
  },
  {
    name: "a revoked key",
    code: "api_key_revoked",
    words: "was revoked",
    headers: () => bearer(keys.revoked),
  },
  {
    name: "an expired key",
    code: "api_key_expired",
    words: "has expired",
    headers: () => bearer(keys.expired),
  },
  {
    name: "the admin token",
    code: "admin_token_given",
    words: "This is the admin token",
    headers: () => bearer(ADMIN_TOKEN),
  },
  {
    name: "a live key in the query",
    code: "api_key_misplaced",
    words: "No API key is read from the query (key).",
    query: () => `?key=${gateway.key}`,
  },
  {
    name: "a live key in Azure's header",
    code: "api_key_misplaced",
    words: "No API key is read from the header api-key.",
    headers: () => ({ "api-key": gateway.key }),
  },
  {
    name: "a live key by Basic",
    code: "api_key_misplaced",
    words: "Of Authorization only a Bearer",
    headers: () => ({ authorization: `Basic ${btoa(`${gateway.key}:`)}` }),
  },
  {
    name: "two that differ",
    code: "api_key_ambiguous",
    words: "The headers authorization and x-goog-api-key hold different keys.",
    headers: () => ({ ...bearer(gateway.key), "x-goog-api-key": unknown }),
  },
];

/** Where each format has the code of an error. */
function codeOf(error: Json): string {
  if (typeof error.code === "string") return error.code;
  return error.details.find((detail: Json) => detail.reason !== undefined).reason.toLowerCase();
}

for (const { path, body } of FORMATS) {
  describe(path, () => {
    for (const { name, code, words, headers = () => ({}), query = () => "" } of SHOWN) {
      test(`answers ${name} with a 401 that says so, without what was shown`, async () => {
        const shown = headers();
        const response = await fetch(gateway.url + path + query(), {
          method: "POST",
          headers: { "content-type": "application/json", ...shown },
          body: JSON.stringify(body),
        });
        const text = await response.text();
        const { error } = JSON.parse(text);
        expect([response.status, error.type, codeOf(error)]).toEqual([401, "auth_error", code]);
        expect(error.message).toContain(words);
        for (const secret of [
          gateway.key,
          ADMIN_TOKEN,
          unknown,
          ...Object.values(keys),
          ...Object.values(shown),
        ])
          if (secret !== "") expect(text).not.toContain(secret);
      });
    }
  });
}

test("the admin interface tells an API key from a token that is not its own, and from none", async () => {
  const told = async (headers: Record<string, string>) => {
    const response = await fetch(`${gateway.url}/admin/v1/accounts`, { headers });
    return [response.status, ((await response.json()) as Json).error.code];
  };
  expect(await told(bearer(gateway.key))).toEqual([401, "api_key_given"]);
  expect(await told(bearer("adm-of-another-gateway"))).toEqual([401, "admin_token_unknown"]);
  expect(await told({})).toEqual([401, "admin_token_missing"]);
});
