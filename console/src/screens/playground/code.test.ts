import { expect, test } from "bun:test";
import { callOf, type FormatId, FORMATS, pythonOf } from "./code.ts";
import type { ChatBody } from "./formats.ts";

const url = "https://gateway.example/";
const full: ChatBody = {
  model: "openai/gpt-5.6-luna",
  messages: [
    { role: "system", content: "Be short." },
    {
      role: "user",
      content: [
        { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
        { type: "text", text: "it's this" },
      ],
    },
    {
      role: "assistant",
      content: null,
      reasoning_details: [{ type: "thinking", thinking: "t", signature: "s" }],
      tool_calls: [{ id: "c1", type: "function", function: { name: "weather", arguments: '{"city":"X"}' } }],
    },
    { role: "tool", tool_call_id: "c1", content: '{"ok":true}' },
  ],
  stream: true,
  temperature: 0.5,
  max_completion_tokens: 100,
  stop: "END",
  reasoning_effort: "low",
  tool_choice: "required",
  tools: [
    { type: "function", function: { name: "weather", description: "d", parameters: { type: "object" } } },
  ],
  response_format: { type: "json_schema", json_schema: { name: "answer", schema: { type: "object" } } },
};

/** The body of the curl call in a format, as a shell would hand it on. */
function bodyOf(format: FormatId, chat: ChatBody = full): unknown {
  const { code } = callOf(format, "curl", url, chat);
  const [, quoted = ""] = /-d '([\s\S]*)'$/.exec(code) ?? [];
  return JSON.parse(quoted.replaceAll(String.raw`'\''`, "'"));
}

test("each format is called at its own address", () => {
  const paths = {
    chat: "chat/completions",
    responses: "responses",
    messages: "messages",
    generate: "models/openai/gpt-5.6-luna:generateContent",
  };
  for (const { id } of FORMATS)
    expect(callOf(id, "curl", url, full).code.split(" ")[1]).toBe(
      `https://gateway.example/api/v1/${paths[id]}`,
    );
});

test("chat completions are sent as they were, unstreamed", () => {
  const { stream: _, ...body } = full;
  expect(bodyOf("chat")).toEqual(body);
});

test("Responses have items, a budget and a format of their own", () => {
  expect(bodyOf("responses")).toEqual({
    model: "openai/gpt-5.6-luna",
    instructions: "Be short.",
    input: [
      {
        role: "user",
        content: [
          { type: "input_image", image_url: "data:image/png;base64,AAAA" },
          { type: "input_text", text: "it's this" },
        ],
      },
      { type: "function_call", call_id: "c1", name: "weather", arguments: '{"city":"X"}' },
      { type: "function_call_output", call_id: "c1", output: '{"ok":true}' },
    ],
    max_output_tokens: 100,
    temperature: 0.5,
    reasoning: { effort: "low" },
    tools: [{ type: "function", name: "weather", description: "d", parameters: { type: "object" } }],
    tool_choice: "required",
    text: { format: { type: "json_schema", name: "answer", schema: { type: "object" } } },
  });
  expect(callOf("responses", "curl", url, full).leftOut).toEqual(["stop"]);
});

test("messages have blocks, and signed thinking goes along", () => {
  expect(bodyOf("messages")).toEqual({
    model: "openai/gpt-5.6-luna",
    max_tokens: 100,
    system: "Be short.",
    messages: [
      {
        role: "user",
        content: [
          { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
          { type: "text", text: "it's this" },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "t", signature: "s" },
          { type: "tool_use", id: "c1", name: "weather", input: { city: "X" } },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: '{"ok":true}' }] },
    ],
    temperature: 0.5,
    stop_sequences: ["END"],
    output_config: { effort: "low", format: { type: "json_schema", schema: { type: "object" } } },
    tools: [{ name: "weather", description: "d", input_schema: { type: "object" } }],
    tool_choice: { type: "any" },
  });
});

test("messages say a bound on the output, and results stand in one turn with what follows", () => {
  const chat = {
    ...full,
    max_completion_tokens: undefined,
    messages: [...full.messages.slice(1), ...full.messages.slice(1, 2)],
  };
  const body = bodyOf("messages", chat) as { max_tokens: number; messages: { role: string }[] };
  expect(body.max_tokens).toBeGreaterThan(0);
  expect(body.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
});

test("generateContent has parts and a configuration", () => {
  expect(bodyOf("generate")).toEqual({
    contents: [
      {
        role: "user",
        parts: [{ inlineData: { mimeType: "image/png", data: "AAAA" } }, { text: "it's this" }],
      },
      { role: "model", parts: [{ functionCall: { name: "weather", args: { city: "X" } } }] },
      {
        role: "user",
        parts: [{ functionResponse: { name: "weather", response: { result: { ok: true } } } }],
      },
    ],
    systemInstruction: { parts: [{ text: "Be short." }] },
    tools: [
      {
        functionDeclarations: [
          { name: "weather", description: "d", parametersJsonSchema: { type: "object" } },
        ],
      },
    ],
    toolConfig: { functionCallingConfig: { mode: "ANY" } },
    generationConfig: {
      temperature: 0.5,
      maxOutputTokens: 100,
      stopSequences: ["END"],
      responseMimeType: "application/json",
      responseJsonSchema: { type: "object" },
    },
  });
  expect(callOf("generate", "curl", url, full).leftOut).toEqual(["reasoning_effort"]);
});

test("a call by an SDK names the model, reads the key, and says what installs it", () => {
  for (const { id } of FORMATS)
    for (const tongue of ["typescript", "python"] as const) {
      const { code, install } = callOf(id, tongue, url, full);
      expect(code).toContain('"openai/gpt-5.6-luna"');
      expect(code).toContain("SWITCHYARD_KEY");
      expect(install).toStartWith(tongue === "python" ? "pip install" : "npm install");
    }
});

test("Google's SDKs take all but the contents as a configuration", () => {
  const { code } = callOf("generate", "typescript", url, full);
  const [, given = ""] = /generateContent\(([\s\S]*)\);\n/.exec(code) ?? [];
  expect(JSON.parse(given)).toMatchObject({
    config: { temperature: 0.5, toolConfig: {}, systemInstruction: {} },
  });
  const python = callOf("generate", "python", url, full).code;
  expect(python).toStartWith("import base64\n");
  expect(python).toContain('types.Part.from_bytes(data=base64.b64decode("AAAA"), mime_type="image/png")');
});

test("what OpenAI's SDK for Python has no argument for goes as extra body", () => {
  const chat = { ...full, thinking: { type: "enabled" } };
  expect(callOf("chat", "python", url, chat).code).toContain('extra_body={\n        "thinking"');
});

test("JSON is written as Python", () => {
  expect(pythonOf({ a: [true, null, 1.5, "x\n"], b: {}, c: [] })).toBe(
    '{\n    "a": [\n        True,\n        None,\n        1.5,\n        "x\\n",\n    ],\n    "b": {},\n    "c": [],\n}',
  );
});
