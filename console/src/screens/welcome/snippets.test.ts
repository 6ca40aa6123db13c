import { expect, test } from "bun:test";
import { LANGUAGES, SNIPPETS } from "./search.ts";
import { callable, exportLine, installOf, modelFor, snippetOf } from "./snippets.ts";

const call = { url: "https://gateway.example/", model: "openai/gpt-5.6-luna" };

test("each snippet has the base address that its client needs", () => {
  expect(snippetOf("curl", "typescript", call)).toContain("https://gateway.example/api/v1/chat/completions ");
  for (const language of LANGUAGES) {
    expect(snippetOf("openai", language, call)).toContain('"https://gateway.example/api/v1"');
    expect(snippetOf("anthropic", language, call)).toContain('"https://gateway.example/api"');
    expect(snippetOf("google", language, call)).toContain('"https://gateway.example/api"');
    expect(snippetOf("google", language, call)).toMatch(/api_?[vV]ersion\W+"?v1"/);
  }
});

test("each snippet names the model and reads the key from the environment", () => {
  for (const { id } of SNIPPETS)
    for (const language of LANGUAGES) {
      expect(snippetOf(id, language, call)).toContain('"openai/gpt-5.6-luna"');
      expect(snippetOf(id, language, call)).toContain("SWITCHYARD_KEY");
    }
});

test("the body of the curl call is the JSON that it looks like", () => {
  const [, body = ""] = /-d '(.*)'$/.exec(snippetOf("curl", "python", call)) ?? [];
  expect(JSON.parse(body)).toEqual({
    model: "openai/gpt-5.6-luna",
    messages: [{ role: "user", content: "Say hello." }],
  });
});

test("a snippet of an SDK says what installs it", () => {
  expect(installOf("curl", "python")).toBeUndefined();
  expect(installOf("google", "typescript")).toBe("npm install @google/genai");
  expect(installOf("google", "python")).toBe("pip install google-genai");
});

test("a shell is given the key by one line", () => {
  expect(exportLine("sk-1")).toBe("export SWITCHYARD_KEY=sk-1");
});

test("a snippet names a model of its own vendor, else the first that answers in text", () => {
  const model = (id: string, vendor: string, category = "language", output = ["text"]) => ({
    id,
    vendor,
    category,
    output_modalities: output,
  });
  const models = callable([
    model("image", "openai", "image", ["image"]),
    model("both", "google", "language", ["text", "image"]),
    model("glm", "zhipu"),
    model("claude", "anthropic"),
  ]);
  expect(models.map(({ id }) => id)).toEqual(["glm", "claude"]);
  expect(modelFor("anthropic", models, "openai/gpt-5.6-luna")).toBe("claude");
  expect(modelFor("google", models, "openai/gpt-5.6-luna")).toBe("glm");
  expect(modelFor("curl", [], "openai/gpt-5.6-luna")).toBeUndefined();
});

test("a first call names the model of the greeting, else the first of its vendor", () => {
  const model = (vendor: string, name: string) => ({
    id: `${vendor}/${name}`,
    vendor,
    category: "language",
    output_modalities: ["text"],
  });
  const [glm, sol, luna] = [
    model("zhipu", "glm-5"),
    model("openai", "gpt-5.6-sol"),
    model("openai", "gpt-5.6-luna"),
  ] as const;
  expect(modelFor("curl", [glm, sol, luna], "openai/gpt-5.6-luna")).toBe(luna.id);
  expect(modelFor("curl", [glm, sol], "openai/gpt-5.6-luna")).toBe(sol.id);
  expect(modelFor("google", [glm, sol, luna], "openai/gpt-5.6-luna")).toBe(luna.id);
});
