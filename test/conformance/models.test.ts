import { describe, expect, test } from "bun:test";
import type { Json } from "../gateway/gateway.ts";
import { openInterface } from "./interface.ts";
import { describeTable } from "./spec-tables.ts";

const api = openInterface();
const PROTOCOLS = ["compat_chat_completions", "compat_messages", "compat_generate_content"];
const MODALITIES = ["text", "image", "audio", "video", "pdf"];

async function rows(): Promise<Json[]> {
  const { status, json } = await api.get("/api/v1/models");
  expect([status, json.object]).toEqual([200, "list"]);
  // The catalogue, and the model of the local server.
  expect(json.data.length).toBe(26 + 1);
  return json.data;
}

/** Checks one field of every model, as it is listed and as it is read alone. */
async function eachModel(check: (model: Json) => void): Promise<void> {
  const { models }: Json = (await api.get("/api/v1/models")).json;
  for (const model of await rows()) {
    check(model);
    const google = models.find(({ name }: Json) => name === `models/${model.id}`);
    const alone = await api.get(`/api/v1/models/${model.id}?category=${model.category}`);
    expect(alone.json).toEqual({ ...model, ...google });
  }
}

const isTextOrNumber = (value: unknown): boolean =>
  value === null || (typeof value === "number" && Number.isInteger(value) && value > 0);

describeTable(
  { heading: "Model", column: "Field" },
  {
    id: () => eachModel(({ id }) => expect(id).toMatch(/^[a-z0-9-]+\/[a-z0-9./-]+$/)),
    unique_id: () => eachModel(({ id, category, unique_id }) => expect(unique_id).toBe(`${category}/${id}`)),
    object: () => eachModel(({ object }) => expect(object).toBe("model")),
    async category() {
      await eachModel(({ category }) =>
        expect(["language", "image", "video", "embedding"]).toContain(category),
      );
      const count = async (wanted: string): Promise<number> =>
        (await rows()).filter(({ category }) => category === wanted).length;
      expect([await count("language"), await count("image"), await count("video")]).toEqual([13 + 1, 5, 3]);
      expect(await count("embedding")).toBe(5);
    },
    display_name: () => eachModel(({ display_name }) => expect(display_name).toMatch(/\S/)),
    vendor: () => eachModel(({ id, vendor }) => expect(id).toStartWith(`${vendor}/`)),
    supported_protocols: () =>
      eachModel(({ category, supported_protocols }) => {
        expect(supported_protocols.length > 0).toBe(category === "language");
        for (const protocol of supported_protocols) expect(PROTOCOLS).toContain(protocol);
      }),
    input_modalities: () =>
      eachModel(({ input_modalities }) => {
        expect(input_modalities).toContain("text");
        for (const modality of input_modalities) expect(MODALITIES).toContain(modality);
      }),
    output_modalities: () =>
      eachModel(({ category, output_modalities }) => {
        const made = { language: ["text", "image"], image: ["image"], video: ["video"] }[category as string];
        // A vector is none of the kinds that there are.
        expect(output_modalities.length > 0).toBe(category !== "embedding");
        for (const modality of output_modalities) expect(made).toContain(modality);
      }),
    total_context: () => eachModel(({ total_context }) => expect(isTextOrNumber(total_context)).toBe(true)),
    max_output: () => eachModel(({ max_output }) => expect(isTextOrNumber(max_output)).toBe(true)),
    parameter_schema: () =>
      eachModel(({ parameter_schema }) => expect(parameter_schema).toMatchObject({ type: "object" })),
    async documentation_url() {
      await eachModel(({ category, id, documentation_url }) =>
        expect(documentation_url).toBe(`${api.gateway.url}/docs/${category}/${id}/llms.txt`),
      );
      for (const { documentation_url } of await rows())
        expect((await fetch(documentation_url)).status).toBe(200);
    },
  },
);

describeTable(
  { heading: "What the service does", column: "Endpoint" },
  {
    // With a provider live that speaks chat completions for every one of them.
    async "chat completions"() {
      const served = (await rows()).filter(({ supported_protocols: [...of] }) =>
        of.includes("compat_chat_completions"),
      );
      expect(served.filter(({ id }) => !id.startsWith("local/")).length).toBe(13);
    },
    messages: async () => expect(await servedBy("compat_messages")).toHaveLength(3),
    generateContent: async () => expect(await servedBy("compat_generate_content")).toHaveLength(2),
  },
  ["image generations", "videos"],
);

async function servedBy(protocol: string): Promise<string[]> {
  return (await rows())
    .filter(({ supported_protocols }) => supported_protocols.includes(protocol))
    .map(({ id }) => id);
}

describe("GET /api/v1/models/{model}", () => {
  const ID = "openai/gpt-6-astra";
  test("the id with plain slashes, %2F and %2f, with and without category", async () => {
    for (const path of [ID, "openai%2Fgpt-6-astra", "openai%2fgpt-6-astra", `${ID}?category=language`]) {
      const { status, json } = await api.get(`/api/v1/models/${path}`);
      expect([status, json.id]).toEqual([200, ID]);
    }
  });

  test("an unknown model, a model of another category and an unknown category are 404", async () => {
    for (const path of ["nobody/nothing", "openai", `${ID}?category=video`, `${ID}?category=smell`]) {
      const { status, json } = await api.get(`/api/v1/models/${path}`);
      expect([status, json.error.type]).toEqual([404, "not_found_error"]);
    }
  });

  test("needs a key, as the list does", async () => {
    for (const path of ["/api/v1/models", `/api/v1/models/${ID}`])
      expect((await fetch(api.gateway.url + path)).status).toBe(401);
  });
});
