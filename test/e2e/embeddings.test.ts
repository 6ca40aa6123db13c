import { afterAll, beforeAll, expect, test } from "bun:test";
import { createOpenAI } from "@ai-sdk/openai";
import { OpenAIEmbeddings } from "@langchain/openai";
import { embed as embedOne, embedMany } from "ai";
import OpenAI from "openai";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";

// The sandbox in the place of each provider, asked by the official SDK and by plain requests.

const MODELS = [
  { id: "openai/text-embedding-3-small", length: 1_536, price: 200 },
  { id: "openai/text-embedding-3-large", length: 3_072, price: 1_300 },
  { id: "google/gemini-embedding-001", length: 3_072, price: 1_500 },
  { id: "alibaba/text-embedding-v4", length: 1_024, price: 700 },
  { id: "mistral/mistral-embed", length: 1_024, price: 1_000 },
];

let gateway: TestGateway;
let client: OpenAI;

beforeAll(async () => {
  gateway = await startGateway();
  client = new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(() => gateway.close());

const embed = async (
  body: object,
  init?: RequestInit,
): Promise<{ status: number; json: Json; headers: Headers }> => {
  const response = await gateway.post("/api/v1/embeddings", body, init);
  return { status: response.status, json: await response.json(), headers: response.headers };
};
const product = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, number, i) => sum + number * (b[i] ?? 0), 0);

for (const { id, length, price } of MODELS) {
  test(`${id}: the SDK gets a vector of length one for each text, and the charge is the input's`, async () => {
    const before = (await gateway.account()).balance;
    const texts = ["A lighthouse by day.", "A lighthouse by night.", "Prices of copper rose"];
    const answer: Json = await client.embeddings.create({ model: id, input: texts });
    expect(answer.model).toBe(id);
    expect(answer.data.map(({ index }: Json) => index)).toEqual([0, 1, 2]);
    const [day, night, copper] = answer.data.map(({ embedding }: Json) => embedding);
    expect(day).toHaveLength(length);
    expect(product(day, day)).toBeCloseTo(1, 4);
    expect(product(day, night)).toBeGreaterThan(product(day, copper) + 0.2);
    expect(answer.usage.total_tokens).toBe(answer.usage.prompt_tokens);
    expect(answer.credit).toBeCloseTo((answer.usage.prompt_tokens * price) / 1_000_000, 6);
    await gateway.settled();
    expect((await gateway.account()).balance).toBeCloseTo(before - answer.credit, 6);
  });

  test(`${id}: floats and base64 are the same vector, and the same text has the same`, async () => {
    const floats = await embed({ model: id, input: "One text." });
    const again = await embed({ model: id, input: ["One text."], encoding_format: "float" });
    const base64 = await embed({ model: id, input: "One text.", encoding_format: "base64" });
    expect([floats.status, again.status, base64.status]).toEqual([200, 200, 200]);
    expect(again.json.data).toEqual(floats.json.data);
    const bytes = Buffer.from(base64.json.data[0].embedding, "base64");
    expect(bytes.length).toBe(length * 4);
    const decoded = Array.from({ length }, (_, i) => bytes.readFloatLE(i * 4));
    expect(decoded).toEqual(floats.json.data[0].embedding.map(Math.fround));
    expect(floats.headers.get("x-switchyard-provider")).toBe("sandbox");
  });
}

test("LangChain gets the vectors of its documents in their order, in several requests, at a length of its wish", async () => {
  for (const [model, dimensions] of [
    ["openai/text-embedding-3-small", 256],
    ["google/gemini-embedding-001", 768],
  ] as const) {
    const configuration = { baseURL: `${gateway.url}/api/v1` };
    const settings = { model, dimensions, apiKey: gateway.key, configuration, batchSize: 2, maxRetries: 0 };
    const embeddings = new OpenAIEmbeddings(settings);
    const texts = ["A lighthouse by day.", "Prices of copper rose", "A lighthouse by night."];
    const vectors = await embeddings.embedDocuments(texts);
    expect(vectors.map(({ length }) => length)).toEqual(texts.map(() => dimensions));
    for (const [i, text] of texts.entries()) expect(await embeddings.embedQuery(text)).toEqual(vectors[i]!);
  }
});

test("the AI SDK gets the vector of one text and those of many, in their order, with the tokens that they cost", async () => {
  const provider = createOpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: gateway.key });
  const values = Array.from({ length: 10 }, (_, i) => `Text ${i}.`);
  for (const { id, length } of MODELS) {
    const model = provider.embedding(id);
    const many = await embedMany({ model, values, maxRetries: 0 });
    expect(many.embeddings.map((embedding) => embedding.length)).toEqual(values.map(() => length));
    const last = await embedOne({ model, value: values.at(-1)!, maxRetries: 0 });
    expect(last.embedding).toEqual(many.embeddings.at(-1)!);
    expect(many.usage.tokens).toBeGreaterThan(last.usage.tokens);
    expect(last.usage.tokens).toBeGreaterThan(0);
  }
});

test("a text that is a list of OpenAI's tokens has a vector, too", async () => {
  const { status, json } = await embed({ model: "openai/text-embedding-3-small", input: [[1, 2, 3], [4]] });
  expect([status, json.data.length, json.usage.prompt_tokens]).toEqual([200, 2, 4]);
});

test("one number is a vector of length one, and every length that a model lists is given", async () => {
  for (const [model, lengths] of [
    ["openai/text-embedding-3-small", [1, 2, 1_536]],
    ["google/gemini-embedding-001", [768, 1_536, 3_072]],
    ["alibaba/text-embedding-v4", [64, 128, 256, 512, 768, 1_024, 1_536, 2_048]],
    ["mistral/mistral-embed", [1_024]],
  ] as const) {
    for (const dimensions of lengths) {
      const { json } = await embed({ model, input: "One text.", dimensions });
      const [{ embedding }] = json.data;
      expect([model, embedding.length]).toEqual([model, dimensions]);
      expect(Math.hypot(...embedding)).toBeCloseTo(1, 4);
    }
  }
});

test("failures to order reach the client as what they are, and cost nothing", async () => {
  const before = (await gateway.account()).balance;
  for (const [fail, status, type] of [
    ["rate_limit", 429, "rate_limit_error"],
    ["overloaded", 503, "overloaded_error"],
    ["timeout", 504, "timeout_error"],
    ["moderation", 400, "content_moderation"],
  ] as const) {
    for (const model of ["openai/text-embedding-3-small", "google/gemini-embedding-001"]) {
      const answer = await embed({ model, input: "a" }, { headers: { "x-sandbox": `fail=${fail}` } });
      expect([fail, answer.status, answer.json.error.type]).toEqual([fail, status, type]);
    }
  }
  await gateway.settled();
  expect((await gateway.account()).balance).toBe(before);
});

test("models of embeddings are rows of their own category, which can be asked for alone", async () => {
  const list = async (query: string): Promise<{ status: number; json: Json }> => {
    const headers = { authorization: `Bearer ${gateway.key}` };
    const response = await fetch(`${gateway.url}/api/v1/models${query}`, { headers });
    return { status: response.status, json: await response.json() };
  };
  const { json } = await list("?category=embedding");
  expect(json.data.map(({ id }: Json) => id).toSorted()).toEqual(MODELS.map(({ id }) => id).toSorted());
  for (const row of json.data) {
    expect(row).toMatchObject({ category: "embedding", supported_protocols: [], formats: {} });
    expect(row.parameter_schema.required).toEqual(["model", "input"]);
    const { documentation_url: page } = row;
    expect(await (await fetch(page)).text()).toContain("/api/v1/embeddings");
    const alone = await list(`/${row.id}?category=embedding`);
    expect([alone.status, alone.json.unique_id]).toEqual([200, `embedding/${row.id}`]);
  }
  expect((await list("?category=language")).json.data).toHaveLength(13);
  const strange = await list("?category=song");
  expect([strange.status, strange.json.error.param]).toEqual([404, "category"]);
  expect(await (await fetch(`${gateway.url}/llms.txt`)).text()).toContain("## Embedding models");
  const openapi: Json = await (await fetch(`${gateway.url}/openapi.json`)).json();
  expect(Object.keys(openapi.paths["/api/v1/embeddings"].post.responses)).toContain("402");
});
