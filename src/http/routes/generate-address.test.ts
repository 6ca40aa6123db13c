import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../core/errors.ts";
import { readGenerateAddress } from "./generate-address.ts";

const PLAIN = { model: "google/gemini", verb: "generateContent" } as const;

describe("paths of generateContent", () => {
  const read: readonly [string, { readonly model: string; readonly verb: string }][] = [
    ["/api/v1/models/google/gemini:generateContent", PLAIN],
    ["/api/v1/models/google/gemini:streamGenerateContent", { ...PLAIN, verb: "streamGenerateContent" }],
    ["/api/v1/models/google%2Fgemini:generateContent", PLAIN],
    ["/api/v1/models/google/gemini:countTokens", { ...PLAIN, verb: "countTokens" }],
    ["/api/v1/google%2Fgemini%3acountTokens", { ...PLAIN, verb: "countTokens" }],
    ["/api/v1/models/google%2fgemini%3agenerateContent", PLAIN],
    ["/api/v1/models/google/gemini%3AgenerateContent", PLAIN],
    ["/api/v1/models/a/b/c:generateContent", { ...PLAIN, model: "a/b/c" }],
    ["/api/v1/models/ollama/qwen:7b:generateContent", { ...PLAIN, model: "ollama/qwen:7b" }],
    ["/api/v1/models/ollama/qwen%3A7b%3AgenerateContent", { ...PLAIN, model: "ollama/qwen:7b" }],
    ["/api/v1/models/ollama/qwen:7b%3AgenerateContent", { ...PLAIN, model: "ollama/qwen:7b" }],
    ["/api/v1/models/ollama/qwen%3A7b:generateContent", { ...PLAIN, model: "ollama/qwen:7b" }],
    ["/api/v1/models/gemini:generateContent", { ...PLAIN, model: "gemini" }],
    ["/api/v1/google/gemini:generateContent", PLAIN],
    ["/api/v1/google%2Fgemini:generateContent", PLAIN],
    ["/api/v1/models/models/google/gemini:generateContent", { ...PLAIN, model: "models/google/gemini" }],
    ["/api/v1/models/google%252Fgemini:generateContent", { ...PLAIN, model: "google%2Fgemini" }],
    ["/api/v1/models/..%2f..%2fadmin:generateContent", { ...PLAIN, model: "../../admin" }],
    ["/api/v1/models/a%5Cb:generateContent", { ...PLAIN, model: "a\\b" }],
  ];
  for (const [path, address] of read) {
    test(path, () => {
      for (const method of ["POST", "GET", "DELETE"])
        expect(readGenerateAddress(path, method)).toEqual(address as typeof PLAIN);
    });
  }

  const others = [
    "/api/v1/chat/completions",
    "/api/v1/models",
    "/api/v1/models/",
    "/api/v1/models/google/gemini",
    "/api/v1/models/:generateContent",
    "/api/v1/gemini:generateContent",
    "/api/v1/google/gemini:embedContent",
    "/api/v2/models/google/gemini:generateContent",
    "/api/v1beta1/models/google/gemini:generateContent",
    "/API/v1/models/google/gemini:generateContent",
    "/x/api/v1/models/google/gemini:generateContent",
    "/api/v1/models/google/gemini:generateContent/",
    "/api/v1/models/google/gemini:generateContent%20x/y",
    "/healthz",
  ];
  for (const path of others) {
    test(`not ${path}`, () => {
      expect(readGenerateAddress(path, "GET")).toBeUndefined();
      if (!path.includes("models/")) expect(readGenerateAddress(path, "POST")).toBeUndefined();
    });
  }

  for (const verb of ["embedContent", "counttokens", "GenerateContent", "generatecontent", "7b", ""]) {
    test(`a POST with the verb ${JSON.stringify(verb)} is a 404 that names the three`, () => {
      const post = () => readGenerateAddress(`/api/v1/models/google/gemini:${verb}`, "POST");
      expect(post).toThrow(GatewayError);
      expect(post).toThrow("generateContent, streamGenerateContent, countTokens");
    });
  }
});
