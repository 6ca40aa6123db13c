import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { type ScriptedVendors, signatureOf, startScriptedVendors } from "../upstream/scripted-vendors.ts";

// Clients that keep calls and drop what was thought before them: the model gets its thought back all the same.

let gateway: TestGateway;
let vendors: ScriptedVendors;
let word = "";
let text = "It is done.";
/** The vendors refuse so many of the next calls with a 503. */
let failures = 0;

beforeAll(async () => {
  vendors = await startScriptedVendors(
    (tools, results) =>
      results === 0 && tools.length > 0
        ? { thinking: `What is ${word}?`, calls: [{ tool: "look_up", input: { word } }] }
        : { text },
    () => (failures-- > 0 ? jsonAnswer(503, {}) : undefined),
  );
  gateway = await startGateway({
    environment: { ...vendors.environment, SECOND_KEY: UPSTREAM_KEY },
    settings: JSON.stringify(settings()),
  });
});
afterEach(() => (failures = 0));
afterAll(async () => {
  await gateway.close();
  await vendors.close();
});

const CLAUDE = "anthropic/claude-haiku-4.5";
const OTHER_CLAUDE = "anthropic/claude-sonnet-5.5";
const GEMINI = "google/gemini-3.8-flash";

/** Claude has two credentials, and one of its models a first route that speaks chat completions. */
function settings(): Json {
  return {
    providers: {
      anthropic: { credentials: [{ env: "SECOND_KEY" }] },
      chat: {
        base_url: vendors.environment.DEEPSEEK_BASE_URL,
        api_key: UPSTREAM_KEY,
        models: [{ id: "chat/model", upstream_id: "deepseek-chat", prices: { input: 1, output: 2 } }],
      },
    },
    routing: {
      breaker_failures: 0,
      models: {
        [OTHER_CLAUDE]: {
          routes: [{ provider: "chat", upstream_id: "deepseek-chat" }, { provider: "anthropic" }],
        },
      },
    },
  };
}

const bodyOf = (model: string, messages: readonly Json[]): Json => ({
  model,
  messages,
  reasoning_effort: "medium",
  max_tokens: 8_000,
  tools: [
    {
      type: "function",
      function: { name: "look_up", parameters: { type: "object", properties: { word: {} } } },
    },
  ],
});

/**
 * Asks for a call and sends it back without its thought in a request with `more` fields, of which `failing` attempts
 * fail. Resolves with what the vendors are sent for that request, and the warnings of its answer.
 */
async function askTwice(
  model: string,
  {
    key,
    prompt = "Look it up.",
    change = (call: Json) => call,
    more = {},
    failing = 0,
  }: {
    readonly key?: string;
    readonly prompt?: string;
    readonly change?: (call: Json) => Json;
    readonly more?: Json;
    readonly failing?: number;
  } = {},
): Promise<{ readonly body: Json; readonly bodies: readonly Json[]; readonly warning: string | null }> {
  const init = key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } };
  const messages = [{ role: "user", content: prompt }];
  const first: Json = await (await gateway.chat(bodyOf(model, messages))).json();
  const [{ tool_calls: calls }] = first.choices.map(({ message }: Json) => message);
  const [{ extra_content: _signed, ...call }] = calls;
  const history = [
    ...messages,
    { role: "assistant", content: null, tool_calls: [change(call)] },
    { role: "tool", tool_call_id: call.id, content: "found" },
  ];
  const asked = vendors.received.length;
  failures = failing;
  const second = await gateway.chat({ ...bodyOf(model, history), ...more }, init);
  expect([second.status, ((await second.json()) as Json).choices[0].message.content]).toEqual([
    200,
    "It is done.",
  ]);
  const bodies = vendors.received.slice(asked).map(({ body }) => body);
  return { body: bodies.at(-1), bodies, warning: second.headers.get("warning") };
}

const blocksOf = ({ messages }: Json): Json[] =>
  messages.find(({ role }: Json) => role === "assistant").content;

describe("a thought that the client drops", () => {
  test("goes back to Claude with its signature, first in its turn, and nothing is switched off", async () => {
    word = "one";
    const { body, warning } = await askTwice(CLAUDE);
    expect(blocksOf(body).map(({ type }) => type)).toEqual(["thinking", "tool_use"]);
    expect(blocksOf(body)[0]).toMatchObject({ thinking: "What is one?", signature: signatureOf(0) });
    expect(body.thinking.type).toBe("enabled");
    expect(warning).toBeNull();
  });

  test("goes back to Gemini on its call", async () => {
    word = "two";
    const { body, warning } = await askTwice(GEMINI);
    const [part] = body.contents.find(({ role }: Json) => role === "model").parts;
    expect(part.thoughtSignature).toBe(signatureOf(0));
    expect(warning).toBeNull();
  });

  test("goes back in a request that is read on a thread", async () => {
    word = "three";
    const { body } = await askTwice(CLAUDE, { prompt: "word ".repeat(40_000) });
    expect(blocksOf(body)[0]).toMatchObject({ type: "thinking", signature: signatureOf(0) });
  });

  test("is found whatever white space the client writes the arguments with", async () => {
    word = "four";
    const change = (call: Json): Json => ({
      ...call,
      function: { ...call.function, arguments: JSON.stringify({ word }, null, 2) },
    });
    const { body } = await askTwice(CLAUDE, { change });
    expect(blocksOf(body)[0].type).toBe("thinking");
  });

  test("is not given to a call with another input", async () => {
    word = "five";
    const change = (call: Json): Json => ({
      ...call,
      function: { ...call.function, arguments: '{"word":"x"}' },
    });
    const { body, warning } = await askTwice(CLAUDE, { change });
    expect(blocksOf(body).map(({ type }) => type)).toEqual(["tool_use"]);
    expect(warning).toContain("was switched off for this request");
  });

  test("is not given to another account", async () => {
    word = "six";
    const { json: account } = await gateway.admin("POST", "/accounts", { name: "other" });
    await gateway.admin("POST", `/accounts/${account.id}/credits`, { amount: 1_000, reason: "test" });
    const { json: key } = await gateway.admin("POST", "/keys", { account_id: account.id, name: "other" });
    const { body } = await askTwice(CLAUDE, { key: key.key });
    expect(blocksOf(body).map(({ type }) => type)).toEqual(["tool_use"]);
  });
});

describe("a thought that the client drops, where the first way fails,", () => {
  const isThought = (body: Json): boolean => blocksOf(body)[0].type === "thinking";

  test("goes back by the other credential", async () => {
    word = "seven";
    const { bodies, warning } = await askTwice(CLAUDE, { failing: 1 });
    expect([bodies.map(isThought), warning]).toEqual([[true, true], null]);
  });

  test("goes back to the other model, by its family and not by that of the first", async () => {
    word = "eight";
    const { bodies, warning } = await askTwice(CLAUDE, {
      failing: 1,
      more: { model: GEMINI, models: [CLAUDE] },
    });
    const [gemini, claude] = bodies;
    expect(JSON.stringify(gemini)).not.toContain(signatureOf(0));
    expect(blocksOf(claude)[0]).toMatchObject({ thinking: "What is eight?", signature: signatureOf(0) });
    expect(claude.thinking.type).toBe("enabled");
    expect(warning).not.toContain("switched off");
  });

  test("does not go to another model of another family", async () => {
    word = "nine";
    const { bodies } = await askTwice(CLAUDE, { failing: 2, more: { models: [GEMINI] } });
    expect(bodies).toHaveLength(3);
    expect(JSON.stringify(bodies[1])).toContain(signatureOf(0));
    expect(JSON.stringify(bodies[2])).not.toContain(signatureOf(0));
  });

  test("goes back by a route in another format", async () => {
    word = "ten";
    const more = { model: OTHER_CLAUDE, max_tokens: undefined };
    const { bodies } = await askTwice(CLAUDE, { failing: 1, more });
    expect([bodies.length, isThought(bodies[1])]).toEqual([2, true]);
  });

  test("goes back in a request that is read on a thread", async () => {
    word = "eleven";
    const { bodies } = await askTwice(CLAUDE, { failing: 1, prompt: "word ".repeat(40_000) });
    expect(bodies.map(isThought)).toEqual([true, true]);
  });
});

describe("what Gemini signed its last words with", () => {
  const asked = { role: "user", content: "Is it done?" };
  const ask = async (messages: readonly Json[], stream: boolean): Promise<Json[]> => {
    const client = new Anthropic({ baseURL: `${gateway.url}/api`, apiKey: gateway.key, maxRetries: 0 });
    const body: Json = { model: GEMINI, max_tokens: 8_000, messages };
    const message = await (stream
      ? client.messages.stream(body).finalMessage()
      : client.messages.create(body));
    return message.content;
  };

  test.each([true, false])("has no block, and goes back with them; streamed: %p", async (stream) => {
    text = `It is, ${stream ? "in pieces" : "at once"}.`;
    const content = await ask([asked], stream);
    expect(content).toMatchObject([{ type: "text", text }]);
    await ask([asked, { role: "assistant", content }, asked], stream);
    const turn = vendors.received.at(-1)?.body.contents[1];
    expect(turn).toEqual({ role: "model", parts: [{ text, thoughtSignature: signatureOf(0) }] });
  });
});
