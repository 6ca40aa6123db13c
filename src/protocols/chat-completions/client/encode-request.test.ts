import { describe, expect, test } from "bun:test";
import {
  chatTarget,
  refusalAtChat,
  sentToChat,
  type Vendor,
} from "../../../../test/protocols/chat-client.ts";
import { answered, chatOf, turn } from "../../../../test/protocols/messages-client.ts";
import type { ChatRequest, ThinkingWish } from "../../../core/chat.ts";
import type { Model } from "../../../core/model.ts";
import { PLACE_NAMES } from "../server/place-names.ts";

const ASK = [turn("user", "Go.")];
const TOOLS = [
  {
    name: "f",
    description: "Does it.",
    parameters: { type: "object", properties: { a: { type: "string" } } },
  },
  { name: "g", strict: true },
];
const SCHEMA = { type: "json_schema", name: "n", schema: { type: "object" } } as const;

/** What goes up, beside the messages. */
function fields(vendor: Vendor, more: Partial<ChatRequest>, facts: Partial<Model> = {}) {
  const { up, refused, warnings } = sentToChat(vendor, chatOf(ASK, more), chatTarget(vendor, facts));
  expect(refused).toBeUndefined();
  const { messages: _messages, model: _model, stream: _stream, stream_options: _options, ...rest } = up;
  return { rest, warnings };
}

describe("sampling and bounds", () => {
  test("say what was said, under the vendor's own names, and nothing that was not", () => {
    const said = {
      temperature: 0.5,
      topP: 0.9,
      seed: 7,
      stop: ["x"],
      maxOutputTokens: 50,
      presencePenalty: 1,
      frequencyPenalty: 1,
    };
    expect(fields("openai", said).rest).toEqual({
      temperature: 0.5,
      top_p: 0.9,
      seed: 7,
      stop: ["x"],
      max_completion_tokens: 50,
      presence_penalty: 1,
      frequency_penalty: 1,
    });
    expect(fields("mistral", said).rest).toMatchObject({ random_seed: 7, max_tokens: 50, stop: ["x"] });
    expect(fields("openai", {}).rest).toEqual({});
  });

  test("what the vendor does not take is left out in the caller's own words", () => {
    const target = chatTarget("deepseek");
    const chat = chatOf(ASK, {
      seed: 7,
      topK: 5,
      user: "u",
      verbosity: "low",
      cacheKey: "k",
      maxOutputTokens: 200_000,
    });
    const names = {
      ...PLACE_NAMES,
      seed: "generationConfig.seed",
      topK: "generationConfig.topK",
      user: "metadata.user_id",
      maxOutputTokens: "generationConfig.maxOutputTokens",
    };
    expect(sentToChat("deepseek", chat, target, names).warnings).toEqual([
      "metadata.user_id was left out: the provider does not take it",
      "generationConfig.topK was left out: the provider does not take it",
      "prompt_cache_key was left out: the provider does not take it",
      "verbosity was left out: the provider does not take it",
      "generationConfig.seed was left out: the provider of deepseek/deepseek-v4 does not take it",
      "generationConfig.maxOutputTokens was lowered to 100000: deepseek/deepseek-v4 puts out no more",
    ]);
  });

  test("hints go where they are known: top_k, the user, the key of the cache, verbosity", () => {
    const hints = { topK: 5, user: "u", cacheKey: "k", verbosity: "low" };
    expect(fields("openai", hints).rest).toEqual({ user: "u", prompt_cache_key: "k", verbosity: "low" });
    expect(fields("moonshot", hints).rest).toEqual({ safety_identifier: "u", prompt_cache_key: "k" });
    expect(fields("dashscope", hints).rest).toEqual({ top_k: 5 });
  });

  test("a user id that is too long is another one that is always the same", () => {
    const user = "u".repeat(150);
    const sent = fields("openai", { user }).rest.user;
    expect(sent).toMatch(/^[0-9a-f]{64}$/);
    expect(fields("openai", { user }).rest.user).toBe(sent);
  });

  test("more answers, or more stops, than there can be are a 400 by the caller's own name", () => {
    expect(refusalAtChat("deepseek", chatOf(ASK, { choices: 2 }))[0]).toBe("n");
    expect(refusalAtChat("openai", chatOf(ASK, { choices: 200 }))[0]).toBe("n");
    const stop = Array.from({ length: 17 }, (_, i) => `${i}`);
    expect(refusalAtChat("openai", chatOf(ASK, { stop }))[0]).toBe("stop");
    expect(refusalAtChat("openai", chatOf(ASK, { stop: stop.slice(0, 5) }))[1]).toEndWith("takes at most 4.");
    expect(fields("deepseek", { stop: stop.slice(0, 16) }).rest.stop).toHaveLength(16);
    expect(fields("openai", { choices: 2 }).rest).toEqual({ n: 2 });
  });
});

describe("thinking", () => {
  const at = (vendor: Vendor, thinking: ThinkingWish, facts: Partial<Model> = {}) =>
    fields(vendor, { thinking }, facts);

  test("switched off is said to a vendor that thinks by itself", () => {
    expect(at("zai", { mode: "off" }).rest).toEqual({ thinking: { type: "disabled" } });
    expect(at("deepseek", { mode: "off" }).rest).toEqual({ thinking: { type: "disabled" } });
    expect(at("dashscope", { mode: "off" }).rest).toEqual({ enable_thinking: false });
    expect(at("openrouter", { mode: "off" }).rest).toEqual({ reasoning: { enabled: false } });
    expect(at("openai", { effort: "none" }).rest).toEqual({ reasoning_effort: "none" });
  });

  test("a budget becomes the vendor's own, or the effort that it means", () => {
    expect(at("dashscope", { mode: "on", budgetTokens: 5_000 }).rest).toEqual({
      enable_thinking: true,
      thinking_budget: 5_000,
    });
    expect(at("openai", { mode: "on", budgetTokens: 5_000 }).rest).toEqual({ reasoning_effort: "medium" });
    expect(at("openrouter", { mode: "on", budgetTokens: 5_000 }).rest).toEqual({
      reasoning: { enabled: true, max_tokens: 5_000 },
    });
  });

  test("an effort becomes the nearest that the model has", () => {
    const facts: Partial<Model> = { thinking: { efforts: ["low", "high", "max"] } };
    const { rest, warnings } = at("moonshot", { effort: "medium" }, facts);
    expect(rest).toEqual({ reasoning_effort: "high" });
    expect(warnings).toEqual(["the effort medium became high: this model has no other"]);
  });

  test("not shown where a router can be told so, else with a warning", () => {
    expect(at("openrouter", { effort: "low", hidden: true }).rest.reasoning).toMatchObject({ exclude: true });
    const { rest, warnings } = at("openai", { effort: "low", hidden: true });
    expect(rest).toEqual({ reasoning_effort: "low" });
    expect(warnings).toEqual(["reasoning.exclude was left out: this model's provider has no such field"]);
  });

  test("a server that is sent all fields as they are is told in its own words", () => {
    const target = chatTarget("deepseek", {}, { unknownFields: "pass" });
    const { up } = sentToChat("deepseek", chatOf(ASK, { thinking: { mode: "on", effort: "low" } }), target);
    expect([up.thinking, up.reasoning_effort, up.reasoning]).toEqual([{ type: "enabled" }, "low", undefined]);
  });
});

describe("tools", () => {
  const [f, g] = TOOLS.map(({ name }) => ({ type: "function", function: { name } }));

  test("are functions; strict only where that was said; without parameters they take an empty object", () => {
    expect(fields("openai", { tools: TOOLS }).rest.tools).toEqual([
      { type: "function", function: TOOLS[0] },
      {
        type: "function",
        function: {
          name: "g",
          parameters: { type: "object", properties: {}, additionalProperties: false },
          strict: true,
        },
      },
    ]);
  });

  test("a choice of them goes up in the format's words, or is a 400 by the caller's name", () => {
    const choice = (toolChoice: ChatRequest["toolChoice"], vendor: Vendor = "openai") =>
      fields(vendor, { tools: TOOLS, ...(toolChoice && { toolChoice }) }).rest.tool_choice;
    expect(choice(undefined)).toBeUndefined();
    for (const type of ["none", "auto", "required"] as const) expect(choice({ type })).toBe(type);
    expect(choice({ type: "tool", name: "f" })).toEqual(f);
    const forced = chatOf(ASK, { tools: TOOLS, toolChoice: { type: "required" } });
    const names = { ...PLACE_NAMES, toolChoice: "toolConfig" };
    expect(refusalAtChat("zai", forced, chatTarget("zai"), names)).toEqual([
      "toolConfig",
      "toolConfig must be auto or none: this model's provider has no other.",
    ]);
  });

  test("those that may be called now are named where the reference knows that, else the others are not there", () => {
    const allowed = { tools: TOOLS, allowedTools: ["g"], toolChoice: { type: "required" } } as const;
    const { rest } = fields("openai", allowed);
    expect(rest.tools).toHaveLength(2);
    expect(rest.tool_choice).toEqual({
      type: "allowed_tools",
      allowed_tools: { mode: "required", tools: [g] },
    });
    const other = fields("groq", allowed).rest;
    expect([other.tools.length, other.tools[0].function.name, other.tool_choice]).toEqual([
      1,
      "g",
      "required",
    ]);
  });

  test("custom ones, their choice and their calls are the reference's own, and a 400 elsewhere", () => {
    const grammar = { syntax: "lark", definition: "start: /a/" };
    const tools = [{ name: "sh", description: "Runs.", custom: { grammar } }];
    const { rest } = fields("openai", { tools, toolChoice: { type: "tool", name: "sh" } });
    expect(rest).toEqual({
      tools: [
        {
          type: "custom",
          custom: { name: "sh", description: "Runs.", format: { type: "grammar", grammar } },
        },
      ],
      tool_choice: { type: "custom", custom: { name: "sh" } },
    });
    const turns = [
      ...ASK,
      turn("assistant", { type: "tool_call", id: "a", name: "sh", input: "ls", custom: true }),
      turn("tool", answered("a", "b")),
    ];
    expect(sentToChat("openai", chatOf(turns)).up.messages[1].tool_calls).toEqual([
      { id: "a", type: "custom", custom: { name: "sh", input: "ls" } },
    ]);
    expect(refusalAtChat("deepseek", chatOf(ASK, { tools }))[1]).toContain("no custom tools");
  });

  test("one call at a time is said where there are tools and the vendor takes it", () => {
    expect(fields("openai", { tools: TOOLS, parallelToolCalls: false }).rest.parallel_tool_calls).toBe(false);
    expect(fields("openai", { parallelToolCalls: false }).rest).toEqual({});
    const { rest, warnings } = fields("zai", { tools: TOOLS, parallelToolCalls: false });
    expect(rest.parallel_tool_calls).toBeUndefined();
    expect(warnings).toHaveLength(1);
  });
});

describe("forms of the answer", () => {
  test("a schema binds with its name, and is strict only where that was said", () => {
    expect(fields("openai", { responseFormat: SCHEMA }).rest.response_format).toEqual({
      type: "json_schema",
      json_schema: { name: "n", schema: { type: "object" } },
    });
    const strict = fields("openai", { responseFormat: { ...SCHEMA, strict: true } });
    expect(strict.rest.response_format.json_schema).toEqual({
      name: "n",
      schema: { type: "object", additionalProperties: false },
      strict: true,
    });
  });

  test("a schema with members that may be left out is not bound by, with a warning", () => {
    const inner = { type: "object", properties: { b: {} } };
    const schema = { type: "object", properties: { a: { type: "array", items: inner } }, required: ["a"] };
    const { rest, warnings } = fields("openai", { responseFormat: { ...SCHEMA, schema, strict: true } });
    expect(rest.response_format.json_schema).toEqual({ name: "n", schema });
    expect(warnings).toEqual([
      "json_schema does not bind the model: its provider binds by schemas that have no member which may be left out",
    ]);
    const tools = [{ name: "f", parameters: schema, strict: true }];
    expect(fields("openai", { tools }).rest.tools[0].function).toEqual({ name: "f", parameters: schema });
  });

  test("a schema that the vendor cannot bind by is told to the model, with a warning", () => {
    for (const vendor of ["deepseek", "zai"] as const) {
      const { up, refused, warnings } = sentToChat(vendor, chatOf(ASK, { responseFormat: SCHEMA }));
      expect([refused, up.response_format]).toEqual([undefined, { type: "json_object" }]);
      expect(up.messages[0].content).toEndWith('It must fit this JSON Schema: {"type":"object"}');
      expect(warnings).toEqual([
        "json_schema became an instruction: this model's provider binds it to a JSON object, and to no schema",
      ]);
    }
  });

  test("any JSON is asked for with the word that vendors look for", () => {
    for (const vendor of ["openai", "deepseek", "dashscope"] as const) {
      const { up, refused } = sentToChat(vendor, chatOf(ASK, { responseFormat: { type: "json_object" } }));
      expect([refused, up.response_format, up.messages.length]).toEqual([
        undefined,
        { type: "json_object" },
        2,
      ]);
    }
    const named = chatOf([turn("user", "Give me JSON.")], { responseFormat: { type: "json_object" } });
    expect(sentToChat("openai", named).up.messages).toHaveLength(1);
  });

  test("images are asked for with what they are to be like", () => {
    const wish = { outputModalities: ["text", "image"], image: { aspectRatio: "16:9" } } as const;
    const rest = fields("openrouter", wish, { outputModalities: ["text", "image"] }).rest;
    expect(rest).toEqual({ modalities: ["text", "image"], image_config: { aspect_ratio: "16:9" } });
    expect(fields("openrouter", {}, { outputModalities: ["text", "image"] }).rest).toEqual({
      modalities: ["text"],
    });
  });
});
