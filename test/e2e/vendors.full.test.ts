import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { startGateway, type Json, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { chatAnswer, chatStreamAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { strictChatCompletions } from "../upstream/strict.ts";
import { STRICT, type StrictProfile } from "../upstream/strict-profiles.ts";

// The same awkward requests to every vendor that is built in, through the gateway. A double that refuses what the
// vendor refuses must refuse none of them. What a vendor cannot do at all is a 400 of ours that names the field.

interface Vendor {
  readonly id: string;
  readonly key: string;
  readonly model: string;
  readonly profile: StrictProfile;
  /** Where the model is no part of the catalogue. */
  readonly upstreamId?: string;
}

const VENDORS: readonly Vendor[] = [
  { id: "openai", key: "OPENAI", model: "openai/gpt-5.6-luna", profile: STRICT.openai },
  { id: "xai", key: "XAI", model: "xai/grok-4.7", profile: STRICT.xai },
  { id: "deepseek", key: "DEEPSEEK", model: "deepseek/deepseek-v4-pro", profile: STRICT.deepseek },
  { id: "dashscope", key: "DASHSCOPE", model: "alibaba/qwen3.7-max", profile: STRICT.dashscope },
  { id: "moonshot", key: "MOONSHOT", model: "moonshotai/kimi-k3", profile: STRICT.moonshot },
  { id: "zai", key: "ZAI", model: "zhipu/glm-5.2", profile: STRICT.zhipu },
  {
    id: "mistral",
    key: "MISTRAL",
    model: "mistral/large",
    upstreamId: "mistral-large-2512",
    profile: STRICT.mistral,
  },
  {
    id: "groq",
    key: "GROQ",
    model: "groq/gpt-oss",
    upstreamId: "openai/gpt-oss-120b",
    profile: STRICT.groq,
  },
  {
    id: "openrouter",
    key: "OPENROUTER",
    model: "openrouter/some",
    upstreamId: "some/model",
    profile: STRICT.openrouter,
  },
];

const CONFIGURED = VENDORS.filter(({ upstreamId }) => upstreamId !== undefined).map(
  ({ id, model, upstreamId }) => `
  ${id}:
    models:
      - { id: ${model}, upstream_id: ${upstreamId}, input_modalities: [text, image], prices: { input: 1, output: 2 } }`,
);

let double: UpstreamDouble;
const gateways = new Map<string, TestGateway>();

beforeAll(async () => {
  double = await startUpstreamDouble();
  for (const { id, key } of VENDORS) {
    const settings = CONFIGURED.filter((text) => text.includes(`  ${id}:`)).join("");
    gateways.set(
      id,
      await startGateway({
        settings: settings === "" ? "" : `providers:${settings}`,
        environment: { [`${key}_API_KEY`]: UPSTREAM_KEY, [`${key}_BASE_URL`]: `${double.url}/v1` },
      }),
    );
  }
});
afterAll(async () => {
  for (const gateway of gateways.values()) await gateway.close();
  await double.close();
});
beforeEach(() => double.reset());

const user = { role: "user", content: "What is the weather?" };
const tools = [
  { type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } },
];
const call = (id: string) => ({ id, type: "function", function: { name: "weather", arguments: "{}" } });
const answered = (id: string, more: object = {}) => [
  user,
  { role: "assistant", content: null, tool_calls: [call(id)], ...more },
  { role: "tool", tool_call_id: id, content: "3 degrees" },
  { role: "user", content: "And tomorrow?" },
];
const reasoned = {
  reasoning_content: "I thought.",
  reasoning: "I thought.",
  reasoning_details: [{ type: "thinking", thinking: "I thought.", signature: "c2ln" }],
};

/** Requests that some vendor refuses when they go up as they are. */
const AWKWARD: Readonly<Record<string, object>> = {
  "a plain one": { messages: [user] },
  "the role developer": { messages: [{ role: "developer", content: "Be short." }, user] },
  "an answer as the OpenAI SDK gives it back": {
    messages: [user, { role: "assistant", content: "Cold.", refusal: null, annotations: [] }, user],
  },
  "reasoning in the history": {
    messages: [user, { role: "assistant", content: "Cold.", ...reasoned }, user],
  },
  "reasoning and calls in the history": { messages: answered("call_1", reasoned), tools },
  "calls without reasoning in the history": { messages: answered("call_1"), tools },
  "a long tool id": { messages: answered(`toolu_${"x".repeat(60)}`), tools },
  "a tool id with signs in it": { messages: answered("functions.weather:0"), tools },
  "parallel_tool_calls without tools": { messages: [user], parallel_tool_calls: true },
  "an effort": { messages: [user], reasoning_effort: "medium" },
  "reasoning with an effort": { messages: [user], reasoning: { effort: "minimal" } },
  "reasoning with a budget": { messages: [user], reasoning: { max_tokens: 20_000 } },
  "reasoning that is not shown": { messages: [user], reasoning: { effort: "high", exclude: true } },
  "thinking with a budget": { messages: [user], thinking: { type: "enabled", budget_tokens: 60_000 } },
  "thinking switched off": { messages: [user], thinking: { type: "disabled" } },
  "an effort of none": { messages: [user], reasoning_effort: "none" },
  "a bound under its new name": { messages: [user], max_completion_tokens: 100 },
  "a bound under its old name": { messages: [user], max_tokens: 100 },
  "sampling and penalties": {
    messages: [user],
    temperature: 0.3,
    top_p: 0.9,
    presence_penalty: 0.5,
    frequency_penalty: 0.5,
    stop: ["END"],
  },
  hints: {
    messages: [user],
    seed: 7,
    user: "u1",
    store: false,
    metadata: { a: "b" },
    logit_bias: { "50256": -100 },
    verbosity: "low",
    prompt_cache_key: "k",
    safety_identifier: "s",
    n: 1,
    logprobs: false,
    modalities: ["text"],
  },
  "a name of a user": { messages: [{ ...user, name: "ada" }] },
  json_object: {
    messages: [{ role: "system", content: "Answer in JSON." }, user],
    response_format: { type: "json_object" },
  },
};

/** Vendors that do one thing or refuse it, as we must: the field that our 400 names. */
const CANNOT: readonly {
  readonly name: string;
  readonly body: object;
  readonly param: string;
  readonly vendors: readonly string[];
}[] = [
  {
    name: "a JSON schema",
    body: {
      messages: [user],
      response_format: { type: "json_schema", json_schema: { name: "a", schema: {} } },
    },
    param: "response_format",
    vendors: ["deepseek", "zai"],
  },
  {
    name: "a forced tool",
    body: { messages: [user], tools, tool_choice: "required" },
    param: "tool_choice",
    vendors: ["zai"],
  },
  {
    name: "a named tool",
    body: { messages: [user], tools, tool_choice: { type: "function", function: { name: "weather" } } },
    param: "tool_choice",
    vendors: ["zai"],
  },
  {
    name: "three choices",
    body: { messages: [user], n: 3 },
    param: "n",
    vendors: ["deepseek", "zai", "groq", "openrouter"],
  },
  {
    name: "a custom tool",
    body: { messages: [user], tools: [{ type: "custom", custom: { name: "c" } }] },
    param: "tools[0].type",
    vendors: ["xai", "deepseek", "dashscope", "moonshot", "zai", "mistral", "groq", "openrouter"],
  },
];

const USAGE = { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 };

/** Sends one request; the double answers what its profile does not refuse, and so often as there are choices. */
async function ask(vendor: Vendor, body: object): Promise<Response> {
  const strict = strictChatCompletions({ ...vendor.profile, keys: [UPSTREAM_KEY] });
  double.handle((request) => {
    const refused = strict(request);
    if (refused !== undefined) return refused;
    const asked = request.json() as Json;
    return asked.stream === true
      ? chatStreamAnswer({ words: ["Hel", "lo."], usage: USAGE })
      : chatAnswer({ words: ["Hello."], usage: USAGE });
  });
  return (gateways.get(vendor.id) as TestGateway).chat({ model: vendor.model, ...body });
}

for (const vendor of VENDORS) {
  describe(`${vendor.id} takes what it is sent`, () => {
    for (const [name, body] of Object.entries(AWKWARD)) {
      for (const stream of [false, true]) {
        test(`${name}${stream ? ", streamed" : ""}`, async () => {
          const response = await ask(vendor, { ...body, ...(stream ? { stream } : {}) });
          expect([response.status, (await response.text()).slice(0, 300)]).toEqual([200, expect.any(String)]);
          expect(double.requests.length).toBe(1);
        });
      }
    }

    for (const { name, body, param, vendors } of CANNOT) {
      const cannot = vendors.includes(vendor.id);
      test(`${name} ${cannot ? `is a 400 that names ${param}` : "goes up"}`, async () => {
        const response = await ask(vendor, body);
        const json: Json = await response.json();
        expect([response.status, json.error?.param]).toEqual(cannot ? [400, param] : [200, undefined]);
        expect(double.requests.length).toBe(cannot ? 0 : 1);
      });
    }
  });
}

/** What is refused by nobody, and is here to see that it goes up all the same. */
const HARMLESS = new Set([
  "a plain one",
  "an effort of none",
  "reasoning with a budget",
  "reasoning with an effort",
  "reasoning that is not shown",
  "thinking switched off",
  "json_object",
]);

describe("the double does refuse these, sent as they are", () => {
  const names = [
    ...Object.keys(AWKWARD).filter((name) => !HARMLESS.has(name)),
    ...CANNOT.map(({ name }) => name),
  ];
  for (const name of names) {
    test(name, async () => {
      const body = AWKWARD[name] ?? CANNOT.find((found) => found.name === name)?.body;
      let refused = 0;
      for (const { profile, model, upstreamId } of VENDORS) {
        const strict = strictChatCompletions(profile);
        double.handle((request) => strict(request) ?? chatAnswer({ words: ["Hello."] }));
        const response = await fetch(`${double.url}/v1/chat/completions`, {
          method: "POST",
          headers: { authorization: "Bearer k", "content-type": "application/json" },
          body: JSON.stringify({ model: upstreamId ?? model.split("/")[1], ...body }),
        });
        if (!response.ok) refused += 1;
      }
      expect(refused).toBeGreaterThan(0);
    });
  }
});

describe("images that carry a signature of Google's", () => {
  const url = "data:image/png;thought_signature=c2ln;base64,iVBORw0KGgo=";
  const body = { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }] };
  for (const id of ["openai", "xai", "moonshot", "mistral", "groq", "openrouter"]) {
    test(`go to ${id} as plain images`, async () => {
      const vendor = VENDORS.find((found) => found.id === id) as Vendor;
      const response = await ask({ ...vendor, profile: { ...vendor.profile, plainDataUrls: true } }, body);
      expect(response.status).toBe(200);
      const sent = double.requests[0]?.json() as Json;
      expect(sent.messages[0].content[0].image_url.url).toBe("data:image/png;base64,iVBORw0KGgo=");
    });
  }
});

describe("a fault of ours at a vendor is an alarm, and no fault of the client", () => {
  for (const [status, body] of [
    [401, { error: { message: "Invalid API Key", code: "invalid_api_key" } }],
    [402, { error: { message: "Insufficient Balance", type: "unknown_error" } }],
    [404, { error: { message: "no such model", code: "model_not_found" } }],
  ] as const) {
    test(`${status}: a 502, and an error line that is marked`, async () => {
      const gateway = gateways.get("deepseek") as TestGateway;
      double.handle(() => jsonAnswer(status, body));
      const response = await gateway.chat({ model: "deepseek/deepseek-v4-pro", messages: [user] });
      expect([response.status, ((await response.json()) as Json).error.type]).toEqual([
        502,
        "upstream_error",
      ]);
      const line = gateway.logs.findLast(({ message }) => message === "request");
      expect(line).toMatchObject({ level: "error", operator_fault: true, upstream_status: status });
    });
  }

  test("a refusal that is the client's is an ordinary line", async () => {
    const gateway = gateways.get("deepseek") as TestGateway;
    double.handle(() => jsonAnswer(400, { error: { message: "bad", type: "invalid_request_error" } }));
    await (await gateway.chat({ model: "deepseek/deepseek-v4-pro", messages: [user] })).text();
    const line = gateway.logs.findLast(({ message }) => message === "request");
    expect([line?.level, line?.operator_fault]).toEqual(["info", undefined]);
  });
});
