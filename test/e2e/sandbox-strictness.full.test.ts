import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { startStrictVendors, type StrictVendors } from "../upstream/strict-vendors.ts";
import { FLASH, GPT, HAIKU, IMAGE, KIMI, PDF } from "./sandbox-answers.ts";

// The sandbox is as strict as the live route, and no stricter. The same requests go to it and, through a gateway with
// every key, to doubles that refuse what the vendors refuse. Both take a request, or both refuse it.

let vendors: StrictVendors;
let live: TestGateway;
let sandbox: TestGateway;

beforeAll(async () => {
  vendors = await startStrictVendors();
  live = await startGateway({ environment: vendors.environment });
  sandbox = await startGateway();
});
afterAll(async () => {
  await live.close();
  await sandbox.close();
  await vendors.close();
});

const QWEN = "alibaba/qwen3.7-max";
const OPUS = "anthropic/claude-opus-5.5";
const CHAT_MODELS = [GPT, KIMI, QWEN, "deepseek/deepseek-v4-pro", "zhipu/glm-5.2", "xai/grok-4.7"];

interface Told {
  readonly status: number;
  readonly warning: string | null;
  readonly error: Json;
}

async function ask(gateway: TestGateway, path: string, body: unknown): Promise<Told> {
  const response = await gateway.post(path, body);
  const text = await response.text();
  const { status } = response;
  return {
    status,
    warning: response.headers.get("warning"),
    error: status === 200 ? "" : JSON.parse(text).error,
  };
}

/** What both say of a request: 200 or 400, and the same warnings. */
async function bothSay(path: string, body: unknown): Promise<number> {
  const [inSandbox, atVendor] = await Promise.all([ask(sandbox, path, body), ask(live, path, body)]);
  expect({ sandbox: inSandbox.status, message: inSandbox.error.message ?? "" }).toEqual({
    sandbox: atVendor.status,
    message: atVendor.status === 200 ? "" : expect.any(String),
  });
  expect([inSandbox.warning, inSandbox.error.type]).toEqual([atVendor.warning, atVendor.error.type]);
  return inSandbox.status;
}

const CHAT = "/api/v1/chat/completions";
const hi = { role: "user", content: "What is the weather?" };
const weather = { name: "weather", parameters: { type: "object", properties: { city: { type: "string" } } } };
const tools = [{ type: "function", function: weather }];
const calls = ["call_1", "call_2"].map((id) => ({
  id,
  type: "function",
  function: { name: "weather", arguments: "{}" },
}));
const called = { role: "assistant", content: null, tool_calls: calls };
const result = (id: string) => ({ role: "tool", tool_call_id: id, content: "Clear." });
const image = (url: string) => ({ role: "user", content: [{ type: "image_url", image_url: { url } }] });

const CONVERSATIONS: Record<string, object[]> = {
  "calls and their results": [hi, called, result("call_2"), result("call_1")],
  "a result without its call": [hi, result("call_1")],
  "a result that comes twice": [hi, called, result("call_1"), result("call_1"), result("call_2")],
  "a call without its result": [hi, called, result("call_1")],
  "a call without its result, then words": [hi, called, result("call_1"), hi],
  "a developer's message": [{ role: "developer", content: "Be brief." }, hi],
};

describe.each(CHAT_MODELS)("chat completions of %s are left, changed and refused as live:", (model) => {
  const fields: Record<string, unknown> = {
    prompt_cache_key: "key",
    verbosity: "low",
    safety_identifier: "somebody",
    store: false,
    functions: [weather],
    user: "somebody",
    metadata: { a: "b" },
    seed: 7,
    n: 2,
    logprobs: true,
    logit_bias: { "50256": -100 },
    presence_penalty: 0.5,
    stop: ["END"],
    temperature: 0.3,
    top_k: 5,
    max_tokens: 50,
    service_tier: "auto",
    stream_options: { include_usage: true },
    parallel_tool_calls: false,
    nobody_knows: 1,
  };
  test.each(Object.keys(fields))("%s", async (name) => {
    await bothSay(CHAT, { model, messages: [hi], [name]: fields[name] });
  });

  const formats = [
    { type: "json_object" },
    { type: "json_schema", json_schema: { name: "city", schema: weather.parameters } },
  ];
  test.each(formats)("response_format $type", async (format) => {
    await bothSay(CHAT, { model, messages: [hi], response_format: format });
  });

  test("response_format json_object where a message has the word", async () => {
    const messages = [{ role: "system", content: [{ type: "text", text: "Answer in Json." }] }, hi];
    expect(await bothSay(CHAT, { model, messages, response_format: { type: "json_object" } })).toBe(200);
  });

  const choices = ["none", "auto", "required", { type: "function", function: { name: "weather" } }];
  test.each(choices.map((choice) => [JSON.stringify(choice), choice]))(
    "tool_choice %s",
    async (_, choice) => {
      await bothSay(CHAT, { model, messages: [hi], tools, tool_choice: choice });
    },
  );

  test.each(Object.keys(CONVERSATIONS))("%s", async (name) => {
    await bothSay(CHAT, { model, messages: CONVERSATIONS[name], tools });
  });

  test("more likeliest tokens than anybody gives", async () => {
    await bothSay(CHAT, { model, messages: [hi], logprobs: true, top_logprobs: 21 });
  });

  test("custom tools", async () => {
    const custom = { type: "custom", custom: { name: "shell", description: "Runs it." } };
    await bothSay(CHAT, { model, messages: [hi], tools: [custom] });
  });
});

describe.each([HAIKU, FLASH])("chat completions of %s are mended and refused as live:", (model) => {
  test.each(Object.keys(CONVERSATIONS))("%s", async (name) => {
    const status = await bothSay(CHAT, { model, messages: CONVERSATIONS[name], tools });
    // A result that never came can be told to the model; one that nobody asked for has no place.
    expect(status).toBe(name === "a result without its call" ? 400 : 200);
  });
});

describe("media that nobody can read are refused as live", () => {
  const links: Record<string, readonly [url: string, status: number]> = {
    "an image": [`data:image/png;base64,${IMAGE}`, 200],
    "an image without padding": [`data:image/png;base64,${IMAGE.replace(/=+$/, "")}`, 200],
    "a public link": ["https://example.com/a.png", 200],
    "broken base64": ["data:image/png;base64,%%%%", 400],
    "base64 with a letter too many": ["data:image/png;base64,AAAAA", 400],
    "padding amid it": ["data:image/png;base64,AA==AAAA", 400],
    "a link to this machine": ["http://localhost/a.png", 400],
    "a link to this machine's address": ["http://127.0.0.1:8080/a.png", 400],
    "a link to a private address": ["https://10.1.2.3/a.png", 400],
    "a link to a cloud's metadata": ["http://169.254.169.254/latest", 400],
  };
  for (const [name, [url, status]] of Object.entries(links))
    for (const model of [GPT, HAIKU, FLASH])
      test(`${name}, in chat completions of ${model}`, async () => {
        expect(await bothSay(CHAT, { model, messages: [image(url)] })).toBe(status);
      });
  for (const [name, [url, status]] of Object.entries(links)) {
    const [, data] = url.split(";base64,");
    test(`${name}, in messages`, async () => {
      const source =
        data === undefined ? { type: "url", url } : { type: "base64", media_type: "image/png", data };
      const block = { type: "image", source };
      const inResult = [{ type: "tool_result", tool_use_id: "t1", content: [block] }];
      const call = { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "f", input: {} }] };
      const user = (content: unknown) => ({ role: "user", content });
      for (const messages of [[user([block])], [user("hi"), call, user(inResult)]])
        expect(await bothSay(MESSAGES, { model: HAIKU, max_tokens: 50, messages })).toBe(status);
    });
    // Links of this format are of https alone, which the gateway itself sees to.
    test(`${name}, in generateContent`, async () => {
      const part =
        data === undefined
          ? { fileData: { mimeType: "image/png", fileUri: url.replace("http:", "https:") } }
          : { inlineData: { mimeType: "image/png", data } };
      expect(await bothSay(GENERATE, { contents: [{ role: "user", parts: [part] }] })).toBe(status);
    });
  }

  test("documents and audio, in chat completions", async () => {
    const file = (data: string) => ({ type: "file", file: { filename: "a.pdf", file_data: data } });
    const asked = (part: object) => ({ model: FLASH, messages: [{ role: "user", content: [part] }] });
    expect(await bothSay(CHAT, asked(file(`data:application/pdf;base64,${PDF}`)))).toBe(200);
    expect(await bothSay(CHAT, { ...asked(file(`data:application/pdf;base64,${PDF}`)), model: GPT })).toBe(
      200,
    );
    for (const model of [GPT, HAIKU, FLASH])
      expect(await bothSay(CHAT, { ...asked(file("data:application/pdf;base64,?")), model })).toBe(400);
    const audio = { type: "input_audio", input_audio: { data: "!", format: "wav" } };
    expect(await bothSay(CHAT, asked(audio))).toBe(400);
  });
});

const MESSAGES = "/api/v1/messages";

describe("messages are taken and refused as live:", () => {
  const user = (...content: object[]) => ({ role: "user", content });
  const text = { type: "text", text: "hi" };
  const use = (id: string) => ({ type: "tool_use", id, name: "f", input: {} });
  const answer = (...content: object[]) => ({ role: "assistant", content });
  const got = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "x" });
  const mark = { cache_control: { type: "ephemeral" } };
  const budget = { type: "enabled", budget_tokens: 1_024 };
  const talk = (...messages: object[]) => ({ messages });
  const rows: readonly [name: string, body: object, status: number][] = [
    ["a call and its result", talk(user(text), answer(use("a")), user(got("a"), text)), 200],
    [
      "two calls and their results",
      talk(user(text), answer(use("a"), use("b")), user(got("b"), got("a"))),
      200,
    ],
    ["a result without its call", talk(user(got("a"))), 400],
    [
      "a result of a call before the last",
      talk(user(text), answer(use("a")), user(got("a")), answer(text), user(got("a"))),
      400,
    ],
    ["a call without its result", talk(user(text), answer(use("a")), user(text)), 400],
    ["one of two results", talk(user(text), answer(use("a"), use("b")), user(got("a"))), 400],
    ["a last call without its result", talk(user(text), answer(use("a"))), 400],
    ["a result behind words", talk(user(text), answer(use("a")), user(text, got("a"))), 400],
    [
      "an id that is used again",
      talk(user(text), answer(use("a")), user(got("a")), answer(use("a")), user(got("a"))),
      400,
    ],
    ["an id with a dot", talk(user(text), answer(use("a.b")), user(got("a.b"))), 400],
    ["an empty text", talk(user({ type: "text", text: "" })), 400],
    ["empty content", talk({ role: "user", content: "" }), 400],
    ["an answer without content", talk(user(text), { role: "assistant", content: [] }, user(text)), 400],
    ["a block of no type that is known", talk(user({ type: "input_text", text: "hi" })), 400],
    ["a field too many in a block", talk(user({ ...text, detail: "high" })), 400],
    ["a message of the system after the user's", talk(user(text), { role: "system", content: "Now." }), 200],
    ["a message of the system at first", talk({ role: "system", content: "Now." }, user(text)), 400],
    [
      "four marks of the cache",
      {
        system: [{ ...text, ...mark }],
        ...talk(user({ ...text, ...mark }, { ...text, ...mark }, { ...text, ...mark })),
      },
      200,
    ],
    [
      "five marks of the cache",
      {
        system: [
          { ...text, ...mark },
          { ...text, ...mark },
        ],
        ...talk(user({ ...text, ...mark }, { ...text, ...mark }, { ...text, ...mark })),
      },
      400,
    ],
    ["a stop sequence of white space", { stop_sequences: [" "], ...talk(user(text)) }, 400],
    ["a field too many in thinking", { thinking: { ...budget, effort: "low" }, ...talk(user(text)) }, 400],
    [
      "a forced call while it thinks",
      {
        thinking: budget,
        tools: [{ name: "f", input_schema: { type: "object" } }],
        tool_choice: { type: "any" },
        ...talk(user(text)),
      },
      400,
    ],
    [
      "a run of tools that lost its thinking",
      { thinking: budget, ...talk(user(text), answer(use("a")), user(got("a"))) },
      400,
    ],
    ["a run of tools without thinking", talk(user(text), answer(use("a")), user(got("a"))), 200],
    [
      "thinking without its signature",
      talk(user(text), answer({ type: "thinking", thinking: "Hm." }), user(text)),
      400,
    ],
    ["an answer that is begun", talk(user(text), answer({ type: "text", text: "So" })), 200],
    [
      "an answer that is begun and ends in white space",
      talk(user(text), answer({ type: "text", text: "So " })),
      400,
    ],
    ["a temperature above 1", { temperature: 1.5, ...talk(user(text)) }, 200],
    ["temperature and top_p", { temperature: 0.5, top_p: 0.5, ...talk(user(text)) }, 200],
    ["a field that nobody knows", { n: 1, ...talk(user(text)) }, 200],
    ["an effort that this model has not", { output_config: { effort: "low" }, ...talk(user(text)) }, 200],
  ];
  test.each(rows)("%s", async (_, body, status) => {
    expect(await bothSay(MESSAGES, { model: HAIKU, max_tokens: 2_000, ...body })).toBe(status);
  });

  test("a run of tools without thinking, where the model thinks as it likes", async () => {
    const messages = [user(text), answer(use("a")), user(got("a"))];
    expect(
      await bothSay(MESSAGES, { model: OPUS, max_tokens: 50, thinking: { type: "adaptive" }, messages }),
    ).toBe(200);
  });
});

const GENERATE = `/api/v1/models/${FLASH}:generateContent`;

describe("generateContent is taken and refused as live:", () => {
  // A signature that Google documents for a history of another model.
  const signed = { thoughtSignature: "skip_thought_signature_validator" };
  const user = { role: "user", parts: [{ text: "hi" }] };
  const call = (name: string, more: object = {}) => ({ functionCall: { name, args: {} }, ...more });
  const got = (name: string) => ({ functionResponse: { name, response: { output: 1 } } });
  const model = (...parts: object[]) => ({ role: "model", parts });
  const back = (...parts: object[]) => ({ role: "user", parts });
  const turns = (...contents: object[]) => ({ contents });
  const functions = (declared: object) => ({ ...turns(user), tools: [{ functionDeclarations: [declared] }] });
  const config = (generationConfig: object) => ({ ...turns(user), generationConfig });
  const rows: readonly [name: string, body: object, status: number][] = [
    ["a call and its response", turns(user, model(call("f", signed)), back(got("f"))), 200],
    [
      "calls that a streamed chat kept in turns of their own",
      turns(
        user,
        model({ text: "So." }),
        model(call("f", signed)),
        model(call("g")),
        back(got("f"), got("g")),
      ),
      200,
    ],
    [
      "responses in turns of their own",
      turns(user, model(call("f", signed), call("g")), back(got("f")), back(got("g"))),
      200,
    ],
    ["a call without its signature", turns(user, model(call("f")), back(got("f"))), 400],
    [
      "the second step without its signature",
      turns(user, model(call("f", signed)), back(got("f")), model(call("g")), back(got("g"))),
      400,
    ],
    [
      "a call without its signature in a turn that is over",
      turns(user, model(call("f")), back(got("f")), model({ text: "So." }), user),
      200,
    ],
    ["a response without its call", turns(user, model({ text: "So." }), back(got("f"))), 400],
    ["a response at first", turns(back(got("f"))), 400],
    ["one of two responses", turns(user, model(call("f", signed), call("g")), back(got("f"))), 400],
    ["a call without its response", turns(user, model(call("f", signed)), user), 400],
    ["a call at first", turns(model(call("f", signed)), back(got("f"))), 400],
    ["a turn without parts", turns({ role: "user" }), 400],
    ["a turn of no role without parts", turns({}), 400],
    ["a turn with no part in it", turns({ role: "user", parts: [] }), 400],
    ["a turn of the model that was cut off", turns(user, { role: "model" }, user), 200],
    ["a turn of the model without parts, at last", turns(user, { role: "model" }), 400],
    ["a part without data", turns({ parts: [{ thought: true }] }), 400],
    [
      "a signature that is no base64",
      turns(user, model({ text: "So.", thoughtSignature: "a.b" }), user),
      400,
    ],
    ["an empty signature", turns(user, model({ text: "So.", thoughtSignature: "" }), user), 200],
    [
      "a name that nobody knows in a call",
      turns(user, model({ functionCall: { name: "f", arguments: {} }, ...signed }), back(got("f"))),
      400,
    ],
    ["a budget and a level", config({ thinkingConfig: { thinkingBudget: 1, thinkingLevel: "LOW" } }), 400],
    ["a word that thinking has not", config({ thinkingConfig: { effort: "low" } }), 400],
    [
      "a schema of OpenAPI",
      config({ responseSchema: { type: "OBJECT", properties: { a: { type: "STRING" } } } }),
      200,
    ],
    [
      "a schema of JSON in its place",
      config({ responseSchema: { type: "object", additionalProperties: false } }),
      400,
    ],
    [
      "a schema of JSON in its own",
      config({
        responseMimeType: "application/json",
        responseJsonSchema: { type: "object", additionalProperties: false },
      }),
      200,
    ],
    ["a function", functions({ name: "f", parametersJsonSchema: { type: "object", $defs: {} } }), 200],
    [
      "a function whose parameters are JSON Schema",
      functions({ name: "f", parameters: { type: "object", properties: { a: { $ref: "#" } } } }),
      400,
    ],
    [
      "a function with parameters twice",
      functions({ name: "f", parameters: {}, parametersJsonSchema: {} }),
      400,
    ],
    ["a function whose name begins with a digit", functions({ name: "1f" }), 400],
    ["a field that nobody knows", { ...turns(user), credit: 1 }, 200],
  ];
  test.each(rows)("%s", async (_, body, status) => {
    expect(await bothSay(GENERATE, body)).toBe(status);
  });

  test("tools that are no list are refused by name, though Google makes a list of one that stands by itself", async () => {
    for (const tools of [{}, { functionDeclarations: [{ name: "f" }] }, "f"]) {
      const { status, error } = await ask(sandbox, GENERATE, { ...turns(user), tools });
      expect([status, error.message]).toEqual([400, expect.stringContaining("tools")]);
    }
    expect(
      (await ask(live, GENERATE, { ...turns(user), tools: { functionDeclarations: [{ name: "f" }] } }))
        .status,
    ).toBe(200);
  });
});

describe("an input longer than the model's context is refused as the vendor does", () => {
  // Below the length at which the gateway itself refuses it.
  const long = "word ".repeat(200_000);
  const rows: readonly [string, string, Json][] = [
    [HAIKU, MESSAGES, { max_tokens: 50, messages: [{ role: "user", content: long }] }],
    [HAIKU, CHAT, { messages: [{ role: "user", content: long }] }],
    ["xai/grok-4.7", CHAT, { messages: [{ role: "user", content: `${long}${long}`.slice(0, 2_200_000) }] }],
    [FLASH, GENERATE, { contents: [{ parts: [{ text: long.repeat(5) }] }] }],
  ];
  test.each(rows)("%s at %s", async (model, path, body) => {
    const before = (await sandbox.account()).balance;
    const { status, error } = await ask(sandbox, path, path === GENERATE ? body : { model, ...body });
    expect([status, error.type]).toEqual([400, "input_too_large"]);
    expect(error.message).toMatch(/maximum/);
    await sandbox.settled();
    expect((await sandbox.account()).balance).toBe(before);
  });
});
