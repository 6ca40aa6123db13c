import { describe, expect, test } from "bun:test";
import { answered, chatOf, turn } from "../../../../test/protocols/messages-client.ts";
import type { Json } from "../../../../test/protocols/chat-events.ts";
import { refusalAtResponses, sentToResponses } from "../../../../test/protocols/responses-client.ts";
import type { ChatRequest, Part, ThinkingWish } from "../../../core/chat.ts";
import type { Model } from "../../../core/model.ts";

/** What goes up beside the conversation and what every request has. */
function fields(more: Partial<ChatRequest>, facts?: Partial<Model>) {
  const { up, warnings } = sentToResponses(chatOf([turn("user", "Go.")], more), facts);
  const { input: _input, model: _model, stream: _stream, store, include, stream_options, ...rest } = up;
  expect([store, include]).toEqual([false, ["reasoning.encrypted_content"]]);
  // No caller of another format is given the padding.
  expect(stream_options).toEqual({ include_obfuscation: false });
  return { rest, warnings };
}

const inputOf = (...turns: ChatRequest["turns"]): Json[] => sentToResponses(chatOf([...turns])).up.input;
const said = (type: string, text: string) => ({ type, text });
const USER = { type: "message", role: "user", content: [said("input_text", "Go.")] };

describe("a conversation", () => {
  test("of one leading system message has instructions, of several messages in their places", () => {
    const { up } = sentToResponses(chatOf([turn("system", "Be brief."), turn("user", "Go.")]));
    expect([up.instructions, up.input]).toEqual(["Be brief.", [USER]]);
    const developer = (text: string) => ({
      type: "message",
      role: "developer",
      content: [said("input_text", text)],
    });
    expect(
      inputOf(turn("system", "One."), turn("system", "Two."), turn("user", "Go."), turn("system", "Three.")),
    ).toEqual([developer("One."), developer("Two."), USER, developer("Three.")]);
  });

  test("keeps the order of what an answer said, its calls' outputs behind it in the order of the calls", () => {
    const parts: Part[] = [
      { type: "thinking", text: "Hm.", signature: "sealed", issuer: "openai" },
      { type: "text", text: "Look." },
      { type: "tool_call", id: "a", name: "f", input: '{"n": 12345678901234567890}' },
      { type: "redacted_thinking", data: "silent", issuer: "openai" },
      { type: "tool_call", id: "b", name: "p", input: "*** Begin", custom: true },
    ];
    const results = [answered("b", "Done."), { ...answered("a", "No."), isError: true } as Part];
    const custom = { tools: [{ name: "p", custom: {} }, { name: "f" }] };
    const { up } = sentToResponses(
      chatOf([turn("user", "Go."), { role: "assistant", parts }, { role: "tool", parts: results }], custom),
    );
    expect(up.input).toEqual([
      USER,
      { type: "reasoning", summary: [said("summary_text", "Hm.")], encrypted_content: "sealed" },
      { type: "message", role: "assistant", content: [said("output_text", "Look.")] },
      { type: "function_call", call_id: "a", name: "f", arguments: '{"n": 12345678901234567890}' },
      { type: "reasoning", summary: [], encrypted_content: "silent" },
      { type: "custom_tool_call", call_id: "b", name: "p", input: "*** Begin" },
      { type: "function_call_output", call_id: "a", output: "Error: No." },
      { type: "custom_tool_call_output", call_id: "b", output: "Done." },
    ]);
  });

  test("has an output for a call that nobody answered, and is refused for one without a call", () => {
    const call: Part = { type: "tool_call", id: "a", name: "f", input: "" };
    const { up, warnings } = sentToResponses(
      chatOf([turn("user", "Go."), { role: "assistant", parts: [call] }]),
    );
    expect(up.input.slice(1)).toEqual([
      { type: "function_call", call_id: "a", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "a", output: "Error: the call was given no result." },
    ]);
    expect(warnings).toEqual([
      "messages have no result of a call of f: the model is told that there is none",
    ]);
    expect(
      refusalAtResponses(chatOf([turn("user", "Go."), { role: "tool", parts: [answered("x", "")] }]))[0],
    ).toBe("tool_call_id");
  });

  test("names calls by ids that the provider takes, the same for a call and its output", () => {
    const id = `functions.f:0 ${"x".repeat(80)}`;
    const call: Part = { type: "tool_call", id, name: "f", input: "{}" };
    const [, made, output] = inputOf(
      turn("user", "Go."),
      { role: "assistant", parts: [call] },
      { role: "tool", parts: [answered(id, "1")] },
    );
    expect(made.call_id).toMatch(/^call_\w{24}$/);
    expect(output.call_id).toBe(made.call_id);
  });

  test("leaves out what a model thought until it was cut off: the provider refuses what led to nothing", () => {
    const thought: Part = { type: "thinking", text: "Hm.", signature: "S", issuer: "openai" };
    const text: Part = { type: "text", text: "So." };
    const sentOf = (parts: Part[]) =>
      sentToResponses(chatOf([turn("user", "Go."), { role: "assistant", parts }, turn("user", "Go on.")]));
    for (const parts of [[thought], [thought, thought], [thought, { ...text, text: "" }]]) {
      const { up, warnings } = sentOf(parts);
      expect(up.input.map(({ role }: Json) => role)).toEqual(["user", "user"]);
      expect(warnings).toEqual([
        "reasoning_details that no text and no call follow were left out: the provider takes none such",
      ]);
    }
    const { up, warnings } = sentOf([thought, text, thought]);
    expect(up.input.map(({ type }: Json) => type)).toEqual(["message", "reasoning", "message", "message"]);
    expect(warnings).toHaveLength(1);
  });

  test("leaves out what others' models thought, and what nobody has sealed", () => {
    const parts: Part[] = [
      { type: "thinking", text: "Hm.", signature: "theirs", issuer: "anthropic" },
      { type: "thinking", text: "Ha." },
      { type: "text", text: "So." },
    ];
    const { up, warnings } = sentToResponses(
      chatOf([turn("user", "Go."), { role: "assistant", parts }, turn("user", "Go.")]),
    );
    expect(up.input.map(({ type }: Json) => type)).toEqual(["message", "message", "message"]);
    expect(warnings).toEqual([
      "reasoning_details of another vendor's model were left out: only their own model can read them",
      "reasoning_details without a signature were left out: the provider takes none such",
    ]);
  });
});

describe("media", () => {
  const data = (mediaType: string) => ({ kind: "data", mediaType, data: "aGk=" }) as const;
  const parts: readonly (readonly [Part, Json])[] = [
    [
      { type: "image", source: data("image/png"), detail: "low" },
      { type: "input_image", image_url: "data:image/png;base64,aGk=", detail: "low" },
    ],
    [
      { type: "image", source: { kind: "url", url: "https://x.test/a.png" } },
      { type: "input_image", image_url: "https://x.test/a.png", detail: "auto" },
    ],
    [
      { type: "document", source: data("application/pdf"), name: "a.pdf" },
      { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,aGk=" },
    ],
    [
      { type: "document", source: { kind: "url", url: "https://x.test/a.pdf" } },
      { type: "input_file", file_url: "https://x.test/a.pdf" },
    ],
    [{ type: "document", source: data("text/plain"), name: "a.txt" }, said("input_text", "a.txt\n\nhi")],
  ];
  for (const [part, told] of parts)
    test(`${part.type}, ${JSON.stringify(told).slice(0, 50)}`, () =>
      expect(inputOf({ role: "user", parts: [part] })[0].content).toEqual([told]));

  test("of a result stand in its output, of an answer in what the user says next", () => {
    const image: Part = { type: "image", source: data("image/png") };
    const call: Part = { type: "tool_call", id: "a", name: "f", input: "{}" };
    const [, , output, next] = inputOf(
      turn("user", "Go."),
      { role: "assistant", parts: [call, image] },
      { role: "tool", parts: [answered("a", "See:", image)] },
    );
    expect(output.output.map(({ type }: Json) => type)).toEqual(["input_text", "input_image"]);
    expect([next.role, next.content[0].type]).toEqual(["user", "input_image"]);
  });

  test("what the provider cannot reach is a 400 that names the caller's place", () => {
    const at = "contents[0].parts[0].fileData";
    const sources = [{ kind: "url", url: "gs://b/a.png" } as const, { kind: "file", id: "files/a" } as const];
    for (const source of sources) {
      const parts: Part[] = [{ type: "image", source, at }];
      expect(refusalAtResponses(chatOf([{ role: "user", parts }]))[0]).toBe(at);
    }
  });

  test("sound goes to a model that takes it, films to none", () => {
    const sound: Part = { type: "audio", source: data("audio/mpeg"), at: "messages[0].content[0]" };
    const { up } = sentToResponses(chatOf([{ role: "user", parts: [sound] }]), {
      inputModalities: ["text", "audio"],
    });
    expect(up.input[0].content[0]).toEqual({
      type: "input_audio",
      input_audio: { data: "aGk=", format: "mp3" },
    });
    for (const part of [sound, { ...sound, type: "video" } as const])
      expect(refusalAtResponses(chatOf([{ role: "user", parts: [part] }]))[0]).toBe("messages[0].content[0]");
  });
});

describe("tools", () => {
  const schema = {
    type: "object",
    properties: { a: { type: "string" } },
    required: ["a"],
    additionalProperties: false,
  };

  test("bind the model only where that was asked for, which the format would take for granted", () => {
    const { rest } = fields({
      tools: [{ name: "f" }, { name: "g", strict: true, parameters: schema }],
      toolChoice: { type: "tool", name: "g" },
      parallelToolCalls: false,
    });
    const none = { type: "object", properties: {} };
    expect(rest).toEqual({
      tools: [
        { type: "function", name: "f", parameters: none, strict: false },
        { type: "function", name: "g", parameters: schema, strict: true },
      ],
      tool_choice: { type: "function", name: "g" },
      parallel_tool_calls: false,
    });
  });

  test("with members that may be left out bind nobody, with a warning", () => {
    const open = { type: "object", properties: { a: { type: "string" } } };
    const { rest, warnings } = fields({ tools: [{ name: "f", strict: true, parameters: open }] });
    expect(rest.tools[0].strict).toBe(false);
    expect(warnings[0]).toContain("does not bind the model");
  });

  test("that are there and may not be called now are told to the reference, and to nobody else", () => {
    const asked = { tools: [{ name: "f" }, { name: "g" }], allowedTools: ["g"] };
    expect(fields(asked).rest.tool_choice).toEqual({
      type: "allowed_tools",
      mode: "auto",
      tools: [{ type: "function", name: "g" }],
    });
    const other = fields(asked, { id: "xai/grok" }).rest;
    expect([other.tools.length, other.tool_choice]).toEqual([1, undefined]);
  });

  test("of a text keep their grammar, and searches their bounds", () => {
    const grammar = { syntax: "lark", definition: "start: /x/" };
    const { rest } = fields(
      {
        tools: [{ name: "p", custom: { grammar } }],
        webSearch: { forced: true, allowedDomains: ["x.test"], mostUses: 2, location: { country: "IS" } },
      },
      { prices: { web_search: 1n } as unknown as Model["prices"] },
    );
    expect(rest).toEqual({
      tools: [
        { type: "custom", name: "p", format: { type: "grammar", ...grammar } },
        {
          type: "web_search",
          filters: { allowed_domains: ["x.test"] },
          user_location: { type: "approximate", country: "IS" },
        },
      ],
      tool_choice: { type: "web_search" },
      max_tool_calls: 2,
    });
  });
});

describe("thinking", () => {
  const wishes: readonly (readonly [ThinkingWish, Json, Partial<Model>?])[] = [
    [{ effort: "high" }, { effort: "high", summary: "auto" }],
    [{ effort: "high", hidden: true }, { effort: "high" }],
    [{ mode: "on" }, { summary: "auto" }],
    [{ mode: "off" }, { effort: "none" }],
    [{ budgetTokens: 5_000 }, { effort: "medium", summary: "auto" }],
    [{ effort: "minimal" }, { effort: "low", summary: "auto" }, { thinking: { efforts: ["low", "high"] } }],
    [{ mode: "off" }, { effort: "low" }, { thinking: { efforts: ["low", "high"] } }],
    [{ effort: "high" }, undefined, { thinking: { efforts: [] } }],
  ];
  for (const [wish, told, facts] of wishes)
    test(`${JSON.stringify(wish)} is ${JSON.stringify(told)}`, () =>
      expect(fields({ thinking: wish }, facts).rest.reasoning).toEqual(told));
});

describe("forms, bounds and hints", () => {
  test("have the names of the format", () => {
    const { rest } = fields({
      responseFormat: { type: "json_schema", name: "n", schema: { type: "object" } },
      verbosity: "low",
      maxOutputTokens: 50,
      temperature: 0.5,
      topP: 0.9,
    });
    expect(rest).toEqual({
      text: { format: { type: "json_schema", name: "n", schema: { type: "object" } }, verbosity: "low" },
      max_output_tokens: 50,
      temperature: 0.5,
      top_p: 0.9,
    });
  });

  test("any JSON is named where nobody has, as the provider refuses to give it else", () => {
    const asked = { responseFormat: { type: "json_object" } } as const;
    const { up } = sentToResponses(chatOf([turn("user", "Go.")], asked));
    expect([up.text.format, up.input.length, up.input[0].role]).toEqual([
      { type: "json_object" },
      2,
      "developer",
    ]);
    expect(sentToResponses(chatOf([turn("user", "Give JSON.")], asked)).up.input.length).toBe(1);
  });

  test("users and cache keys are names that no other account has", () => {
    const chat = chatOf([turn("user", "Go.")], { user: "u", cacheKey: "k" });
    const [one, other] = [sentToResponses(chat).up, sentToResponses(chat, {}, "b").up];
    expect(one.prompt_cache_key).not.toBe(other.prompt_cache_key);
    expect(one.safety_identifier).not.toBe(other.safety_identifier);
    expect([one.prompt_cache_key, one.safety_identifier]).not.toContain("k");
  });

  test("what the format has no field for is left out in the caller's own words", () => {
    const { rest, warnings } = fields({ seed: 7, presencePenalty: 1, topK: 5, stop: ["x"] });
    expect(rest).toEqual({});
    expect(warnings).toEqual(
      ["top_k", "presence_penalty", "seed"].map(
        (name) => `${name} was left out: this model's provider has no such field`,
      ),
    );
  });

  test("several answers, and images, are refused by name", () => {
    expect(refusalAtResponses(chatOf([turn("user", "Go.")], { choices: 2 }))[0]).toBe("n");
    expect(
      refusalAtResponses(chatOf([turn("user", "Go.")], { outputModalities: ["text", "image"] }))[0],
    ).toBe("modalities");
    expect(refusalAtResponses(chatOf([]))[0]).toBe("messages");
  });
});
