import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { messageAnswer } from "../upstream/messages-bytes.ts";

// Requests that no client's types allow, and items as other servers write them.

let double: UpstreamDouble;
let gateway: TestGateway;

const RESPONSES_ALONE = "test/gpt";
const MODELS = [RESPONSES_ALONE, "anthropic/claude-haiku-4.5", "deepseek/deepseek-v4-pro"];

beforeAll(async () => {
  double = await startUpstreamDouble();
  const provider = {
    protocol: "responses",
    base_url: `${double.url}/v1`,
    api_key: UPSTREAM_KEY,
    models: [{ id: RESPONSES_ALONE, upstream_id: "gpt", prices: { input: 1, output: 2 } }],
  };
  gateway = await startGateway({
    settings: JSON.stringify({ providers: { test: provider } }),
    anthropic: double.url,
    environment: { DEEPSEEK_API_KEY: UPSTREAM_KEY, DEEPSEEK_BASE_URL: `${double.url}/deepseek` },
  });
});
beforeEach(() => {
  double.reset();
  double.handle(({ target }) => {
    if (target.endsWith("/responses")) return jsonAnswer(200, RESPONSE);
    return target.endsWith("/messages") ? messageAnswer({}) : chatAnswer({});
  });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});

const RESPONSE = {
  id: "resp_1",
  object: "response",
  created_at: 1,
  status: "completed",
  model: "gpt",
  output: [
    {
      id: "msg_1",
      type: "message",
      status: "completed",
      role: "assistant",
      content: [{ type: "output_text", text: "Hi.", annotations: [], logprobs: [] }],
    },
  ],
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
};

const user = { role: "user", content: "Go." };

async function ask(path: string, body: Json) {
  const response = await gateway.post(`/api/v1${path}`, body);
  const answer = (await response.json()) as Json;
  return { status: response.status, param: answer.error?.param };
}

/** Nothing makes a text of it. */
const TEXTLESS = { toString: 1 };

describe.each(MODELS)("%s", (model) => {
  test("a type that is an object is not mistaken for a name", async () => {
    const part = { type: "function_call_output", call_id: "c", output: [{ type: TEXTLESS }] };
    const call = { type: "function_call", call_id: "c", name: "f", arguments: "{}" };
    const inPart = await ask("/responses", { model, input: [user, call, part] });
    // What goes up as it is, its provider judges.
    if (model !== RESPONSES_ALONE) expect(inPart).toEqual({ status: 400, param: "input[2].output[0].type" });

    const offer = { type: "additional_tools", role: "developer", tools: [{ type: TEXTLESS }] };
    const inTool = await ask("/responses", { model, input: [user, offer] });
    expect(inTool.status).toBeLessThan(500);

    const details = [{ type: "thinking", format: TEXTLESS, text: "t" }];
    const answered = { role: "assistant", content: "a", reasoning_details: details };
    const inDetail = await ask("/chat/completions", { model, messages: [user, answered, user] });
    expect(inDetail.status).toBeLessThan(500);
  });

  test("a search for tools comes back as it was given: its arguments are a value", async () => {
    const tools = [{ type: "tool_search", execution: "client", parameters: { type: "object" } }];
    const search = {
      type: "tool_search_call",
      call_id: "c",
      execution: "client",
      arguments: { query: "weather" },
      status: "completed",
    };
    const found = { type: "tool_search_output", call_id: "c", execution: "client", tools: [] };
    const { status } = await ask("/responses", { model, tools, input: [user, search, found] });
    expect(status).toBe(200);
    const sent = JSON.stringify(double.requests.at(-1)?.json());
    expect(sent).toContain("weather");
  });
});

test("arguments of a function that are no text are refused by name where the request is translated", async () => {
  const call = { type: "function_call", call_id: "c", name: "f", arguments: { a: 1 } };
  const output = { type: "function_call_output", call_id: "c", output: "o" };
  const body = { model: "anthropic/claude-haiku-4.5", input: [user, call, output] };
  expect(await ask("/responses", body)).toEqual({ status: 400, param: "input[1].arguments" });
});
