import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";

// Lists of models of which none, or not all, can serve: the field that an error names, and what it says of the others.

let double: UpstreamDouble;
let gateway: TestGateway;
/** A key that may use `t/one` alone. */
let narrow: string;

beforeAll(async () => {
  double = await startUpstreamDouble();
  const prices = { input: 1, output: 2 };
  const settings = {
    providers: {
      one: {
        base_url: double.url,
        api_key: "sk-0123456789",
        dialect: "native",
        models: [
          { id: "t/one", max_output: 100, prices },
          { id: "t/two", max_output: 100, prices },
          { id: "x/same", prices },
          { id: "y/same", prices },
        ],
      },
    },
    routing: { breaker_failures: 0 },
  };
  gateway = await startGateway({ settings: JSON.stringify(settings) });
  const { json } = await gateway.admin("POST", "/keys", {
    account_id: gateway.accountId,
    name: "narrow",
    models: ["t/one"],
  });
  narrow = json.key;
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => double.reset());

const messages = [{ role: "user", content: "Hi" }];
const contents = [{ role: "user", parts: [{ text: "Hi" }] }];

const narrowly = (headers: Readonly<Record<string, string>> = {}): RequestInit => ({
  headers: { authorization: `Bearer ${narrow}`, ...headers },
});

/** Addresses whose body may have `models` in the place of `model`, with what else it has. */
const BODIES = [
  ["/api/v1/chat/completions", { messages }],
  ["/api/v1/messages", { messages, max_tokens: 20 }],
  ["/api/v1/responses", { input: "Hi" }],
  ["/api/v1/messages/count_tokens", { messages }],
  ["/api/v1/responses/input_tokens", { input: "Hi" }],
  ["/api/v1/responses/compact", { input: "Hi" }],
] as const;

/** The field and the code of an error, whatever its format. */
function faultOf({ error }: Json): readonly [string, string] {
  if (error.details === undefined) return [error.param, error.code];
  const [violation, info] = error.details;
  return [violation.fieldViolations[0].field, info.reason.toLowerCase()];
}

/** Names of models that do not serve a chat, with the code of their error. */
const FAULTS = [
  ["t/no", "model_not_found"],
  ["same", "model_ambiguous"],
  ["t/two", "model_not_allowed"],
  ["sandbox/none", "model_not_found"],
] as const;

describe("a list alone of which the first is at fault names `models[0]`", () => {
  for (const [path, body] of BODIES)
    for (const [name, code] of FAULTS)
      for (const list of [[name], [name, name]])
        test(`${path} ${JSON.stringify(list)}`, async () => {
          const response = await gateway.post(path, { ...body, models: list }, narrowly());
          expect([response.status, ...faultOf(await response.json())]).toEqual([400, "models[0]", code]);
        });
});

describe("a fault that ends the request names its own place", () => {
  for (const [path, body] of BODIES.slice(0, 3))
    for (const [name, code] of FAULTS.slice(1, 3)) {
      test(`${path} ${name} behind a good model`, async () => {
        const list = ["t/one", "t/one", name];
        const response = await gateway.post(path, { ...body, models: list }, narrowly());
        expect([response.status, ...faultOf(await response.json())]).toEqual([400, "models[2]", code]);
      });

      test(`${path} ${name} beside a good \`model\``, async () => {
        const asked = { ...body, model: "t/one", models: [name] };
        const response = await gateway.post(path, asked, narrowly());
        expect([response.status, ...faultOf(await response.json())]).toEqual([400, "models[0]", code]);
      });

      test(`${path} ${name} as \`model\` beside a good list`, async () => {
        const asked = { ...body, model: name, models: ["t/one"] };
        const response = await gateway.post(path, asked, narrowly());
        expect([response.status, ...faultOf(await response.json())]).toEqual([400, "model", code]);
      });
    }
});

describe("a name of the header that is at fault names the header", () => {
  for (const [path, body] of [
    ["/api/v1/models/t/one:generateContent", { contents }],
    ["/api/v1/models/t/one:streamGenerateContent", { contents }],
    ["/api/v1/chat/completions", { messages, model: "t/one" }],
  ] as const)
    for (const [name, code] of FAULTS.slice(1, 3))
      test(`${path} ${name}`, async () => {
        const response = await gateway.post(
          path,
          body,
          narrowly({ "x-switchyard-models": `t/one, ${name}` }),
        );
        expect([response.status, ...faultOf(await response.json())]).toEqual([
          400,
          "x-switchyard-models",
          code,
        ]);
      });

  test("and the path's own model is `model` beside a good header", async () => {
    const path = "/api/v1/models/t/two:generateContent";
    const response = await gateway.post(path, { contents }, narrowly({ "x-switchyard-models": "t/one" }));
    expect([response.status, ...faultOf(await response.json())]).toEqual([400, "model", "model_not_allowed"]);
  });
});

describe("an interface without lists names `models`, or the model that is missing", () => {
  for (const [path, body] of [
    ["/api/v1/embeddings", { input: "Hi" }],
    ["/api/v1/images/generations", { prompt: "A cat" }],
    ["/api/v1/videos", { prompt: "A cat" }],
  ] as const)
    test(path, async () => {
      const alone = await gateway.post(path, { ...body, models: ["t/no"] });
      const { error }: Json = await alone.json();
      expect([alone.status, ["models", "model"]]).toEqual([400, expect.arrayContaining([error.param])]);
    });
});
