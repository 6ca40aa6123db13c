import { expect, test } from "bun:test";
import { wireRequest } from "../../../test/protocols/wire-request.ts";
import type { Model, ThinkingFacts } from "../../core/model.ts";
import { COMPATIBLE_CHAT, type ThinkingFields } from "../chat-dialect.ts";
import { demandAt } from "./reasoning-on-top.ts";
import { readRequest } from "./request.ts";

const QWEN: ThinkingFields = { toggle: "enable_thinking", budget: "thinking_budget" };
const GROK: ThinkingFields = { effort: "reasoning_effort" };
const OPENROUTER: ThinkingFields = { effort: "reasoning", toggle: "reasoning", budget: "reasoning" };

interface Case {
  readonly name: string;
  readonly body: object;
  readonly words: ThinkingFields;
  readonly facts?: ThinkingFacts;
  readonly boundsReasoning?: boolean;
  /** Reasoning on top of the bound; absent is none. */
  readonly most?: number;
}

const cases: readonly Case[] = [
  { name: "a bound that counts reasoning has none on top", body: {}, words: GROK, boundsReasoning: true },
  { name: "nothing said of thinking", body: {}, words: GROK, most: Infinity },
  { name: "an effort bounds nothing", body: { reasoning_effort: "low" }, words: GROK, most: Infinity },
  {
    name: "what cannot be switched off",
    body: { reasoning_effort: "none" },
    words: GROK,
    facts: { efforts: ["low", "high"], canBeOff: false },
    most: Infinity,
  },
  { name: "switched off by a word", body: { reasoning_effort: "none" }, words: GROK },
  { name: "switched off by name", body: { thinking: { type: "disabled" } }, words: QWEN },
  { name: "switched off in the vendor's own word", body: { enable_thinking: false }, words: QWEN },
  {
    name: "the interface's word stands before the vendor's",
    body: { enable_thinking: false, reasoning: { enabled: true } },
    words: QWEN,
    most: Infinity,
  },
  { name: "a budget", body: { reasoning: { max_tokens: 700 } }, words: QWEN, most: 700 },
  { name: "the vendor's own budget", body: { thinking_budget: 800 }, words: QWEN, most: 800 },
  { name: "a budget that is none", body: { thinking_budget: "800" }, words: QWEN, most: Infinity },
  {
    name: "a router's budget is a wish",
    body: { reasoning: { max_tokens: 700 } },
    words: OPENROUTER,
    most: Infinity,
  },
  { name: "a model that thinks in streams only", body: {}, words: QWEN, facts: { streamedOnly: true } },
  {
    name: "the same, streamed",
    body: { stream: true },
    words: QWEN,
    facts: { streamedOnly: true },
    most: Infinity,
  },
];

for (const { name, body, words, facts, boundsReasoning = false, most } of cases) {
  test(`reasoning on top of the bound: ${name}`, () => {
    const sent = { model: "v/m", messages: [{ role: "user", content: "hi" }], max_tokens: 5, ...body };
    const target = {
      model: { id: "v/m", ...(facts === undefined ? {} : { thinking: facts }) } as unknown as Model,
      upstreamId: "up",
      unknownFields: "remove",
      native: false,
      streamUsageOption: true,
      chat: { ...COMPATIBLE_CHAT, boundsReasoning, thinking: words },
    } as const;
    const demand = demandAt(readRequest(wireRequest(JSON.stringify(sent))), target);
    expect([demand.maxOutputTokens, demand.reasoningOnTop]).toEqual([5, most]);
  });
}
