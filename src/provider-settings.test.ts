import { describe, expect, test } from "bun:test";
import { PROVIDERS } from "./providers/registry.ts";
import { readProviders } from "./provider-settings.ts";

/** The settings of one provider at an address of its own, with one model. */
const read = (model: object, more: object = {}) => {
  const section = { base_url: "http://127.0.0.1:1/v1", ...more, models: [model] } as never;
  return readProviders("providers", { local: section }, {}, PROVIDERS);
};
const VECTOR = {
  id: "local/vector",
  category: "embedding",
  total_context: 512,
  embedding: { dimensions: 8, other_dimensions: [4] },
  prices: { input: 1 },
};

describe("an embedding model of the operator's", () => {
  test("is asked for at its provider's address of chat completions, in numbers", () => {
    const { providers, models } = read(VECTOR, { api_key: "sk-local-0123456789" });
    expect(models[0]).toMatchObject({
      uniqueId: "embedding/local/vector",
      supportedProtocols: [],
      outputModalities: [],
      totalContext: 512,
      embedding: { dimensions: 8, otherDimensions: [4], mostTexts: 2_048, readsTokens: false },
    });
    expect(providers.get("local")?.embeddings).toMatchObject({
      baseUrl: "http://127.0.0.1:1/v1",
      headers: { authorization: "Bearer sk-local-0123456789" },
      dialect: { kind: "compatible", form: "openai", base64: false, unknownFields: "remove" },
    });
    const passing = read(VECTOR, { unknown_fields: "pass" }).providers.get("local");
    expect(passing?.embeddings?.dialect.unknownFields).toBe("pass");
  });

  test("stands beside language models of the same provider", () => {
    const section = {
      base_url: "http://127.0.0.1:1/v1",
      models: [VECTOR, { id: "local/words", prices: { input: 1, output: 1 } }],
    } as never;
    const { models } = readProviders("providers", { local: section }, {}, PROVIDERS);
    expect(models.map(({ uniqueId }) => uniqueId)).toEqual([
      "embedding/local/vector",
      "language/local/words",
    ]);
  });

  const wrongs = [
    { name: "has no facts", model: { ...VECTOR, embedding: undefined }, says: "embedding is what" },
    { name: "is called a language model", model: { ...VECTOR, category: "language" }, says: "prices.output" },
    { name: "has no price", model: { ...VECTOR, prices: {} }, says: "prices.input is missing" },
    {
      name: "names formats",
      model: { ...VECTOR, protocols: ["chat_completions"] },
      says: "an embedding model has no protocols",
    },
    {
      name: "has a range that ends before it begins",
      model: { ...VECTOR, embedding: { dimensions: 8, other_dimensions: { from: 8, to: 4 } } },
      says: "other_dimensions ends before it begins",
    },
  ];
  for (const { name, model, says } of wrongs)
    test(`that ${name} is refused`, () => expect(() => read(model)).toThrow(says));

  test("of a provider that speaks messages alone is refused", () =>
    expect(() => read(VECTOR, { protocol: "messages" })).toThrow("its provider speaks chat_completions"));
});

test("a language model with facts of embeddings is refused", () =>
  expect(() =>
    read({ id: "local/words", embedding: { dimensions: 8 }, prices: { input: 1, output: 1 } }),
  ).toThrow("embedding is what embedding models have"));
