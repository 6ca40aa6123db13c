import { describe, expect, test } from "bun:test";
import { inputTokens, outputTokens } from "../../core/money/usage.ts";
import { encodeUsage, readUsage, searchesOf } from "./usage.ts";

const of = (value: object) => readUsage(value);

describe("counts become disjoint buckets", () => {
  const cases: readonly [string, object, object][] = [
    [
      "thinking is beside the candidates",
      { promptTokenCount: 20, candidatesTokenCount: 198, thoughtsTokenCount: 405, totalTokenCount: 623 },
      { input: 20, output: 198, reasoning: 405 },
    ],
    [
      "thinking alone",
      { promptTokenCount: 20, thoughtsTokenCount: 30, totalTokenCount: 50 },
      { input: 20, output: 0, reasoning: 30 },
    ],
    [
      "what is cached is part of the prompt",
      { promptTokenCount: 100, cachedContentTokenCount: 60, candidatesTokenCount: 1, totalTokenCount: 101 },
      { input: 40, cacheRead: 60, output: 1 },
    ],
    [
      "what tools read is beside the prompt",
      { promptTokenCount: 10, toolUsePromptTokenCount: 61, candidatesTokenCount: 1, totalTokenCount: 72 },
      { input: 71, output: 1 },
    ],
    [
      "audio and images in",
      {
        promptTokenCount: 100,
        promptTokensDetails: [
          { modality: "TEXT", tokenCount: 10 },
          { modality: "AUDIO", tokenCount: 50 },
          { modality: "IMAGE", tokenCount: 40 },
        ],
      },
      { input: 10, audioInput: 50, imageInput: 40 },
    ],
    [
      "video and documents are plain input",
      {
        promptTokenCount: 100,
        promptTokensDetails: [
          { modality: "VIDEO", tokenCount: 50 },
          { modality: "DOCUMENT", tokenCount: 50 },
        ],
      },
      { input: 100, audioInput: 0, imageInput: 0 },
    ],
    [
      "audio that was cached is cached",
      {
        promptTokenCount: 100,
        cachedContentTokenCount: 60,
        promptTokensDetails: [{ modality: "AUDIO", tokenCount: 80 }],
        cacheTokensDetails: [{ modality: "AUDIO", tokenCount: 60 }],
      },
      { input: 20, cacheRead: 60, audioInput: 20 },
    ],
    [
      "audio that was cached, nobody says how much",
      {
        promptTokenCount: 100,
        cachedContentTokenCount: 60,
        promptTokensDetails: [{ modality: "AUDIO", tokenCount: 80 }],
      },
      { input: 0, cacheRead: 60, audioInput: 40 },
    ],
    [
      "images that tools read",
      {
        promptTokenCount: 10,
        toolUsePromptTokenCount: 20,
        toolUsePromptTokensDetails: [{ modality: "IMAGE", tokenCount: 15 }],
      },
      { input: 15, imageInput: 15 },
    ],
    [
      "images out",
      { candidatesTokenCount: 1355, candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 1290 }] },
      { output: 65, imageOutput: 1290 },
    ],
    [
      "audio out",
      { candidatesTokenCount: 90, candidatesTokensDetails: [{ modality: "AUDIO", tokenCount: 90 }] },
      { output: 0, audioOutput: 90 },
    ],
    [
      "modalities as numbers",
      {
        promptTokenCount: 521,
        promptTokensDetails: [
          { modality: 2, tokenCount: 516 },
          { modality: 1, tokenCount: 5 },
        ],
      },
      { input: 5, imageInput: 516 },
    ],
  ];
  for (const [name, told, usage] of cases) {
    test(name, () => {
      const metered = of(told);
      expect(metered?.usage).toMatchObject(usage);
      expect(metered?.flags).toEqual([]);
    });
  }

  test("all of the total is charged: what it counts and nobody names is output", () => {
    const metered = of({ promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 40 });
    expect(metered).toMatchObject({ usage: { input: 10, output: 30 }, flags: ["inferred"] });
  });

  test("usage that counts nothing is none", () => {
    expect(of({ trafficType: "ON_DEMAND" })).toBeUndefined();
    expect(readUsage(null)).toBeUndefined();
    expect(readUsage([])).toBeUndefined();
  });

  const impossible = [
    { promptTokenCount: -1 },
    { promptTokenCount: 1.5 },
    { candidatesTokenCount: 1e12 },
    { promptTokenCount: 5, cachedContentTokenCount: 6 },
    { candidatesTokenCount: 5, candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 6 }] },
    { promptTokenCount: 5, thoughtsTokenCount: "7" },
  ];
  for (const told of impossible) {
    test(`what cannot be is clamped and flagged: ${JSON.stringify(told)}`, () => {
      const metered = of(told);
      expect(metered?.flags).toContain("clamped");
      for (const count of Object.values(metered?.usage ?? {})) expect(count).toBeWithin(0, 100_000_001);
    });
  }
});

test("usage that is written adds up, and is read as the same", () => {
  const { usage } =
    of({
      promptTokenCount: 100,
      cachedContentTokenCount: 60,
      candidatesTokenCount: 7,
      thoughtsTokenCount: 3,
    }) ?? {};
  if (usage === undefined) throw new Error("no usage");
  const written = encodeUsage(usage);
  expect(written.totalTokenCount).toBe(inputTokens(usage) + outputTokens(usage));
  expect(readUsage(written)).toEqual({ usage, flags: [] });
});

test("searches are counted once each, empty ones not at all", () => {
  expect(searchesOf({ webSearchQueries: ["", "a", "b", "a", 1] })).toEqual(["a", "b"]);
  // Images are searched for beside pages, also by the same words.
  expect(searchesOf({ webSearchQueries: ["a"], imageSearchQueries: ["a", "b", "", 1] }).length).toBe(3);
  for (const none of [undefined, null, {}, { webSearchQueries: "a", imageSearchQueries: {} }])
    expect(searchesOf(none)).toEqual([]);
});
