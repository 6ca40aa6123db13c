import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import { filledBody, recordedClientRequests } from "../clients/client-request.ts";
import { OWN_CLIENT_REQUESTS } from "../clients/own-client-requests.ts";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { startStrictVendors, type StrictVendors } from "../upstream/strict-vendors.ts";

// Clients of messages on models of every other vendor. They are the official SDK in the sandbox, and the requests of
// agents at doubles as strict as the vendors.

const MODELS = ["google/gemini-3.8-flash", "openai/gpt-5.6-luna", "deepseek/deepseek-v4-pro"] as const;

let sandbox: TestGateway;
let vendors: StrictVendors;
let strict: TestGateway;
let client: Anthropic;

beforeAll(async () => {
  sandbox = await startGateway({ environment: { SWITCHYARD_SANDBOX: "on" } });
  vendors = await startStrictVendors();
  strict = await startGateway({ environment: vendors.environment });
  client = new Anthropic({ baseURL: `${sandbox.url}/api`, apiKey: sandbox.key, maxRetries: 0 });
});
afterAll(async () => {
  await sandbox.close();
  await strict.close();
  await vendors.close();
});

const tools: Json = [
  {
    name: "weather",
    description: "The weather of a city",
    input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
];

describe.each([...MODELS])("%s", (model) => {
  test("runs its loop of tools, plain and streamed in turn, what it thought going back as it came", async () => {
    const messages: Json[] = [{ role: "user", content: "What is the weather in Oslo?" }];
    for (let round = 0; round < 4; round += 1) {
      const body: Json = { model, max_tokens: 3_000, tools, messages, thinking: { type: "adaptive" } };
      const message =
        round % 2 === 0
          ? await client.messages.create(body)
          : await client.messages.stream(body).finalMessage();
      expect(["tool_use", "end_turn"]).toContain(message.stop_reason!);
      expect(message.usage.output_tokens).toBePositive();
      const calls = message.content.filter((block) => block.type === "tool_use");
      expect(message.stop_reason === "tool_use").toBe(calls.length > 0);
      const results = calls.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "3 °C" }));
      const said = calls.length > 0 ? results : "And in Rome?";
      messages.push({ role: "assistant", content: message.content }, { role: "user", content: said });
    }
  });

  test("counts its tokens", async () => {
    const { input_tokens: count } = await client.messages.countTokens({
      model,
      messages: [{ role: "user", content: "Say hello." }],
    });
    expect(count).toBePositive();
  });
});

test("a conversation goes from vendor to vendor, and each is sent only what it can read", async () => {
  const messages: Json[] = [{ role: "user", content: "What is the weather in Oslo?" }];
  for (const model of [
    ...MODELS,
    "anthropic/claude-opus-5.5",
    ...MODELS.toReversed(),
    "anthropic/claude-haiku-4.5",
  ]) {
    const message = await client.messages.create({
      model,
      max_tokens: 3_000,
      messages,
      thinking: { type: "adaptive" },
    });
    expect(message.content.some(({ type }) => type === "text")).toBe(true);
    messages.push({ role: "assistant", content: message.content }, { role: "user", content: "And then?" });
  }
});

const SIGNED = {
  thinking: { thinking: "Hm.", signature: "EqQBCgIYAhIM" },
  thoughtSignature: "EsQBCsEBAdHtim9z",
};
const sessions = [...recordedClientRequests(), ...OWN_CLIENT_REQUESTS].filter(
  ({ endpoint }) => endpoint === "messages",
);

describe.each([...MODELS])("what agents send is taken by %s, as strict as it is", (model) => {
  test.each(sessions.map((session) => [session.name, session] as const))("%s", async (_name, session) => {
    const headers = Object.fromEntries(
      Object.entries(session.headers).filter(
        ([name, value]) => name !== "accept-encoding" && !value.startsWith("…"),
      ),
    );
    const body = { ...filledBody(session.body, SIGNED), model };
    const response = await strict.post("/api/v1/messages", body, { headers });
    const text = await response.text();
    expect([response.status, text.slice(0, 400)]).toEqual([200, expect.any(String)]);
    if ((body as Json).stream === true)
      expect(text).toEndWith('event: message_stop\ndata: {"type":"message_stop"}\n\n');
    else expect(JSON.parse(text)).toMatchObject({ type: "message", stop_reason: "end_turn" });
  });
});
