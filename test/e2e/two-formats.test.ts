import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startGateway, type Json, type TestGateway } from "../gateway/gateway.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";

// One server that speaks two formats: each is relayed at its own address; a route may name one of them alone.

const CHAT = {
  id: "c1",
  object: "chat.completion",
  created: 1,
  model: "up",
  choices: [{ index: 0, message: { role: "assistant", content: "chat" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
};
const MESSAGE = {
  id: "m1",
  type: "message",
  role: "assistant",
  model: "up",
  content: [{ type: "text", text: "messages" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 3, output_tokens: 1 },
};

let double: UpstreamDouble;
let gateway: TestGateway;

beforeAll(async () => {
  double = await startUpstreamDouble();
  gateway = await startGateway({
    settings: `
providers:
  two:
    protocols: [messages, chat_completions]
    base_url: { messages: "${double.url}/one", chat_completions: "${double.url}/two/v1" }
    api_key: k
    models:
      - { id: two/both, upstream_id: up, prices: { input: 1, output: 2 } }
      - { id: two/one, upstream_id: up, protocols: [messages], prices: { input: 1, output: 2 } }
`,
  });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});

const TURN = [{ role: "user", content: "Hi" }];

async function ask(endpoint: string, model: string): Promise<readonly unknown[]> {
  double.reset();
  double.handle(({ target }) => jsonAnswer(200, target === "/one/v1/messages" ? MESSAGE : CHAT));
  const response = await gateway.post(endpoint, { model, max_tokens: 9, messages: TURN });
  const answer: Json = await response.json();
  const [sent] = double.requests;
  const key = sent?.header("x-api-key") ?? sent?.header("authorization");
  return [answer.choices?.[0].message.content ?? answer.content[0].text, sent?.target, key];
}

test("a request is relayed in its own format, at that format's address and with its credential", async () => {
  expect(await ask("/api/v1/chat/completions", "two/both")).toEqual([
    "chat",
    "/two/v1/chat/completions",
    "Bearer k",
  ]);
  expect(await ask("/api/v1/messages", "two/both")).toEqual(["messages", "/one/v1/messages", "k"]);
});

test("a route that names one format is translated to it", async () => {
  expect(await ask("/api/v1/chat/completions", "two/one")).toEqual(["messages", "/one/v1/messages", "k"]);
});

describe("a second route in another format serves what the first could not, for what was held", () => {
  const TOOL = { name: "look", description: "Looks it up.", schema: { type: "object", properties: {} } };
  const { name, description, schema } = TOOL;
  const ASKED = {
    "/api/v1/chat/completions": {
      max_tokens: 9,
      messages: TURN,
      tools: [{ type: "function", function: { name, description, parameters: schema } }],
    },
    "/api/v1/messages": {
      max_tokens: 9,
      messages: TURN,
      tools: [{ name, description, input_schema: schema }],
    },
    "/api/v1/responses": {
      max_output_tokens: 16,
      input: TURN,
      tools: [{ type: "function", name, description, parameters: schema }],
    },
  };

  for (const [first, second] of [
    ["chat", "messages"],
    ["messages", "chat"],
  ] as const)
    for (const [endpoint, body] of Object.entries(ASKED))
      test(`${endpoint}: ${first}, then ${second}`, async () => {
        const other = await startGateway({
          settings: `
providers:
  chat:
    base_url: "${double.url}/chat/v1"
    api_key: k
    models: [{ id: t/model, upstream_id: up, prices: { input: 1, output: 2 } }]
  messages:
    protocol: messages
    base_url: "${double.url}/messages"
    api_key: k
    models: [{ id: t/other, upstream_id: up, prices: { input: 1, output: 2 } }]
routing: { attempts: 2, models: { t/model: { routes: [{ provider: ${first}, upstream_id: up }, { provider: ${second}, upstream_id: up }] } } }
`,
        });
        double.reset();
        double.handle(({ target }) => {
          if (target.startsWith(`/${first}/`)) return jsonAnswer(503, {});
          return jsonAnswer(200, second === "messages" ? MESSAGE : CHAT);
        });
        const response = await other.post(endpoint, { model: "t/model", ...body });
        expect(await response.text()).toContain(second);
        expect(double.requests.map(({ target }) => target.split("/")[1])).toEqual([first, second]);
        await other.close();
      });
});
