import { wireRequest } from "../../../../test/protocols/wire-request.ts";
import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../../core/errors.ts";
import { namesIn } from "./place-names.ts";
import { readRequest } from "../request.ts";
import { chatCompletionsServer } from "./index.ts";

const messages = [{ role: "user", content: "hi" }];
const tool = (name: string, more: object = {}) => ({ type: "function", function: { name }, ...more });

function decode(fields: object) {
  return chatCompletionsServer.decodeRequest(readRequest(wireRequest({ model: "v/m", messages, ...fields })));
}

const plain = {
  turns: [{ role: "user" as const, parts: [{ type: "text" as const, text: "hi" }] }],
  tools: [],
  stop: [],
  choices: 1,
};

test("a request that says nothing more has nothing more", () => {
  expect(decode({})).toEqual({ chat: plain, names: namesIn({}), stream: false, warnings: [] });
  expect(decode({ stream: true, stream_options: { include_usage: false } }).stream).toBe(true);
});

describe("fields that have a place", () => {
  const cases: readonly { sent: object; want: object }[] = [
    { sent: { max_tokens: 5 }, want: { maxOutputTokens: 5 } },
    { sent: { max_tokens: 5, max_completion_tokens: 6 }, want: { maxOutputTokens: 6 } },
    { sent: { temperature: 0, top_p: 1 }, want: { temperature: 0, topP: 1 } },
    {
      sent: { presence_penalty: -1, frequency_penalty: 2, seed: -7 },
      want: { presencePenalty: -1, frequencyPenalty: 2, seed: -7 },
    },
    { sent: { stop: "x" }, want: { stop: ["x"] } },
    { sent: { stop: ["x", "y"] }, want: { stop: ["x", "y"] } },
    { sent: { n: 3 }, want: { choices: 3 } },
    { sent: { user: "u" }, want: { user: "u" } },
    { sent: { safety_identifier: "s" }, want: { user: "s" } },
    { sent: { user: "u", safety_identifier: "s" }, want: { user: "u" } },
    { sent: { prompt_cache_key: "k", verbosity: "low" }, want: { cacheKey: "k", verbosity: "low" } },
    { sent: { prompt_cache_key: null, verbosity: null }, want: {} },
    { sent: { logprobs: true }, want: { logprobs: { top: 0 } } },
    { sent: { logprobs: true, top_logprobs: 4 }, want: { logprobs: { top: 4 } } },
    { sent: { logprobs: false, top_logprobs: 0 }, want: {} },
    { sent: { modalities: ["text", "image"] }, want: { outputModalities: ["text", "image"] } },
    {
      sent: { image_config: { aspect_ratio: "16:9", image_size: "2K" } },
      want: { image: { aspectRatio: "16:9", size: "2K" } },
    },
    { sent: { response_format: { type: "text" } }, want: {} },
    { sent: { response_format: { type: "json_object" } }, want: { responseFormat: { type: "json_object" } } },
    {
      sent: {
        response_format: {
          type: "json_schema",
          json_schema: { name: "n", schema: { type: "object" }, strict: true, description: "d" },
        },
      },
      want: {
        responseFormat: {
          type: "json_schema",
          name: "n",
          schema: { type: "object" },
          strict: true,
          description: "d",
        },
      },
    },
    { sent: { web_search_options: {} }, want: { webSearch: { needed: true } } },
    {
      sent: {
        web_search_options: {
          search_context_size: "low",
          user_location: { type: "approximate", approximate: { city: "Oslo", country: "NO" } },
        },
      },
      want: {
        webSearch: { needed: true, contextSize: "low", location: { city: "Oslo", country: "NO" } },
      },
    },
    { sent: { service_tier: "auto" }, want: {} },
    { sent: { service_tier: "default", prediction: null, web_search_options: null }, want: {} },
    { sent: { store: false, functions: [], function_call: "auto" }, want: {} },
    { sent: { parallel_tool_calls: false }, want: {} },
  ];
  for (const { sent, want } of cases) {
    test(JSON.stringify(sent), () => {
      const { chat, warnings } = decode(sent);
      expect(chat).toEqual({ ...plain, ...want });
      expect(warnings).toEqual([]);
    });
  }
});

describe("what is wished of thinking", () => {
  const cases: readonly { sent: object; want: object | undefined }[] = [
    { sent: { reasoning: {} }, want: undefined },
    { sent: { reasoning_effort: "high" }, want: { effort: "high" } },
    { sent: { reasoning_effort: "none" }, want: { mode: "off" } },
    { sent: { reasoning: { effort: "low" } }, want: { effort: "low" } },
    { sent: { reasoning: { max_tokens: 2000 } }, want: { budgetTokens: 2000 } },
    { sent: { reasoning: { enabled: true, exclude: true } }, want: { mode: "on", hidden: true } },
    { sent: { reasoning: { enabled: false } }, want: { mode: "off" } },
    {
      sent: { thinking: { type: "enabled", budget_tokens: 3000 } },
      want: { mode: "on", budgetTokens: 3000 },
    },
    {
      sent: { thinking: { type: "adaptive" }, reasoning_effort: "max" },
      want: { mode: "auto", effort: "max" },
    },
    { sent: { thinking: { type: "disabled" } }, want: { mode: "off" } },
  ];
  for (const { sent, want } of cases) {
    test(JSON.stringify(sent), () => {
      expect(decode(sent).chat.thinking).toEqual(want as object);
    });
  }
});

describe("tools", () => {
  const tools = [
    tool("a", { cache_control: { type: "ephemeral" } }),
    { function: { name: "b", description: "d", parameters: { type: "object" }, strict: true } },
  ];
  const a = { name: "a", at: "tools[0].function.name", cache: { type: "ephemeral" } };
  const b = {
    name: "b",
    at: "tools[1].function.name",
    description: "d",
    parameters: { type: "object" },
    strict: true,
  };

  test("are what they were, with their marks of the cache", () => {
    expect(decode({ tools, parallel_tool_calls: false }).chat).toEqual({
      ...plain,
      tools: [a, b],
      parallelToolCalls: false,
    });
  });

  const allowed = (mode: string) => ({
    type: "allowed_tools",
    allowed_tools: { mode, tools: [{ type: "function", function: { name: "b" } }] },
  });
  const cases: readonly { choice: unknown; want: object }[] = [
    { choice: "none", want: { toolChoice: { type: "none" } } },
    { choice: "auto", want: { toolChoice: { type: "auto" } } },
    { choice: "required", want: { toolChoice: { type: "required" } } },
    {
      choice: { type: "function", function: { name: "b" } },
      want: { toolChoice: { type: "tool", name: "b" } },
    },
    { choice: allowed("auto"), want: { toolChoice: { type: "auto" }, allowedTools: ["b"] } },
    { choice: allowed("required"), want: { toolChoice: { type: "required" }, allowedTools: ["b"] } },
  ];
  for (const { choice, want } of cases) {
    test(`chosen by ${JSON.stringify(choice)}`, () => {
      expect(decode({ tools, tool_choice: choice }).chat).toEqual({ ...plain, tools: [a, b], ...want });
    });
  }

  test("a choice among none says nothing", () => {
    expect(decode({ tool_choice: "none" }).chat).toEqual(plain);
  });
});

describe("what only helps is left out, and named", () => {
  const hints: readonly [string, unknown][] = [
    ["store", true],
    ["metadata", { a: "b" }],
    ["logit_bias", { 1: 2 }],
    ["prompt_cache_options", {}],
    ["prompt_cache_retention", "24h"],
    ["my_own", 1],
  ];
  for (const [name, value] of hints) {
    test(name, () => {
      const { chat, warnings } = decode({ [name]: value });
      expect(chat).toEqual(plain);
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toStartWith(`${name} was left out: `);
    });
  }

  test("of two efforts the reference's own word counts", () => {
    const { chat, warnings } = decode({ reasoning_effort: "high", reasoning: { effort: "low" } });
    expect(chat.thinking).toEqual({ effort: "high" });
    expect(warnings).toEqual(["reasoning was left out: reasoning_effort says otherwise"]);
  });

  test("a name cannot break out of a header", () => {
    expect(decode({ 'x"\n\u20ac': 1 }).warnings).toEqual([
      "x??? was left out: it is not a field of chat completions",
    ]);
  });
});

describe("what would change the answer is a 400 that names it", () => {
  const named = { type: "function", function: { name: "zzz" } };
  const cases: readonly { sent: object; param: string }[] = [
    { sent: { audio: { voice: "v", format: "wav" } }, param: "audio" },
    { sent: { modalities: ["text", "audio"] }, param: "modalities" },
    { sent: { prediction: { type: "content", content: "x" } }, param: "prediction" },
    { sent: { web_search_options: "yes" }, param: "web_search_options" },
    {
      sent: { web_search_options: { user_location: { type: "approximate", approximate: { city: 5 } } } },
      param: "web_search_options.user_location.approximate.city",
    },
    { sent: { moderation: { model: "x" } }, param: "moderation" },
    { sent: { service_tier: "priority" }, param: "service_tier" },
    { sent: { functions: [{ name: "f" }] }, param: "functions" },
    { sent: { function_call: { name: "f" } }, param: "function_call" },
    {
      sent: { tools: [{ type: "custom", custom: { name: "c", format: { type: "ebnf" } } }] },
      param: "tools[0].custom.format.type",
    },
    {
      sent: { tools: [{ type: "custom", custom: { name: "c", format: { type: "grammar" } } }] },
      param: "tools[0].custom.format.grammar.definition",
    },
    { sent: { tools: [tool("a")], tool_choice: named }, param: "tool_choice.function.name" },
    { sent: { tool_choice: "required" }, param: "tool_choice" },
    { sent: { tools: [tool("a")], tool_choice: { type: "custom" } }, param: "tool_choice.custom.name" },
    { sent: { tools: [tool("a")], tool_choice: { type: "web_search" } }, param: "tool_choice.type" },
    {
      sent: {
        tools: [tool("a")],
        tool_choice: { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [named] } },
      },
      param: "tool_choice.allowed_tools.tools[0].function.name",
    },
    {
      sent: { tools: [tool("a")], tool_choice: { type: "allowed_tools" } },
      param: "tool_choice.allowed_tools.mode",
    },
    { sent: { reasoning_effort: "extreme" }, param: "reasoning_effort" },
    { sent: { reasoning: { effort: "extreme" } }, param: "reasoning.effort" },
    { sent: { response_format: { type: "json_schema" } }, param: "response_format.json_schema" },
    {
      sent: { response_format: { type: "json_schema", json_schema: { name: "n" } } },
      param: "response_format.json_schema.schema",
    },
    { sent: { image_config: { image_size: 2 } }, param: "image_config.image_size" },
    { sent: { seed: 1.5 }, param: "seed" },
    { sent: { user: 5 }, param: "user" },
    { sent: { verbosity: 5 }, param: "verbosity" },
    { sent: { prompt_cache_key: 5 }, param: "prompt_cache_key" },
    { sent: { logprobs: "yes" }, param: "logprobs" },
    { sent: { logprobs: true, top_logprobs: 21 }, param: "top_logprobs" },
    { sent: { top_logprobs: 2 }, param: "top_logprobs" },
  ];
  for (const { sent, param } of cases) {
    test(JSON.stringify(sent), () => {
      let error: unknown;
      try {
        decode(sent);
      } catch (thrown) {
        error = thrown;
      }
      expect(error).toBeInstanceOf(GatewayError);
      expect(error).toMatchObject({ kind: "invalid_request_error", param });
    });
  }
});
