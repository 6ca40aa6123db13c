import { describe, expect, test } from "bun:test";
import { messageEvents, message as claudeMessage, type MessageForm } from "../upstream/messages-bytes.ts";
import { geminiAnswer, geminiChunks } from "../upstream/gemini-bytes.ts";
import type { Json } from "./chat-events.ts";
import { PROVIDER, TranslatedWay } from "./translated-way.ts";

// What clients of chat completions send and are sent where the model's provider speaks another format. The numbers are
// those of the cases in the shared page on conversions.

const CLAUDE = new TranslatedWay("compat_chat_completions", PROVIDER.claude());
const OPUS = new TranslatedWay("compat_chat_completions", PROVIDER.claude("opus"));
const GEMINI = new TranslatedWay("compat_chat_completions", PROVIDER.gemini());

const user = (content: unknown = "Hi") => ({ role: "user", content });
const call = (id: string, input = "{}", more: object = {}) => ({
  id,
  type: "function",
  function: { name: "f", arguments: input },
  ...more,
});
const calls = (...list: object[]) => ({ role: "assistant", content: null, tool_calls: list });
const result = (id: string, content: unknown = id) => ({ role: "tool", tool_call_id: id, content });
const TOOL = { type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } };
const tools = [TOOL];
const PNG = "iVBORw0KGgo=";
const image = (url: string) => ({ type: "image_url", image_url: { url } });

/** The message of Claude's answer of these blocks, plain and streamed alike. */
function bothOf(form: MessageForm): Json {
  const plain = CLAUDE.plain(claudeMessage(form)).choices[0];
  const joined: Json = { content: "", reasoning_content: "", tool_calls: [] };
  let finish: string | null = null;
  for (const chunk of CLAUDE.streamed(messageEvents(form) as Json[])) {
    const { delta = {}, finish_reason: reason = null } = chunk.choices?.[0] ?? {};
    finish = reason ?? finish;
    joined.content += delta.content ?? "";
    joined.reasoning_content += delta.reasoning_content ?? "";
    joined.reasoning_details = delta.reasoning_details ?? joined.reasoning_details;
    for (const { index, function: called, ...more } of delta.tool_calls ?? []) {
      joined.tool_calls[index] ??= { ...more, function: { name: called.name, arguments: "" } };
      joined.tool_calls[index].function.arguments += called.arguments;
    }
  }
  expect(finish as unknown).toBe(plain.finish_reason);
  expect(joined.content).toBe(plain.message.content ?? "");
  expect(joined.reasoning_content).toBe(plain.message.reasoning_content ?? "");
  expect(joined.reasoning_details).toEqual(plain.message.reasoning_details);
  expect(joined.tool_calls).toEqual(plain.message.tool_calls ?? []);
  return plain;
}

describe("thinking and its signatures", () => {
  const thinking = { type: "thinking", thinking: "Hm, yes.", signature: "EuQBCkYIBxgC+/==" };
  const use = { type: "tool_use", id: "toolu_1", name: "f", input: { n: 1 } };

  test("T1, T2: Claude's thinking comes in one item and goes back first, byte for byte", () => {
    const { message } = bothOf({ blocks: [thinking, use] });
    expect(message.reasoning_details).toMatchObject([{ type: "thinking", thinking: "Hm, yes." }]);
    const { up } = CLAUDE.sent({
      messages: [user(), message, result("toolu_1")],
      tools,
      reasoning_effort: "high",
    });
    expect(up.messages[1].content[0]).toEqual(thinking);
    expect(up.messages[1].content[1]).toMatchObject({ type: "tool_use", id: "toolu_1" });
    expect(up.thinking.type).toBe("enabled");
  });

  test("T3: a client that dropped it is answered without thinking, and told", () => {
    const messages = [user(), calls(call("toolu_1")), result("toolu_1")];
    const { up, warnings } = CLAUDE.sent({ messages, tools, reasoning_effort: "high" });
    expect(up.thinking).toBeUndefined();
    expect(warnings.join()).toContain("reasoning_effort was switched off for this request");
    expect(OPUS.sent({ messages, tools, reasoning_effort: "high" }).up.thinking.type).toBe("adaptive");
  });

  test("T4: what Claude signed is not sent to Gemini, and what Gemini signed not to Claude", () => {
    const { message } = bothOf({ blocks: [thinking, use] });
    const messages = [user(), message, result("toolu_1")];
    const atGemini = GEMINI.sent({ messages, tools });
    expect(atGemini.json).not.toContain(thinking.signature);
    expect(atGemini.warnings.join()).toContain("left out");
    const signed = calls(call("c", "{}", { extra_content: { google: { thought_signature: "U0lH" } } }));
    expect(CLAUDE.sent({ messages: [user(), signed, result("c")], tools }).json).not.toContain("U0lH");
  });

  test("T8, T24: an image of Gemini's goes back with its signature, and to Claude without, whole", () => {
    const parts = [{ inlineData: { mimeType: "image/png", data: PNG }, thoughtSignature: "U0lH/+8=" }];
    const [choice] = GEMINI.plain(geminiAnswer({ parts })).choices;
    const [{ image_url: made }] = choice.message.images;
    expect(made.url).toMatch(/^data:image\/png;thought_signature=[\w-]+;base64,/);
    const quoted = made.url.replace(/=([\w-]+);/, '="$1";');
    for (const url of [made.url, quoted]) {
      const said = { role: "assistant", content: null, images: [image(url)] };
      const atGemini = GEMINI.sent({ messages: [user(), said, user("Bluer.")] });
      expect(atGemini.up.contents[1].parts).toEqual(parts);
      const atClaude = CLAUDE.sent({ messages: [user(), said, user("Bluer.")] });
      expect(atClaude.json).not.toContain("thought_signature");
      const source = { type: "base64", media_type: "image/png", data: PNG };
      expect(atClaude.json).toContain(JSON.stringify(source));
    }
  });

  test("T9: the signature of parallel calls stands on the first alone; without any there is a placeholder", () => {
    const parts = [
      { functionCall: { id: "a", name: "f", args: {} }, thoughtSignature: "U0lH" },
      { functionCall: { id: "b", name: "f", args: {} } },
    ];
    const [{ message }] = GEMINI.plain(geminiAnswer({ parts })).choices;
    const messages = [user(), message, result("a"), result("b")];
    expect(GEMINI.sent({ messages, tools }).up.contents[1].parts).toEqual(parts);
    const bare = [user(), calls(call("a"), call("b")), result("a"), result("b")];
    const [first, second] = GEMINI.sent({ messages: bare, tools }).up.contents[1].parts;
    expect(first.thoughtSignature).toBeString();
    expect(second.thoughtSignature).toBeUndefined();
  });
});

describe("calls and results", () => {
  test("T12, T25, T26: results are one turn, in the order of the calls, each with its function's name", () => {
    const messages = [user(), calls(call("a"), call("b")), result("b", "x"), result("a", '{"n":1}')];
    const [, , given] = CLAUDE.sent({ messages, tools }).up.messages;
    expect(given.role).toBe("user");
    expect(given.content.map(({ type, tool_use_id: id }: Json) => [type, id])).toEqual([
      ["tool_result", "a"],
      ["tool_result", "b"],
    ]);
    const [, , answered, ...more] = GEMINI.sent({ messages, tools }).up.contents;
    expect(more).toEqual([]);
    expect(
      answered.parts.map(({ functionResponse: { id, name, response } }: Json) => [id, name, response]),
    ).toEqual([
      ["a", "f", { n: 1 }],
      ["b", "f", { output: "x" }],
    ]);
  });

  test("T13: a call without a result gets one that says so, twice is once, and of no call is a 400", () => {
    const messages = [user(), calls(call("a"), call("b")), result("a"), result("a"), user("Go on.")];
    const { up, warnings } = CLAUDE.sent({ messages, tools });
    expect(up.messages[2].content).toMatchObject([
      { tool_use_id: "a" },
      { tool_use_id: "b", is_error: true },
      { type: "text", text: "Go on." },
    ]);
    expect(warnings.length).toBe(2);
    for (const way of [CLAUDE, GEMINI])
      expect(way.refusalOf({ messages: [user(), result("zzz")], tools })[0]).toBe("messages[1].tool_call_id");
  });

  test("T15: no empty text is sent beside a call, and none that Claude said", () => {
    const { message } = bothOf({
      blocks: [
        { type: "text", text: "" },
        { type: "tool_use", id: "a", name: "f", input: {} },
      ],
    });
    for (const said of [message, { ...calls(call("a")), content: "" }]) {
      const { up } = CLAUDE.sent({ messages: [user(), said, result("a")], tools });
      expect(up.messages[1].content).toEqual([{ type: "tool_use", id: "a", name: "f", input: {} }]);
    }
  });

  test("T16: an input of nothing is an empty object, in answers and in earlier calls", () => {
    const { message } = bothOf({ blocks: [{ type: "tool_use", id: "a", name: "f", input: {} }] });
    expect(message.tool_calls[0].function.arguments).toBe("{}");
    const messages = [user(), calls(call("a", "")), result("a")];
    expect(CLAUDE.sent({ messages, tools }).up.messages[1].content[0].input).toEqual({});
    expect(GEMINI.sent({ messages, tools }).up.contents[1].parts[0].functionCall.args).toEqual({});
  });

  test("T19, T45, T54: calls behind a text count from 0, and the end says that there are calls", () => {
    const use = (id: string) => ({ type: "tool_use", id, name: "f", input: { id } });
    const choice = bothOf({ blocks: [{ type: "text", text: "Look." }, use("a"), use("b")] });
    expect(choice.finish_reason).toBe("tool_calls");
    expect(choice.message).toMatchObject({
      content: "Look.",
      tool_calls: [{ id: "a" }, { id: "b", function: { arguments: '{"id":"b"}' } }],
    });
  });

  test("T22: an id that Claude does not take is another one, alike on call and result", () => {
    const id = "functions.Bash:0";
    const { up } = CLAUDE.sent({ messages: [user(), calls(call(id)), result(id)], tools });
    const [, said, given] = up.messages;
    expect(said.content[0].id).toMatch(/^[a-zA-Z0-9_-]+$/);
    expect(given.content[0].tool_use_id).toBe(said.content[0].id);
  });
});

describe("what a request says", () => {
  test("T20, T21: an image has the type that its bytes say, in the provider's spelling", () => {
    const jpeg = "/9j/4AAQSkZJRg==";
    for (const [said, data, want] of [
      ["image/jpg", "AAAA", "image/jpeg"],
      ["image/png", jpeg, "image/jpeg"],
    ]) {
      const { up } = CLAUDE.sent({ messages: [user([image(`data:${said};base64,${data}`)])] });
      expect(up.messages[0].content[0].source).toEqual({ type: "base64", media_type: want, data });
    }
  });

  test("T27: marks of the cache stay where they stand, four at the most, and never on thinking", () => {
    const mark = { cache_control: { type: "ephemeral" } };
    const text = (said: string) => ({ type: "text", text: said, ...mark });
    const details = [{ type: "thinking", thinking: "Hm.", signature: "EuQB", index: 0 }];
    const messages = [
      { role: "system", content: [text("s")] },
      user([text("a")]),
      { role: "assistant", content: [text("b")], reasoning_details: details },
      user([text("c"), text("d")]),
    ];
    const { up, warnings } = CLAUDE.sent({ messages, tools: [{ ...TOOL, ...mark }] });
    const marked = (list: Json): Json[] => list.filter((one: Json) => one.cache_control !== undefined);
    const blocks = up.messages.flatMap(({ content }: Json) => content);
    expect([up.tools, up.system].flatMap(marked).length + marked(blocks).length).toBe(4);
    expect(marked(blocks).map(({ text: said }) => said)).toEqual(["a", "b", "c", "d"]);
    expect(marked(blocks).some(({ type }) => type === "thinking")).toBe(false);
    expect(warnings.join()).toContain("cache_control was left out in all but the last 4 places");
  });

  test("T28, T29: a schema binds, with what Claude does not take in words; Gemini takes it whole", () => {
    const schema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: { n: { type: "integer", minimum: 1 }, k: { const: "x" } },
      required: ["n", "k"],
      additionalProperties: false,
    };
    const response_format = { type: "json_schema", json_schema: { name: "n", schema } };
    const parameters = { ...schema, properties: { n: { type: "integer", exclusiveMinimum: 0 } } };
    const body = {
      messages: [user()],
      response_format,
      tools: [{ type: "function", function: { name: "f", parameters } }],
    };
    const { format } = CLAUDE.sent(body).up.output_config;
    expect(format.schema.properties.n).toEqual({
      type: "integer",
      description: expect.stringContaining("minimum: 1"),
    });
    expect(
      CLAUDE.plain(claudeMessage({ blocks: [{ type: "text", text: "{}" }] })).choices[0].finish_reason,
    ).toBe("stop");
    const atGemini = GEMINI.sent(body).up;
    expect(atGemini.generationConfig.responseJsonSchema).toEqual(schema);
    expect(atGemini.tools[0].functionDeclarations[0].parametersJsonSchema).toEqual(parameters);
  });

  test("T31: one call at a time leaves the choice to the model", () => {
    const { up } = CLAUDE.sent({ messages: [user()], tools, parallel_tool_calls: false });
    expect(up.tool_choice).toEqual({ type: "auto", disable_parallel_tool_use: true });
  });

  test("T32: an effort is a budget below the bound without a temperature, or an effort where there is one", () => {
    const body = { messages: [user()], reasoning_effort: "high", max_tokens: 3_000, temperature: 0.2 };
    const { up } = CLAUDE.sent(body);
    expect(up.thinking.budget_tokens).toBeGreaterThanOrEqual(1_024);
    expect(up.thinking.budget_tokens).toBeLessThan(up.max_tokens);
    expect(up.temperature).toBeUndefined();
    const small = CLAUDE.sent({ ...body, max_tokens: 1_000 });
    expect([small.up.thinking, small.up.max_tokens]).toEqual([undefined, 1_000]);
    expect(small.warnings.join()).toContain("reasoning_effort was left out");
    const opus = OPUS.sent(body).up;
    expect(opus).toMatchObject({ thinking: { type: "adaptive" }, output_config: { effort: "high" } });
    expect(opus.temperature).toBeUndefined();
  });

  test("T33: a system message amid the conversation keeps its place, and what stood before it its bytes", () => {
    const start = [{ role: "system", content: "s" }, user("a"), { role: "assistant", content: "b" }];
    const amid = [...start, { role: "system", content: "Now in French." }, user("c")];
    for (const [way, list] of [
      [CLAUDE, "messages"],
      [GEMINI, "contents"],
    ] as const) {
      const before = way.sent({ messages: [...start, user("c")] }).up;
      const { up } = way.sent({ messages: amid });
      expect(up[list].slice(0, 2)).toEqual(before[list].slice(0, 2));
      expect(JSON.stringify(up[list][2])).toContain("Now in French.");
      expect([up.system, up.systemInstruction]).toEqual([before.system, before.systemInstruction]);
    }
  });

  test("T34: a call that must be made, of any function or of one, is the mode ANY", () => {
    const choice = (tool_choice: unknown): Json =>
      GEMINI.sent({ messages: [user()], tools, tool_choice }).up.toolConfig.functionCallingConfig;
    expect(choice("required")).toEqual({ mode: "ANY" });
    const named = { type: "function", function: { name: "f" } };
    expect(choice(named)).toEqual({ mode: "ANY", allowedFunctionNames: ["f"] });
  });

  test("T52: a tool of free text is a function, and what nobody else has is a 400 by name", () => {
    const custom = { type: "custom", custom: { name: "sh" } };
    expect(CLAUDE.sent({ messages: [user()], tools: [custom] }).up.tools[0].input_schema.required).toEqual([
      "input",
    ]);
    for (const [field, value] of Object.entries({
      n: 2,
      audio: { voice: "v", format: "wav" },
      prediction: { type: "content", content: "x" },
      web_search_options: {},
    }))
      expect(CLAUDE.refusalOf({ messages: [user()], [field]: value })[0]).toBe(field);
  });
});

describe("how an answer ends", () => {
  const ask = (finishReason: string, ...parts: object[]) => {
    const form = { parts: parts as Json[], finishReason };
    const plain = GEMINI.plain(geminiAnswer(form)).choices[0].finish_reason;
    const streamed = GEMINI.streamed(geminiChunks(form)).flatMap(({ choices = [] }) =>
      choices.flatMap(({ finish_reason: word }: Json) => word ?? []),
    );
    expect(streamed).toEqual([plain]);
    return plain as string;
  };
  const functionCall = { functionCall: { id: "a", name: "f", args: {} } };

  test("T35, T36: calls end an answer, unless it was cut or filtered", () => {
    expect(ask("STOP", { text: "Look." }, functionCall)).toBe("tool_calls");
    expect(ask("MAX_TOKENS", functionCall)).toBe("length");
    expect(ask("SAFETY", functionCall)).toBe("content_filter");
    const late = GEMINI.streamed([
      { candidates: [{ index: 0, content: { role: "model", parts: [functionCall] } }] },
      { candidates: [{ index: 0, content: { role: "model", parts: [] }, finishReason: "STOP" }] },
    ]);
    const words = late.flatMap(({ choices = [] }) =>
      choices.flatMap(({ finish_reason: word }: Json) => word ?? []),
    );
    expect(words).toEqual(["tool_calls"]);
  });

  test("T37: a call that could not be written is an error, never a good end", () => {
    const broken = {
      candidates: [{ index: 0, content: { parts: [] }, finishReason: "MALFORMED_FUNCTION_CALL" }],
    };
    const events = GEMINI.streamed([broken]);
    const words = events.flatMap(({ choices = [] }) =>
      choices.flatMap(({ finish_reason: word }: Json) => word ?? []),
    );
    expect(words).toEqual(["error"]);
    expect(events.some(({ error }) => error !== undefined)).toBe(true);
  });

  test("T46: a refusal, a full context and a turn to be gone on with are what they are, calls not lost", () => {
    const use = { type: "tool_use", id: "a", name: "f", input: {} };
    expect(bothOf({ stopReason: "refusal" }).finish_reason).toBe("content_filter");
    expect(bothOf({ stopReason: "model_context_window_exceeded" }).finish_reason).toBe("length");
    expect(bothOf({ blocks: [use], stopReason: "max_tokens" })).toMatchObject({
      finish_reason: "length",
      message: { tool_calls: [{ id: "a" }] },
    });
    expect(bothOf({ stopReason: "pause_turn" }).finish_reason).toBe("error");
  });

  test("T48: a stream that is cut ends in an error, and not as if it were whole", () => {
    for (const cut of [60, 200, 400]) {
      const events = CLAUDE.streamed(messageEvents() as Json[], { cut });
      const words = events.flatMap(({ choices = [] }) =>
        choices.flatMap(({ finish_reason: word }: Json) => word ?? []),
      );
      expect(words).toEqual(["error"]);
      expect(events.at(-2).error.type).toBe("upstream_error");
    }
  });
});

describe("usage", () => {
  const gemini = (usage: object): Json => GEMINI.plain(geminiAnswer({ usage: usage as Json })).usage;

  test("T38, T39: what was thought is in the completion, also where nothing else is counted", () => {
    const told = {
      promptTokenCount: 20,
      candidatesTokenCount: 198,
      thoughtsTokenCount: 405,
      totalTokenCount: 623,
    };
    expect(gemini(told)).toMatchObject({
      completion_tokens: 603,
      total_tokens: 623,
      completion_tokens_details: { reasoning_tokens: 405 },
    });
    const alone = { promptTokenCount: 20, thoughtsTokenCount: 405, totalTokenCount: 425 };
    expect(gemini(alone)).toMatchObject({ completion_tokens: 405, total_tokens: 425 });
  });

  test("T40: what was cached is in the prompt", () => {
    const usage = { input_tokens: 7, cache_read_input_tokens: 10_000, output_tokens: 2 };
    expect(CLAUDE.plain(claudeMessage({ usage })).usage).toMatchObject({
      prompt_tokens: 10_007,
      total_tokens: 10_009,
      prompt_tokens_details: { cached_tokens: 10_000 },
    });
  });
});
