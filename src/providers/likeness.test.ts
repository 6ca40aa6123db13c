import { describe, expect, test } from "bun:test";
import { COMPATIBLE_CHAT } from "../protocols/chat-dialect.ts";
import { dialectLike, likenesses } from "./likeness.ts";
import { PROVIDERS } from "./registry.ts";

describe("fields of its own that a kind of server is sent", () => {
  const SENT: Readonly<Record<string, string>> = {
    ollama: "seed logprobs top_logprobs reasoning_effort",
    vllm: `n seed user logit_bias logprobs top_logprobs top_k min_p repetition_penalty chat_template_kwargs
      reasoning_effort`,
    "llama-cpp": `n seed logit_bias logprobs top_logprobs top_k min_p repeat_penalty cache_prompt grammar
      chat_template_kwargs reasoning_format`,
    "lm-studio": "seed logit_bias top_k repeat_penalty reasoning_effort",
  };
  for (const [name, fields] of Object.entries(SENT))
    test(name, () => {
      const takes = dialectLike(name, [])?.chat?.takes ?? [];
      expect(takes.toSorted()).toEqual([...COMPATIBLE_CHAT.takes, ...fields.split(/\s+/)].toSorted());
    });
});

test("a likeness is a kind of server or a vendor of chat completions, and nothing else", () => {
  const names = likenesses(PROVIDERS);
  expect(names).toEqual(expect.arrayContaining(["ollama", "vllm", "llama-cpp", "lm-studio", "groq"]));
  for (const name of names) expect(dialectLike(name, PROVIDERS)).toBeDefined();
  for (const name of ["anthropic", "google", "nobody", "constructor"]) {
    expect(names).not.toContain(name);
    expect(dialectLike(name, PROVIDERS)).toBeUndefined();
  }
});

test("a server like no other takes all that is written", () => {
  expect(dialectLike(undefined, [])?.chat?.takes).toBeUndefined();
});
