import { describe, expect, test } from "bun:test";
import type { ThinkingFacts } from "../../core/model.ts";
import type { ThinkingFields } from "../chat-dialect.ts";
import { readWish, sayThinking } from "./thinking.ts";

const KIMI_K3: Partial<ThinkingFacts> = { efforts: ["low", "high", "max"], canBeOff: false };
const GROK: Partial<ThinkingFacts> = { efforts: ["low", "medium", "high"], canBeOff: false };
const DEEPSEEK_V4: Partial<ThinkingFacts> = { efforts: ["low", "high", "max"] };
const GLM: Partial<ThinkingFacts> = { efforts: ["high", "max"] };
const NO_DIAL: Partial<ThinkingFacts> = { efforts: [], canBeOff: false };

const EFFORT: ThinkingFields = { effort: "reasoning_effort" };
const SWITCHED: ThinkingFields = { effort: "reasoning_effort", toggle: "thinking" };
const QWEN: ThinkingFields = { toggle: "enable_thinking", budget: "thinking_budget" };
const OPENROUTER: ThinkingFields = { effort: "reasoning", toggle: "reasoning", budget: "reasoning" };

interface Case {
  readonly name: string;
  readonly body: object;
  readonly words: ThinkingFields;
  readonly model?: Partial<ThinkingFacts>;
  readonly says: object;
  readonly warns?: RegExp;
}

const cases: readonly Case[] = [
  {
    name: "an effort as it is",
    body: { reasoning_effort: "low" },
    words: EFFORT,
    says: { reasoning_effort: "low" },
  },
  {
    name: "an effort nobody has heard of, to a model of which nothing is known",
    body: { reasoning_effort: "ultra" },
    words: EFFORT,
    says: { reasoning_effort: "ultra" },
  },
  {
    name: "the nearest effort, of two the higher",
    body: { reasoning: { effort: "medium" } },
    words: SWITCHED,
    model: KIMI_K3,
    says: { reasoning_effort: "high" },
    warns: /medium became high/,
  },
  {
    name: "the most that there is for more",
    body: { reasoning_effort: "max" },
    words: EFFORT,
    model: GROK,
    says: { reasoning_effort: "high" },
    warns: /max became high/,
  },
  {
    name: "the least that there is for less",
    body: { reasoning_effort: "minimal" },
    words: SWITCHED,
    model: GLM,
    says: { reasoning_effort: "high" },
    warns: /minimal became high/,
  },
  {
    name: "a small budget",
    body: { thinking: { type: "enabled", budget_tokens: 3_999 } },
    words: EFFORT,
    says: { reasoning_effort: "low" },
  },
  {
    name: "a middling budget",
    body: { thinking: { budget_tokens: 4_000 } },
    words: EFFORT,
    says: { reasoning_effort: "medium" },
  },
  {
    name: "a large budget",
    body: { reasoning: { max_tokens: 16_000 } },
    words: EFFORT,
    says: { reasoning_effort: "high" },
  },
  {
    name: "the largest budget, to a model that has max",
    body: { reasoning: { max_tokens: 48_000 } },
    words: EFFORT,
    model: DEEPSEEK_V4,
    says: { reasoning_effort: "max" },
  },
  {
    name: "the largest budget, to one that has not",
    body: { reasoning: { max_tokens: 48_000 } },
    words: EFFORT,
    model: GROK,
    says: { reasoning_effort: "high" },
  },
  {
    name: "a switch and an effort",
    body: { thinking: { type: "enabled", budget_tokens: 2_000 } },
    words: SWITCHED,
    model: DEEPSEEK_V4,
    says: { thinking: { type: "enabled" }, reasoning_effort: "low" },
  },
  {
    name: "switched off",
    body: { thinking: { type: "disabled" } },
    words: SWITCHED,
    model: DEEPSEEK_V4,
    says: { thinking: { type: "disabled" } },
  },
  {
    name: "switched off by effort none",
    body: { reasoning_effort: "none" },
    words: SWITCHED,
    model: GLM,
    says: { thinking: { type: "disabled" } },
  },
  {
    name: "switched off by reasoning",
    body: { reasoning: { enabled: false } },
    words: QWEN,
    says: { enable_thinking: false },
  },
  {
    name: "switched off where only an effort is known",
    body: { thinking: { type: "disabled" } },
    words: EFFORT,
    says: { reasoning_effort: "none" },
  },
  {
    name: "a model that cannot be switched off",
    body: { thinking: { type: "disabled" } },
    words: SWITCHED,
    model: KIMI_K3,
    says: {},
    warns: /was not switched off/,
  },
  {
    name: "a model without a dial",
    body: { reasoning_effort: "high" },
    words: EFFORT,
    model: NO_DIAL,
    says: {},
    warns: /cannot be told/,
  },
  {
    name: "an effort as a budget",
    body: { reasoning_effort: "low" },
    words: QWEN,
    says: { enable_thinking: true, thinking_budget: 3_072 },
  },
  {
    name: "the most as no budget",
    body: { reasoning_effort: "max" },
    words: QWEN,
    says: { enable_thinking: true },
  },
  {
    name: "a budget as it is",
    body: { thinking: { type: "enabled", budget_tokens: 777 } },
    words: QWEN,
    says: { enable_thinking: true, thinking_budget: 777 },
  },
  {
    name: "OpenRouter's effort",
    body: { reasoning_effort: "low" },
    words: OPENROUTER,
    says: { reasoning: { effort: "low" } },
  },
  {
    name: "OpenRouter finds the model's effort itself",
    body: { reasoning_effort: "medium" },
    words: OPENROUTER,
    model: KIMI_K3,
    says: { reasoning: { effort: "medium" } },
  },
  {
    name: "OpenRouter's budget",
    body: { thinking: { type: "enabled", budget_tokens: 5 } },
    words: OPENROUTER,
    says: { reasoning: { enabled: true, max_tokens: 5 } },
  },
  {
    name: "OpenRouter's silence",
    body: { reasoning: { exclude: true } },
    words: OPENROUTER,
    says: { reasoning: { exclude: true } },
  },
  {
    name: "silence that nobody else has",
    body: { reasoning: { effort: "low", exclude: true } },
    words: EFFORT,
    says: { reasoning_effort: "low" },
    warns: /exclude/,
  },
  {
    name: "adaptive thinking",
    body: { thinking: { type: "adaptive" } },
    words: SWITCHED,
    says: { thinking: { type: "enabled" } },
  },
  {
    name: "the reference's own word before the others",
    body: { reasoning: { effort: "high" }, reasoning_effort: "low" },
    words: EFFORT,
    says: { reasoning_effort: "low" },
  },
];

describe("what is said of thinking, in a vendor's words", () => {
  for (const { name, body, words, model, says, warns } of cases) {
    test(name, () => {
      const wish = readWish(body as Record<string, unknown>);
      if (wish === undefined) throw new Error("nothing was said");
      const known: ThinkingFacts = {
        canBeOff: true,
        streamedOnly: false,
        reasoningBackAlways: false,
        ...model,
      };
      const warnings: string[] = [];
      const facts = model === undefined ? undefined : known;
      const said = sayThinking(wish, words, facts, (sentence) => warnings.push(sentence));
      expect(said).toEqual(says as Record<string, unknown>);
      if (warns === undefined) expect(warnings).toEqual([]);
      else expect(warnings.join()).toMatch(warns);
    });
  }

  test("nothing said is nothing", () => {
    expect(readWish({})).toBeUndefined();
    expect(readWish({ reasoning: null, reasoning_effort: null, thinking: null })).toBeUndefined();
  });
});
