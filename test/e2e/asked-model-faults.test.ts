import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { jsonAnswer } from "../upstream/answer.ts";
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

describe("where none of a list can serve", () => {
  const names = ["t/no-0", "t/no-1", `t/${"long".repeat(200)}`, 't/"quoted\\"', "t/no-4"];

  for (const [path, body] of BODIES.slice(0, 3))
    test(`the error says of each why (${path})`, async () => {
      const response = await gateway.post(path, { ...body, models: names });
      const answer: Json = await response.json();
      expect([response.status, ...faultOf(answer)]).toEqual([400, "models[0]", "model_not_found"]);
      const { message } = answer.error;
      expect(message).toStartWith('There is no model "t/no-0".');
      for (const name of names.slice(1)) {
        const shown = JSON.stringify(name.slice(0, 100));
        expect(message).toContain(`Nor can ${shown} serve: There is no model ${shown}.`);
      }
      expect(message.length).toBeLessThan(2_000);
      expect(response.headers.get("warning")).toBeNull();
    });

  test("so says the error of the header", async () => {
    const path = "/api/v1/models/t/no-0:generateContent";
    const headers = { "x-switchyard-models": "t/no-1,t/no-2" };
    const response = await gateway.post(path, { contents }, { headers });
    const answer: Json = await response.json();
    expect([response.status, ...faultOf(answer)]).toEqual([400, "model", "model_not_found"]);
    for (const name of ["t/no-1", "t/no-2"])
      expect(answer.error.message).toContain(`Nor can "${name}" serve: There is no model "${name}".`);
  });

  test("the log has none of the names that the client made up", async () => {
    await gateway.post("/api/v1/chat/completions", { messages, models: names });
    const line = gateway.logs.findLast(({ refusal }) => refusal !== undefined);
    expect(line?.refusal).toContain("Nor can");
    expect(JSON.stringify(line)).not.toMatch(/no-\d|longlong|quoted/);
  });
});

describe("an error names the models that were left out in its `warning` header", () => {
  /** The answer for the key: one of the list does not exist, and the provider answers 503. */
  function ask(more: object, key = gateway.key): Promise<Response> {
    double.handle(() => jsonAnswer(503, {}));
    const headers = { authorization: `Bearer ${key}` };
    return gateway.chat({ messages, max_tokens: 20, models: ["t/no", "t/two"], ...more }, { headers });
  }

  async function expectTold(response: Response, status: number): Promise<void> {
    const { error }: Json = await response.json();
    expect([response.status, error.message]).toEqual([status, expect.not.stringContaining("t/no")]);
    expect(response.headers.get("warning")).toContain("models: t/no cannot serve this request");
  }

  test("of the provider", async () => expectTold(await ask({}), 503));
  test("of the provider, of a stream", async () => expectTold(await ask({ stream: true }), 503));
  test("of another name", async () => expectTold(await ask({ models: ["t/no", "same"] }), 400));

  test("of the account's credit", async () => {
    const { json: account } = await gateway.admin("POST", "/accounts", { name: "poor" });
    const { json } = await gateway.admin("POST", "/keys", { account_id: account.id, name: "poor" });
    await expectTold(await ask({}, json.key), 402);
  });

  test("of the key's limits", async () => {
    const { json } = await gateway.admin("POST", "/keys", {
      account_id: gateway.accountId,
      name: "limited",
      limits: { requests_per_minute: 1 },
    });
    await (await ask({}, json.key)).text();
    await expectTold(await ask({}, json.key), 429);
  });

  test("and none where the answer has none", async () => {
    const response = await ask({ models: ["t/two"] });
    expect([response.status, response.headers.get("warning")]).toEqual([503, null]);
  });
});
