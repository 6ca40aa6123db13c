import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type ErrorDetails, type ErrorKind, ERRORS, GatewayError } from "../../src/core/errors.ts";
import { describeOpenApi } from "../../src/http/openapi.ts";
import { ROUTES } from "../../src/http/routes.ts";
import { chatCompletions } from "../../src/protocols/chat-completions/index.ts";
import { generateContent } from "../../src/protocols/generate-content/index.ts";
import { messages } from "../../src/protocols/messages/index.ts";
import { ADMIN_TOKEN, type Json, type TestGateway } from "../gateway/gateway.ts";
import { ajv, closed, expectDescribed } from "./described.ts";
import { FLASH, GPT, HAIKU, startSandbox } from "./sandbox-answers.ts";

// Every error that an endpoint gives is as /openapi.json describes it for that endpoint and status, in the shape of its
// format. It has nothing that is not described.

let gateway: TestGateway;
let description: Json;
beforeAll(async () => {
  gateway = await startSandbox();
  description = await (await fetch(`${gateway.url}/openapi.json`)).json();
});
afterAll(() => gateway.close());

const said = [{ role: "user", content: "Say hello." }];
const contents = [{ role: "user", parts: [{ text: "Say hello." }] }];
const ENDPOINTS: readonly (readonly [described: string, target: string, body: Json, wrong: Json])[] = [
  ["/api/v1/chat/completions", "/api/v1/chat/completions", { model: GPT, messages: said }, { messages: 5 }],
  ["/api/v1/messages", "/api/v1/messages", { model: HAIKU, max_tokens: 50, messages: said }, { messages: 5 }],
  ...["generateContent", "streamGenerateContent"].map(
    (verb) =>
      [
        `/api/v1/models/{model}:${verb}`,
        `/api/v1/models/${FLASH}:${verb}`,
        { contents },
        { contents: 5 },
      ] as const,
  ),
];

/** A key of an account with so many credits. */
async function issue(credits: number, limits: object = {}): Promise<string> {
  const { json: account } = await gateway.admin("POST", "/accounts", { name: "other" });
  if (credits > 0)
    await gateway.admin("POST", `/accounts/${account.id}/credits`, { amount: credits, reason: "test" });
  return (await gateway.admin("POST", "/keys", { account_id: account.id, name: "other", limits })).json.key;
}

for (const [path, target, body, wrong] of ENDPOINTS) {
  describe(`errors of ${path}:`, () => {
    const seen = new Set<number>();
    const refused = async (
      status: number,
      sent: Json,
      headers: Record<string, string> = {},
    ): Promise<Json> => {
      const response = await gateway.post(target, sent, { headers });
      const answer: Json = await response.json();
      expect([response.status, answer.error.type]).toEqual([status, expect.any(String)]);
      expectDescribed(description, ["post", path, status], answer);
      seen.add(status);
      return answer;
    };

    test("400 of a wrong field, which is named", async () => {
      const answer = await refused(400, { ...body, ...wrong });
      expect(JSON.stringify(answer)).toMatch(/"(param|field)":"(messages|contents)"/);
    });
    test("400 of a body that is no JSON, and of a wrong order", async () => {
      await refused(400, "{");
      await refused(400, body, { "x-sandbox": "fail=nothing" });
    });
    test("401", () => refused(401, body, { authorization: "Bearer sk-nobody" }));
    test("402", async () => refused(402, body, { authorization: `Bearer ${await issue(0)}` }));
    test("429 of a key's limit", async () => {
      const authorization = `Bearer ${await issue(1_000, { requests_per_minute: 1 })}`;
      await (await gateway.post(target, body, { headers: { authorization } })).arrayBuffer();
      await refused(429, body, { authorization });
    });
    for (const [status, fail] of [
      [400, "moderation"],
      [429, "rate_limit"],
      [503, "overloaded"],
      [504, "timeout"],
    ] as const)
      test(`${status} of the provider's ${fail}`, () =>
        refused(status, body, { "x-sandbox": `fail=${fail}` }));
    test("502 of a connection that broke", async () => {
      // A stream of the sandbox has begun by then, and has its status.
      if (path.includes("stream")) seen.add(502);
      else await refused(502, body, { "x-sandbox": "fail=reset_mid_stream" });
    });
    test("these are all that are described, but for our own fault", () => {
      const described = Object.keys(description.paths[path].post.responses).map(Number);
      expect(new Set([...seen, 500])).toEqual(new Set(described.filter((status) => status >= 400)));
    });
  });
}

test("errors of what has no format of its own are as described", async () => {
  const admin = { authorization: `Bearer ${ADMIN_TOKEN}` };
  const key = { authorization: `Bearer ${gateway.key}` };
  const asked = [
    ["get", "/api/v1/models", 401, "/api/v1/models", {}],
    ["get", "/api/v1/models/{model}", 404, "/api/v1/models/none/such", key],
    ["get", "/api/v1/models/{model}", 400, `/api/v1/models/${GPT}?category=language&category=image`, key],
    ["get", "/docs/{category}/{model}/llms.txt", 404, "/docs/language/none/such/llms.txt", {}],
    ["get", "/assets/{task_id}/{name}", 403, "/assets/none/such.png", {}],
    ["get", "/admin/v1/accounts", 401, "/admin/v1/accounts", key],
    ["get", "/admin/v1/accounts", 400, "/admin/v1/accounts?limit=x", admin],
    ["get", "/admin/v1/accounts/{id}", 404, "/admin/v1/accounts/none", admin],
    ["delete", "/admin/v1/keys/{id}", 404, "/admin/v1/keys/none", admin],
    ["post", "/admin/v1/keys", 400, "/admin/v1/keys", { ...admin, "content-type": "application/json" }],
  ] as const;
  for (const [method, path, status, target, headers] of asked) {
    const init = { method: method.toUpperCase(), headers, ...(method === "post" ? { body: "{}" } : {}) };
    const response = await fetch(gateway.url + target, init);
    expect([target, response.status]).toEqual([target, status]);
    expectDescribed(description, [method, path, status], await response.json());
  }
});

describe("every error there is, as each format says it, is as described:", () => {
  const schemas: Json = describeOpenApi(ROUTES, "http://gateway", "1");
  const details: readonly ErrorDetails[] = [
    {},
    { param: "messages[0].content" },
    { code: "model_not_found" },
    { retryAfterSec: 2 },
    { param: "model", code: "model_not_found", retryAfterSec: 1 },
  ];
  for (const [name, { encodeError }] of [
    ["Error", chatCompletions],
    ["MessagesError", messages],
    ["GenerateContentError", generateContent],
  ] as const) {
    test(name, () => {
      const validate = ajv.compile(closed(schemas.components.schemas[name]));
      for (const kind of Object.keys(ERRORS) as ErrorKind[]) {
        for (const more of details) {
          const body = JSON.parse(
            JSON.stringify(encodeError(new GatewayError(kind, "Text.", more), "req_1")),
          );
          validate(body);
          expect([kind, more, validate.errors]).toEqual([kind, more, null]);
          // Neither format's body passes for another's.
          for (const other of ["Error", "MessagesError", "GenerateContentError"])
            if (other !== name)
              expect(ajv.validate(closed(schemas.components.schemas[other]), body)).toBe(false);
        }
      }
    });
  }
});

test("a 404 of no route has the body that is described for its format", async () => {
  for (const [target, name] of [
    ["/v1/nothing", "Error"],
    ["/v1/messages/nothing", "MessagesError"],
    ["/v1beta/nothing", "GenerateContentError"],
  ] as const) {
    const body = await (await fetch(gateway.url + target)).json();
    const validate = ajv.compile(closed(description.components.schemas[name]));
    validate(body);
    expect([target, validate.errors]).toEqual([target, null]);
  }
});
