import { describe, expect, test } from "bun:test";
import { createFakeClock } from "../../../test/gateway/fake-clock.ts";
import type { Model } from "../../core/model.ts";
import {
  COMPATIBLE_EMBEDDINGS,
  type EmbeddingDialect,
  GEMINI_EMBEDDINGS,
  OPENAI_EMBEDDINGS,
} from "../../protocols/embeddings/dialect.ts";
import type { OutboundRequest } from "../../runtime/fetch.ts";
import { answerEmbeddings } from "./embeddings.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- wire data of a test
type Json = any;

const MODEL = {
  id: "v/m",
  totalContext: 10,
  embedding: { dimensions: 8, otherDimensions: [2, 4], mostTexts: 3, readsTokens: true },
} as unknown as Model;
const URL = "https://vendor.example/v1beta/models/m:batchEmbedContents";

async function ask(
  body: object,
  dialect: EmbeddingDialect = OPENAI_EMBEDDINGS,
  headers: Record<string, string> = {},
): Promise<{ readonly status: number; readonly json: Json }> {
  const request = {
    headers,
    signal: new AbortController().signal,
    body: [Buffer.from(JSON.stringify(body))],
  };
  const server = {
    clock: createFakeClock(),
    dialect,
    modelOf: (id: string) => (id === "m" ? MODEL : undefined),
  };
  const response = await answerEmbeddings(server, URL, request as unknown as OutboundRequest);
  return { status: response.status, json: await response.json() };
}

const vectorsOf = async (...texts: string[]): Promise<readonly number[][]> =>
  (await ask({ model: "m", input: texts })).json.data.map(({ embedding }: Json) => embedding);
const product = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, number, i) => sum + number * (b[i] ?? 0), 0);

describe("vectors", () => {
  test("have length one, are the same for the same text, and nearer where texts share words or parts of them", async () => {
    const [day = [], again, other] = await vectorsOf("bright day", "bright day", "copper ore");
    expect(again).toEqual(day);
    expect(Math.hypot(...day)).toBeCloseTo(1, 6);
    const [one, near, far] = await vectorsOf("lighthouse", "lighthouses", "volcano");
    expect(product(one!, near!)).toBeGreaterThan(product(one!, far!));
    expect(product(day, other!)).toBeLessThan(0.999);
  });

  test("of texts without a word are told apart as well, and those of the same words in other order", async () => {
    const [dots, marks, forth] = await vectorsOf("...", "!!!", "a b");
    const [back] = await vectorsOf("b a");
    expect(dots).not.toEqual(marks!);
    expect(back).not.toEqual(forth!);
    expect(product(back!, forth!)).toBeGreaterThan(0.99);
  });

  test("of a text are the same in every version: clients keep them", async () => {
    expect(await vectorsOf("One text.")).toEqual([
      [0.10993953, 0.78271306, -0.44779485, -0.22167479, -0.00004133, -0.11099745, 0.33658768, 0.00138728],
    ]);
  });
});

describe("a request in OpenAI's form", () => {
  const base = { model: "m", input: "One text." };

  test("is answered with a vector for each text or list of tokens, and what they come to", async () => {
    const { status, json } = await ask({
      ...base,
      input: ["One text.", [1, 2, 3]],
      user: "u",
      dimensions: 4,
    });
    expect(status).toBe(200);
    expect(json).toMatchObject({ object: "list", model: "m", usage: { prompt_tokens: 6, total_tokens: 6 } });
    expect(json.data.map(({ object, index, embedding }: Json) => [object, index, embedding.length])).toEqual([
      ["embedding", 0, 4],
      ["embedding", 1, 4],
    ]);
    const [alone] = (await ask({ ...base, input: [1, 2, 3] })).json.data;
    const [words] = (await ask({ ...base, input: "1 2 3" })).json.data;
    expect(alone).toEqual(words);
    expect((await ask({ ...base, input: [1, 2, 3] })).json.usage.prompt_tokens).toBe(3);
  });

  test("is answered in base64 where the server has that", async () => {
    const { json } = await ask({ ...base, encoding_format: "base64" });
    expect(Buffer.from(json.data[0].embedding, "base64").length).toBe(32);
    const other = await ask({ ...base, encoding_format: "base64" }, COMPATIBLE_EMBEDDINGS);
    expect([other.status, other.json.error.param]).toEqual([400, "encoding_format"]);
  });

  const refused: readonly (readonly [
    name: string,
    body: object,
    param: string,
    dialect?: EmbeddingDialect,
  ])[] = [
    ["a field that is not known", { ...base, oddity: 1 }, "oddity"],
    ["another encoding", { ...base, encoding_format: "int8" }, "encoding_format"],
    ["an item that is no text", { ...base, input: ["a", { a: 1 }] }, "input"],
    ["an empty list of tokens", { ...base, input: ["a", []] }, "input"],
    ["tokens that are no numbers", { ...base, input: [[1, 1.5]] }, "input"],
    ["tokens at another server", { ...base, input: [[1, 2]] }, "input", COMPATIBLE_EMBEDDINGS],
    ["no text", { ...base, input: [] }, "input"],
    ["an empty text", { ...base, input: ["a", ""] }, "input"],
    ["too many texts", { ...base, input: ["a", "b", "c", "d"] }, "input"],
    ["a text far beyond the context", { ...base, input: "word ".repeat(17) }, "input"],
    ["another length", { ...base, dimensions: 3 }, "dimensions"],
  ];
  for (const [name, body, param, dialect] of refused)
    test(`is refused with ${name}`, async () => {
      const { status, json } = await ask(body, dialect);
      const code = name.includes("context") ? "context_length_exceeded" : null;
      expect([status, json.error]).toEqual([
        400,
        { message: expect.any(String), type: "invalid_request_error", param, code },
      ]);
    });

  test("is taken at the bounds", async () => {
    for (const body of [
      { ...base, input: ["a", "b", "c"] },
      { ...base, input: "word ".repeat(16) },
      { ...base, dimensions: 8 },
      { ...base, dimensions: 2 },
    ])
      expect((await ask(body)).status).toBe(200);
  });

  test("for a model that the sandbox has not is a 404; failures come as ordered", async () => {
    const { status, json } = await ask({ ...base, model: "n" });
    expect([status, json.error.code, json.error.param]).toEqual([404, "model_not_found", "model"]);
    const ordered = await ask(base, OPENAI_EMBEDDINGS, { "x-sandbox": "fail=overloaded" });
    expect(ordered.status).toBeGreaterThanOrEqual(500);
  });
});

describe("a request in Google's form", () => {
  const request = (text: string, more: object = {}) => ({
    model: "models/m",
    content: { parts: [{ text }] },
    ...more,
  });

  test("is answered with the values of each, as long as all ask for", async () => {
    const { status, json } = await ask(
      { requests: [request("a", { outputDimensionality: 2 }), request("b", { outputDimensionality: 2 })] },
      GEMINI_EMBEDDINGS,
    );
    expect([status, json.usageMetadata]).toEqual([200, { promptTokenCount: expect.any(Number) }]);
    expect(json.embeddings.map(({ values }: Json) => values.length)).toEqual([2, 2]);
    const parts = {
      requests: [{ model: "models/m", content: { parts: [{ text: "One " }, { text: "text." }] } }],
    };
    const [{ values }] = (await ask(parts, GEMINI_EMBEDDINGS)).json.embeddings;
    expect(values).toEqual((await vectorsOf("One text."))[0]);
  });

  test("is refused where its requests differ in their model or their length", async () => {
    for (const requests of [
      [request("a"), request("b", { model: "models/n" })],
      [request("a", { outputDimensionality: 2 }), request("b")],
    ]) {
      const { status, json } = await ask({ requests }, GEMINI_EMBEDDINGS);
      expect([status, json.error.status, json.error.param]).toEqual([400, "INVALID_ARGUMENT", "requests"]);
    }
  });
});
