import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";

// Responses of a model whose provider speaks it, in the sandbox: it is relayed, and the sandbox is as strict as OpenAI.

const MODEL = "openai/gpt-5.6-luna";
const TOOL = {
  type: "function",
  name: "look_up",
  parameters: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
  strict: false,
} as const;

let gateway: TestGateway;
let client: OpenAI;

beforeAll(async () => {
  gateway = await startGateway();
  client = new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(() => gateway.close());

const create = (body: object): Promise<Json> =>
  client.responses.create({ model: MODEL, ...body } as Json).catch((error: unknown) => error);

test("the model is relayed in Responses, and says that nobody was asked", async () => {
  const headers = { authorization: `Bearer ${gateway.key}` };
  const { data } = (await (await fetch(`${gateway.url}/api/v1/models`, { headers })).json()) as Json;
  const { formats } = data.find(({ id }: Json) => id === MODEL);
  expect(formats).toMatchObject({ compat_responses: "relay" });
  const { output_text: text, store } = await create({ input: "Say hello." });
  expect(text).toStartWith("This is the Switchyard sandbox in place of");
  expect(store).toBe(true);
});

test("a stream, read by the official helper, is the plain answer", async () => {
  const body = { input: "Use look_up.", tools: [TOOL], reasoning: { effort: "low", summary: "auto" } };
  const plain = await create(body);
  const streamed: Json = await client.responses.stream({ model: MODEL, ...body } as Json).finalResponse();
  const said = ({ output }: Json): Json => output.map(({ parsed_arguments: _parsed, ...item }: Json) => item);
  expect(said(streamed)).toEqual(said(plain));
  expect(plain.output.map(({ type }: Json) => type)).toEqual(["reasoning", "function_call"]);
  expect(streamed.usage).toEqual(plain.usage);
  expect(streamed.credit).toBe(plain.credit);
});

test("a loop of calls goes on with the reasoning that came before, by item and by reference", async () => {
  const tools = [TOOL, { type: "custom", name: "note" }];
  const reasoning = { effort: "low" };
  const first = await create({ input: "Use look_up and note.", tools, reasoning });
  const outputs = first.output.flatMap(({ type, call_id }: Json) =>
    type.endsWith("_call") ? [{ type: `${type}_output`, call_id, output: "found" }] : [],
  );
  expect(outputs).toHaveLength(2);
  const input = [{ role: "user", content: "Use look_up and note." }, ...first.output, ...outputs];
  for (const body of [
    { input, store: false },
    { input: outputs, previous_response_id: first.id },
  ])
    expect((await create({ ...body, tools, reasoning })).output_text).toContain('A tool answered: "found"');
});

test("a bound on output is met, and told", async () => {
  const { status, incomplete_details: why, usage } = await create({ input: "Hi.", max_output_tokens: 16 });
  expect([status, why]).toEqual(["incomplete", { reason: "max_output_tokens" }]);
  expect(usage.output_tokens).toBeLessThanOrEqual(16);
});

test("a form binds the answer", async () => {
  const schema = {
    type: "object",
    properties: { n: { type: "integer" } },
    required: ["n"],
    additionalProperties: false,
  };
  const format = { type: "json_schema", name: "n", schema, strict: true };
  expect(JSON.parse((await create({ input: "A number.", text: { format } })).output_text)).toEqual({
    n: expect.any(Number),
  });
});

describe("what OpenAI refuses is refused in its words", () => {
  const user = { role: "user", content: "Hi." };
  const call = { type: "function_call", call_id: "call_a", name: "look_up", arguments: "{}" };
  const output = { type: "function_call_output", call_id: "call_a", output: "" };
  const refused: Readonly<Record<string, readonly [object, string]>> = {
    "a call without its output": [{ input: [user, call] }, "No tool output found for function call call_a."],
    "an output without its call": [
      { input: [user, output] },
      "No tool call found for function call output with call_id call_a.",
    ],
    "reasoning that somebody else sealed": [
      { input: [user, { type: "reasoning", summary: [], encrypted_content: "gAAAAAforged" }, call, output] },
      "The encrypted content could not be verified.",
    ],
    "JSON that nobody has named": [
      { input: "Hi.", text: { format: { type: "json_object" } } },
      "must contain the word 'json'",
    ],
  };
  for (const [name, [body, message]] of Object.entries(refused))
    test(name, async () => {
      const error = await create(body);
      expect(error.status).toBe(400);
      expect(error.message).toContain(message);
    });
});

test("its input is counted, and a conversation is made shorter", async () => {
  const counted: Json = await client.post("/responses/input_tokens", {
    body: { model: MODEL, input: "Say hello." },
  });
  expect(counted).toMatchObject({ object: "response.input_tokens", input_tokens: expect.any(Number) });
  const compacted: Json = await client.post("/responses/compact", {
    body: { model: MODEL, input: [{ role: "user", content: "Say hello." }] },
  });
  expect(compacted.output.map(({ type }: Json) => type)).toContain("compaction");
  const next = await create({ input: [...compacted.output, { role: "user", content: "Go on." }] });
  expect(next.output_text).toStartWith("This is the Switchyard sandbox");
});
