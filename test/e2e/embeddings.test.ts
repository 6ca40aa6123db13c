import { afterAll, beforeAll, expect, test } from "bun:test";
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
