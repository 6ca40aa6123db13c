import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../core/json/json-value.ts";
import type { Model } from "../../../core/model.ts";
import { createKeyedHash } from "../../../runtime/hash.ts";
import { ONE_JSON_OBJECT } from "../../../protocols/messages/client/encode-request.ts";
import { createSeal } from "../seal.ts";
import { type Ask, type AskContext, Refusal } from "./ask.ts";
import { readChatAsk } from "./chat-request.ts";
import { readGenerateAsk } from "./generate-request.ts";
import { readMessagesAsk } from "./messages-request.ts";
import { readResponsesAsk } from "./responses-request.ts";

// What the sandbox takes a request to ask, in each format.

const seal = createSeal(createKeyedHash("secret"));
const contextOf = (
  outputs: readonly string[] = ["text"],
  totalContext: number | null = null,
): AskContext => ({
  model: {
    id: "v/m",
    vendor: "v",
    outputModalities: outputs,
    totalContext,
    mediaTokenCeiling: {},
    imageTokens: undefined,
  } as unknown as Model,
  digest: "d1",
  seal,
});

type Read = (body: JsonObject, context: AskContext) => Ask;

/** What bodies ask, one member each; the rest of the body is `base`. */
const asking =
  (read: Read, base: JsonObject, context = contextOf()) =>
  <Name extends keyof Ask>(name: Name, ...bodies: readonly JsonObject[]): readonly Ask[Name][] =>
    bodies.map((body) => read({ ...base, ...body }, context)[name]);

/** A context that a request does not fit in: refused with both numbers. */
function tooLong(read: Read, body: JsonObject): string {
  const { inputTokens } = read(body, contextOf());
  expect(read(body, contextOf(["text"], inputTokens)).inputTokens).toBe(inputTokens);
  try {
    read(body, contextOf(["text"], inputTokens - 1));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    expect([error.status, error.meaning]).toEqual([400, "too_long"]);
    return error.message.replaceAll(`${inputTokens - 1}`, "MOST").replaceAll(`${inputTokens}`, "TOKENS");
  }
  return "";
}

const SCHEMA = { type: "object", properties: { a: { type: "string" } } };
const [F, G] = [
  { name: "f", schema: SCHEMA },
  { name: "g", schema: {} },
];
const CUSTOM = (input: object) => ({
  name: "c",
  schema: { type: "object", properties: { input }, required: ["input"] },
  isText: true,
});

describe("chat completions", () => {
  const user = { role: "user", content: "hi" };
  const base = { messages: [user] };
  const of = asking(readChatAsk, base);
  const fn = (name: string, more: object = {}) => ({ type: "function", function: { name, ...more } });

  test("ask for what is said last, with the words of the rules for the form", () => {
    const said = (...messages: object[]) => ({ messages });
    const parts = [
      { type: "text", text: "a" },
      { type: "image_url", image_url: { url: "https://example.com/a" } },
      { type: "text", text: "b" },
    ];
    expect(
      of(
        "userText",
        said(user),
        said(user, { role: "assistant", content: "x" }),
        said({ role: "user", content: parts }),
      ),
    ).toEqual(["hi", "hi", "a\nb"]);
    expect(of("images", said({ role: "user", content: parts }), {})).toEqual([["https://example.com/a"], []]);
    const rule = { role: "developer", content: `Answer in JSON: ${JSON.stringify(SCHEMA)}` };
    const response_format = { type: "json_object" };
    expect(
      of(
        "form",
        { ...said(rule, user), response_format },
        { ...said({ ...rule, role: "system" }, user), response_format },
        said(user),
        { response_format: { type: "json_schema", json_schema: { schema: SCHEMA } } },
      ),
    ).toEqual([SCHEMA, SCHEMA, undefined, SCHEMA]);
  });

  test("have results of tools that came last, and seeds", () => {
    const call = { role: "assistant", tool_calls: [{ id: "a", ...fn("f") }] };
    const result = { role: "tool", tool_call_id: "a", content: "x" };
    const old = { role: "function", name: "f", content: [{ type: "text", text: "y" }] };
    expect(
      of(
        "toolResults",
        { messages: [user, call, result, old] },
        { messages: [user, call, result, user] },
        {},
      ),
    ).toEqual([["x", "y"], [], []]);
    expect(of("seed", {}, { seed: 5 }, { seed: "x" })).toEqual(["d1", "5", "d1"]);
    expect(of("digest", {})).toEqual(["d1"]);
  });

  test("name their tools, in the old words too, and what may be called", () => {
    const grammar = (syntax: string) => ({ format: { grammar: { syntax, definition: "^a$" } } });
    const custom = (more: object) => ({ type: "custom", custom: { name: "c", ...more } });
    const tools = [fn("f", { parameters: SCHEMA }), fn("g")];
    const functions = [{ name: "f", parameters: SCHEMA }, { name: "g" }];
    expect(of("tools", { tools }, { functions }, { tools: [fn("g")], functions }, {})).toEqual([
      [F, G],
      [F, G],
      [G],
      [],
    ]);
    expect(
      of(
        "tools",
        { tools: [custom({})] },
        { tools: [custom(grammar("regex"))] },
        { tools: [custom(grammar("lark"))] },
      ),
    ).toEqual([
      [CUSTOM({ type: "string" })],
      [CUSTOM({ type: "string", pattern: "^a$" })],
      [CUSTOM({ type: "string" })],
    ]);
    const chosen = (tool_choice: unknown) => ({ tools, tool_choice });
    const allowed = (mode: string) =>
      chosen({ type: "allowed_tools", allowed_tools: { mode, tools: [fn("g")] } });
    expect(
      of(
        "toolChoice",
        { tools },
        chosen("none"),
        chosen("required"),
        chosen(fn("f")),
        chosen({ type: "custom", custom: { name: "c" } }),
        allowed("required"),
        allowed("auto"),
        { functions, function_call: { name: "g" } },
        { functions, function_call: "none", tool_choice: "required" },
      ),
    ).toEqual(["auto", "none", "any", { name: "f" }, { name: "c" }, "any", "auto", { name: "g" }, "none"]);
    expect(of("tools", allowed("auto"), chosen("auto"))).toEqual([[G], [F, G]]);
    // As Responses says it: here it says nothing.
    const flat = chosen({
      type: "allowed_tools",
      mode: "required",
      tools: [{ type: "function", name: "g" }],
    });
    expect([of("toolChoice", flat), of("tools", flat)]).toEqual([["auto"], [[F, G]]]);
    expect(of("parallelCalls", { tools }, { tools, parallel_tool_calls: false }, { functions })).toEqual([
      true,
      false,
      false,
    ]);
  });

  test("say how long, how many, until what and with which thinking", () => {
    expect(of("maxTokens", {}, { max_tokens: 5 }, { max_tokens: 5, max_completion_tokens: 6 })).toEqual([
      undefined,
      5,
      6,
    ]);
    expect(of("stop", {}, { stop: "a" }, { stop: ["a", "b"] })).toEqual([[], ["a"], ["a", "b"]]);
    expect(of("choices", {}, { n: 3 })).toEqual([1, 3]);
    const reasoning = (value: unknown) => ({ reasoning: value });
    expect(
      of(
        "thinking",
        {},
        reasoning(null),
        { enable_thinking: true },
        { enable_thinking: false },
        reasoning({ effort: "none" }),
        reasoning({ enabled: false }),
        reasoning({ effort: "low" }),
        reasoning({ effort: "low", exclude: true }),
        reasoning({}),
      ),
    ).toEqual(["none", "none", "shown", "none", "none", "none", "shown", "hidden", "shown"]);
  });

  test("ask for images by their kinds of output, in a shape and a size", () => {
    expect(
      of("image", {}, { modalities: ["text"] }, { modalities: ["image"] }, { modalities: ["image", "text"] }),
    ).toEqual(["none", "none", "only", "with_text"]);
    const config = (image_config: object) => ({ image_config });
    expect(of("aspectRatio", {}, config({ aspect_ratio: "16:9" }), config({ aspect_ratio: "" }))).toEqual([
      undefined,
      "16:9",
      undefined,
    ]);
    const sizes = ["1K", "2K", "4K", "8K"].map((image_size) => config({ image_size }));
    expect(of("imageSize", ...sizes)).toEqual(["1K", "2K", "4K", undefined]);
  });

  test("are refused beyond the model's context", () => {
    expect(tooLong(readChatAsk, base)).toBe(
      "This model's maximum context length is MOST tokens. However, your messages resulted in TOKENS tokens. Please reduce the length of the messages.",
    );
  });
});

describe("messages", () => {
  const user = { role: "user", content: "hi" };
  const base = { messages: [user] };
  const of = asking(readMessagesAsk, base);
  const call = { role: "assistant", content: [{ type: "tool_use", id: "a", name: "f", input: {} }] };
  const result = (...beside: object[]) => ({
    role: "user",
    content: [{ type: "tool_result", tool_use_id: "a", content: [{ type: "text", text: "x" }] }, ...beside],
  });

  test("ask for what the user said last in words, and have results of tools that came last", () => {
    const run = { messages: [user, call, result()] };
    const more = { messages: [user, call, result({ type: "text", text: "more" })] };
    expect(of("userText", {}, run, more)).toEqual(["hi", "hi", "more"]);
    expect(of("toolResults", {}, run, more)).toEqual([[], ["x"], ["x"]]);
    expect(of("seed", {})).toEqual(["d1"]);
    expect(of("choices", {})).toEqual([1]);
    expect(of("image", {})).toEqual(["none"]);
  });

  test("name their tools and what may be called", () => {
    const tools = [
      { name: "f", input_schema: SCHEMA },
      { name: "g", type: "custom" },
      { name: "web_search", type: "web_search_20250305" },
    ];
    expect(of("tools", { tools }, {})).toEqual([[F, G], []]);
    const chosen = (type: string, more: object = {}) => ({ tools, tool_choice: { type, ...more } });
    expect(
      of("toolChoice", {}, chosen("auto"), chosen("any"), chosen("none"), chosen("tool", { name: "f" })),
    ).toEqual(["auto", "auto", "any", "none", { name: "f" }]);
    expect(of("parallelCalls", {}, chosen("auto", { disable_parallel_tool_use: true }))).toEqual([
      true,
      false,
    ]);
  });

  test("say which form, how long, until what and with which thinking", () => {
    const format = { type: "json_schema", schema: SCHEMA };
    expect(
      of(
        "form",
        { output_config: { format } },
        { output_format: format },
        {
          system: [
            { type: "text", text: "x" },
            { type: "text", text: ONE_JSON_OBJECT },
          ],
        },
        { system: ONE_JSON_OBJECT },
        {
          system: [
            { type: "text", text: ONE_JSON_OBJECT },
            { type: "text", text: "x" },
          ],
        },
        { output_config: { format: { type: "text" } } },
      ),
    ).toEqual([SCHEMA, SCHEMA, {}, {}, undefined, undefined]);
    expect(of("maxTokens", {}, { max_tokens: 5 })).toEqual([undefined, 5]);
    expect(of("stop", { stop_sequences: ["a", "b"] })).toEqual([["a", "b"]]);
    const thinking = (type: string, more: object = {}) => ({ thinking: { type, ...more } });
    expect(
      of(
        "thinking",
        {},
        thinking("disabled"),
        thinking("enabled"),
        thinking("adaptive", { display: "omitted" }),
      ),
    ).toEqual(["none", "none", "shown", "hidden"]);
  });

  test("are refused beyond the model's context, the system's words counted", () => {
    expect(tooLong(readMessagesAsk, base)).toBe("prompt is too long: TOKENS tokens > MOST maximum");
    const [bare, ruled] = of("inputTokens", {}, { system: "Be brief." });
    expect(ruled).toBeGreaterThan(bare!);
  });
});

describe("responses", () => {
  const user = { role: "user", content: "hi" };
  const base = { input: [user] };
  const of = asking(readResponsesAsk, base);
  const call = { type: "function_call", call_id: "a", name: "f", arguments: "{}" };
  const output = { type: "function_call_output", call_id: "a", output: "x" };

  test("ask for what the user said last, and have results of tools that came last", () => {
    const parts = [
      { type: "input_text", text: "a" },
      { type: "input_text", text: "b" },
    ];
    expect(of("userText", {}, { input: "said" }, { input: [user, call, output] })).toEqual([
      "hi",
      "said",
      "hi",
    ]);
    expect(of("userText", { input: [{ type: "message", role: "user", content: parts }] })).toEqual(["a\nb"]);
    expect(
      of("toolResults", { input: [user, call, output] }, { input: [user, call, output, user] }, {}),
    ).toEqual([["x"], [], []]);
    expect(of("choices", {})).toEqual([1]);
    expect([of("stop", {}), of("image", {}), of("images", {})]).toEqual([[[]], ["none"], [[]]]);
  });

  test("name their tools, those of namespaces and of items among them, and what may be called", () => {
    const tools = [
      { type: "function", name: "f", parameters: SCHEMA },
      { type: "namespace", name: "n", tools: [{ type: "function", name: "g" }] },
      { type: "web_search" },
    ];
    const custom = { type: "custom", name: "c", format: { syntax: "regex", definition: "^a$" } };
    const brought = { type: "additional_tools", tools: [custom] };
    expect(of("tools", { tools }, { input: [brought, user] }, {})).toEqual([
      [F, { ...G, namespace: "n" } as Ask["tools"][number]],
      [CUSTOM({ type: "string", pattern: "^a$" })],
      [],
    ]);
    const chosen = (tool_choice: unknown) => ({ tools, tool_choice });
    const allowed = (mode: string) => chosen({ type: "allowed_tools", mode, tools: [{ name: "f" }] });
    expect(
      of(
        "toolChoice",
        {},
        chosen("none"),
        chosen("required"),
        chosen({ type: "function", name: "f" }),
        allowed("required"),
        allowed("auto"),
      ),
    ).toEqual(["auto", "none", "any", { name: "f" }, "any", "auto"]);
    expect(of("tools", allowed("auto"))).toEqual([[F]]);
    // As chat completions say it: here it says nothing.
    expect(of("toolChoice", chosen({ type: "function", function: { name: "f" } }))).toEqual(["auto"]);
    expect(of("parallelCalls", {}, { parallel_tool_calls: false })).toEqual([true, false]);
  });

  test("say which form, how long and with which thinking", () => {
    const text = (format: object) => ({ text: { format } });
    const rule = `Answer in JSON: ${JSON.stringify(SCHEMA)}`;
    const json = text({ type: "json_object" });
    expect(
      of(
        "form",
        text({ type: "json_schema", schema: SCHEMA }),
        { ...json, instructions: rule },
        { ...json, input: [{ role: "developer", content: rule }, user] },
        { ...json, input: [{ role: "system", content: rule }, user] },
        text({ type: "text" }),
      ),
    ).toEqual([SCHEMA, SCHEMA, SCHEMA, SCHEMA, undefined]);
    expect(of("maxTokens", {}, { max_output_tokens: 50 })).toEqual([undefined, 50]);
    const reasoning = (value: object) => ({ reasoning: value });
    expect(
      of(
        "thinking",
        {},
        reasoning({ effort: "none", summary: "auto" }),
        reasoning({ effort: null }),
        reasoning({ effort: "low" }),
        reasoning({ effort: "low", summary: "auto" }),
        reasoning({ summary: "auto" }),
      ),
    ).toEqual(["none", "none", "none", "hidden", "shown", "shown"]);
  });

  test("are refused beyond the model's context, instructions counted", () => {
    expect(tooLong(readResponsesAsk, base)).toStartWith("Your input exceeds the context window");
    const [bare, ruled] = of("inputTokens", {}, { instructions: "Be brief." });
    expect(ruled).toBeGreaterThan(bare!);
  });
});

describe("generateContent", () => {
  const turn = (role: string, ...parts: object[]) => ({ role, parts });
  const user = turn("user", { text: "hi" });
  const base = { contents: [user] };
  const of = asking(readGenerateAsk, base);
  const config = (generationConfig: object) => ({ generationConfig });
  const call = turn("model", { functionCall: { name: "f", args: {} }, thoughtSignature: seal.token("a") });
  const response = turn("user", { functionResponse: { name: "f", response: { a: 1 } } });

  test("asks for what the user said last, with the images beside it, and has results that came last", () => {
    const inline = (mimeType: string) => ({ inlineData: { mimeType, data: "AAAA" } });
    const file = { fileData: { mimeType: "image/png", fileUri: "https://example.com/a" } };
    const media = turn("user", { text: "a" }, inline("image/png"), inline("audio/wav"), file, { text: "b" });
    expect(of("userText", {}, { contents: [user, call, response] }, { contents: [media] })).toEqual([
      "hi",
      "hi",
      "a\nb",
    ]);
    expect(of("images", {}, { contents: [media] })).toEqual([
      [],
      ["data:image/png;base64,AAAA", "https://example.com/a"],
    ]);
    expect(
      of(
        "toolResults",
        { contents: [user, call, response] },
        { contents: [user, call, response, turn("model", { text: "x" }), user] },
      ),
    ).toEqual([['{"a":1}'], []]);
    expect(of("seed", {}, config({ seed: 5 }))).toEqual(["d1", "5"]);
  });

  test("names its tools and what may be called", () => {
    const tools = [
      { functionDeclarations: [{ name: "f", parameters: SCHEMA }] },
      { functionDeclarations: [{ name: "g" }] },
    ];
    const chosen = (mode: string, ...allowedFunctionNames: string[]) => ({
      tools,
      toolConfig: { functionCallingConfig: { mode, allowedFunctionNames } },
    });
    expect(of("tools", { tools }, chosen("ANY", "g"), chosen("NONE", "g"), chosen("AUTO", "g"))).toEqual([
      [F, G],
      [G],
      [F, G],
      [F, G],
    ]);
    expect(
      of(
        "tools",
        { tools: [{ functionDeclarations: [{ name: "f", parametersJsonSchema: SCHEMA }] }] },
        chosen("VALIDATED", "f"),
      ),
    ).toEqual([[F], [F]]);
    expect(
      of(
        "toolChoice",
        { tools },
        chosen("NONE"),
        chosen("any"),
        chosen("ANY", "g"),
        chosen("ANY", "f", "g"),
        chosen("VALIDATED", "f"),
        chosen("AUTO"),
      ),
    ).toEqual(["auto", "none", "any", { name: "g" }, "any", "auto", "auto"]);
    expect(of("parallelCalls", {})).toEqual([true]);
  });

  test("says which form, how long, how many, until what and with which thinking", () => {
    const rule = { parts: [{ text: `Answer in JSON: ${JSON.stringify(SCHEMA)}` }] };
    const json = config({ responseMimeType: "application/json" });
    expect(
      of(
        "form",
        config({ responseJsonSchema: SCHEMA }),
        config({ responseSchema: SCHEMA }),
        { ...json, systemInstruction: rule },
        json,
        {},
      ),
    ).toEqual([SCHEMA, SCHEMA, SCHEMA, {}, undefined]);
    expect(of("maxTokens", {}, config({ maxOutputTokens: 5 }))).toEqual([undefined, 5]);
    expect(of("choices", {}, config({ candidateCount: 2 }))).toEqual([1, 2]);
    expect(of("stop", {}, config({ stopSequences: ["a"] }))).toEqual([[], ["a"]]);
    const thinking = (thinkingConfig: object) => config({ thinkingConfig });
    expect(
      of(
        "thinking",
        {},
        thinking({ includeThoughts: true }),
        thinking({ thinkingBudget: 0 }),
        thinking({ thinkingBudget: 1 }),
        thinking({ thinkingBudget: -1 }),
        thinking({ thinkingLevel: "LOW" }),
        thinking({ includeThoughts: false }),
      ),
    ).toEqual(["none", "shown", "none", "hidden", "hidden", "hidden", "none"]);
  });

  test("asks a model of images for one unless it says text, or JSON", () => {
    const drawing = asking(readGenerateAsk, base, contextOf(["text", "image"]));
    const kinds = (...responseModalities: string[]) => config({ responseModalities });
    const bodies = [
      {},
      config({ responseMimeType: "application/json" }),
      kinds(),
      kinds("TEXT"),
      kinds("IMAGE"),
      kinds("TEXT", "IMAGE"),
    ];
    expect(drawing("image", ...bodies)).toEqual([
      "with_text",
      "none",
      "with_text",
      "none",
      "only",
      "with_text",
    ]);
    expect(of("image", ...bodies)).toEqual(bodies.map(() => "none"));
    const shaped = config({ imageConfig: { aspectRatio: "16:9", imageSize: "2K" } });
    expect([drawing("aspectRatio", shaped), drawing("imageSize", shaped)]).toEqual([["16:9"], ["2K"]]);
  });

  test("is refused beyond the model's context, the system's words counted", () => {
    expect(tooLong(readGenerateAsk, base)).toBe(
      "The input token count (TOKENS) exceeds the maximum number of tokens allowed (MOST).",
    );
    const [bare, ruled] = of("inputTokens", {}, { systemInstruction: { parts: [{ text: "Be brief." }] } });
    expect(ruled).toBeGreaterThan(bare!);
  });
});
