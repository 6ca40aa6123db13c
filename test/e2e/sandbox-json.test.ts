import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Json, TestGateway } from "../gateway/gateway.ts";
import { CITY, expectCity, FLASH, GPT, HAIKU, KIMI, startSandbox } from "./sandbox-answers.ts";

// Answers of the sandbox that shall be JSON: by a switch alone, and by a schema that stands in the prompt.

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startSandbox();
});
afterAll(() => gateway.close());

const SCHEMA = `JSON schema:\n${JSON.stringify(CITY)}\nYou MUST answer with a JSON object that matches it.`;
const PERSON = 'A person, as JSON like {"name": "Ada", "born": 1815}.';
const user = (content: string) => ({ role: "user", content });

type Ask = (system: string, asked: string, more?: object) => Promise<string>;

const chat =
  (model: string): Ask =>
  async (system, asked, more = {}) => {
    const messages = [{ role: "system", content: system }, user(asked)];
    const { choices } = (await (await gateway.chat({ model, messages, ...more })).json()) as Json;
    return choices[0].message.content;
  };

const messages: Ask = async (system, asked, more = {}) => {
  const body = { model: HAIKU, max_tokens: 3_000, system, messages: [user(asked)], ...more };
  return ((await (await gateway.post("/api/v1/messages", body)).json()) as Json).content[0].text;
};

const generate: Ask = async (system, asked, more = {}) => {
  const body = {
    systemInstruction: { parts: [{ text: system }] },
    contents: [{ role: "user", parts: [{ text: asked }] }],
    ...more,
  };
  const response = await gateway.post(`/api/v1/models/${FLASH}:generateContent`, body);
  return ((await response.json()) as Json).candidates[0].content.parts.at(-1).text;
};

const JSON_OBJECT = { response_format: { type: "json_object" } };
const MODES: readonly [string, Ask, object][] = [
  ["chat completions", chat(GPT), JSON_OBJECT],
  ["chat completions of another vendor", chat(KIMI), JSON_OBJECT],
  ["chat completions on Claude, which has no word for it", chat(HAIKU), JSON_OBJECT],
  ["chat completions on Gemini", chat(FLASH), JSON_OBJECT],
  ["generateContent", generate, { generationConfig: { responseMimeType: "application/json" } }],
];

describe.each(MODES)("any JSON, in %s", (_, ask, mode) => {
  test("is an object, and of the schema or like the example that the prompt has", async () => {
    expect(JSON.parse(await ask("Answer in JSON.", "A person.", mode))).toBeObject();
    expectCity(JSON.parse(await ask(SCHEMA, "A city.", mode)));
    const { name, born, ...rest } = JSON.parse(await ask("Be brief.", PERSON, mode));
    expect([typeof name, Number.isInteger(born), rest]).toEqual(["string", true, {}]);
  });
});

const ASKS: readonly [string, Ask, object][] = [
  ["chat completions", chat(GPT), { tools: [{ type: "function", function: { name: "look_up" } }] }],
  ["messages", messages, { tools: [{ name: "look_up", input_schema: { type: "object" } }] }],
  ["generateContent", generate, { tools: [{ functionDeclarations: [{ name: "look_up" }] }] }],
];

describe.each(ASKS)("a schema in the prompt alone, in %s", (_, ask, tools) => {
  test("is what the answer satisfies, whoever says it", async () => {
    expectCity(JSON.parse(await ask(SCHEMA, "A city.")));
    expectCity(JSON.parse(await ask("Be brief.", `A city. ${SCHEMA}`)));
  });

  test("is no form where it is only talked of, nor where an agent has tools", async () => {
    const talk = `Why is this JSON Schema slow? ${JSON.stringify(CITY)}`;
    expect(await ask("Be brief.", talk)).toStartWith("This is the Switchyard sandbox");
    expect(await ask(SCHEMA, "A city.", tools)).toStartWith("This is the Switchyard sandbox");
  });
});
