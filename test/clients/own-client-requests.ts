import type { JsonObject } from "../../src/core/json/json-value.ts";
import type { ClientRequest } from "./client-request.ts";

// Requests in the shapes that agents and libraries send, written by us: what a clone alone is tested with. Long texts and
// what a model has signed stand as their lengths, as in those that were recorded.

const JSON_TYPE = { "content-type": "application/json" };
const ANTHROPIC = { ...JSON_TYPE, "anthropic-version": "2023-06-01" };
const EPHEMERAL = { type: "ephemeral" };

/** As long as an agent's instructions are. */
const INSTRUCTIONS = "… 9000 characters";
const SIGNATURE = "… 88 characters";

const PATH_SCHEMA = {
  type: "object",
  properties: {
    file_path: { type: "string", description: "Absolute path of the file." },
    offset: { type: "integer", minimum: 0 },
    limit: { type: "integer", exclusiveMinimum: 0, maximum: 9_007_199_254_740_991 },
  },
  required: ["file_path"],
  additionalProperties: false,
};
const COMMAND_SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: {
    command: { type: "string" },
    timeout: { type: ["number", "null"], description: "Milliseconds." },
    run_in_background: { type: "boolean", default: false },
  },
  required: ["command"],
};
const TODO_SCHEMA = {
  type: "object",
  properties: {
    todos: {
      type: "array",
      items: {
        type: "object",
        properties: {
          content: { type: "string", minLength: 1 },
          status: { enum: ["pending", "in_progress", "completed"] },
        },
        required: ["content", "status"],
      },
    },
  },
  required: ["todos"],
};
const SCHEMAS = { read_file: PATH_SCHEMA, run_shell_command: COMMAND_SCHEMA, todo_write: TODO_SCHEMA };
const DESCRIPTION = "… 600 characters";
const chatTools = Object.entries(SCHEMAS).map(([name, parameters]) => ({
  type: "function",
  function: { name, description: DESCRIPTION, parameters },
}));
const messagesTools = Object.entries(SCHEMAS).map(([name, schema]) => ({
  name,
  description: DESCRIPTION,
  input_schema: schema,
}));
const geminiTools = [
  {
    functionDeclarations: Object.entries(SCHEMAS).map(([name, schema]) => ({
      name,
      description: DESCRIPTION,
      parametersJsonSchema: schema,
    })),
  },
];

const chat = (client: string, body: JsonObject): Shape => ({
  client,
  endpoint: "chat-completions",
  path: "/api/v1/chat/completions",
  headers: JSON_TYPE,
  body,
});
const messages = (client: string, body: JsonObject, headers = {}, path = "/api/v1/messages"): Shape => ({
  client,
  endpoint: "messages",
  path,
  headers: { ...ANTHROPIC, ...headers },
  body,
});
const stream = (client: string, body: JsonObject): Shape => ({
  client,
  endpoint: "streamGenerateContent",
  path: "/api/v1/models/google/gemini-3.8-flash:streamGenerateContent?alt=sse",
  headers: JSON_TYPE,
  body,
});

type Shape = Omit<ClientRequest, "name">;

const GPT = "openai/gpt-5.6-luna";
const USAGE = { include_usage: true };

function agentsOfMessages(): readonly Shape[] {
  const betas = [
    "claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27",
    "prompt-caching-scope-2026-01-05,mid-conversation-system-2026-04-07,effort-2025-11-24",
  ].join(",");
  const system = [
    { type: "text", text: "You are a coding agent." },
    { type: "text", text: "You work by tools.", cache_control: EPHEMERAL },
    { type: "text", text: INSTRUCTIONS, cache_control: EPHEMERAL },
  ];
  const agent = {
    system,
    tools: messagesTools,
    metadata: { user_id: "user_0_account__session_0" },
    max_tokens: 32_000,
    thinking: { type: "adaptive" },
    context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
    output_config: { effort: "high" },
    stream: true,
  };
  const asking = [
    {
      role: "user",
      content: [
        { type: "text", text: "<reminder>\nBe kind.\n</reminder>" },
        { type: "text", text: "hi" },
      ],
    },
    { role: "system", content: "The folder has changed." },
  ];
  const ids = ["toolu_01", "toolu_02"];
  const names = ["read_file", "run_shell_command"];
  const inputs = [{ file_path: "/a" }, { command: "ls" }];
  const calls = ids.map((id, i) => ({ type: "tool_use", id, name: names[i], input: inputs[i] }));
  const results = [
    { tool_use_id: ids[1], type: "tool_result", content: "a b", is_error: false },
    {
      tool_use_id: ids[0],
      type: "tool_result",
      content: [{ type: "text", text: "No such file." }],
      is_error: true,
      cache_control: EPHEMERAL,
    },
  ];
  const path = "/api/v1/messages?beta=true";
  const beta = { "anthropic-beta": betas };
  const opus = "anthropic/claude-opus-5.5";
  const haiku = "anthropic/claude-haiku-4.5";
  return [
    messages("like Claude Code", { model: opus, messages: asking, ...agent }, beta, path),
    messages(
      "like Claude Code",
      {
        model: opus,
        messages: [
          ...asking,
          {
            role: "assistant",
            content: [{ type: "thinking", thinking: "… 200 characters", signature: SIGNATURE }, ...calls],
          },
          { role: "user", content: results },
        ],
        ...agent,
      },
      beta,
      path,
    ),
    messages(
      "like Claude Code",
      { model: "claude-haiku-4-5", max_tokens: 1, messages: [{ role: "user", content: "quota" }] },
      {},
      path,
    ),
    messages("like opencode", {
      model: haiku,
      max_tokens: 32_000,
      system: [{ type: "text", text: INSTRUCTIONS, cache_control: EPHEMERAL }],
      messages: [
        { role: "user", content: [{ type: "text", text: "Run ls." }] },
        { role: "assistant", content: [{ ...calls[1], cache_control: EPHEMERAL }] },
        { role: "user", content: [{ ...results[0], cache_control: EPHEMERAL }] },
      ],
      tools: messagesTools,
      tool_choice: { type: "auto" },
      stream: true,
    }),
    messages("like aider", {
      model: haiku,
      messages: [
        { role: "user", content: [{ type: "text", text: "Change the greeting." }] },
        { role: "assistant", content: [{ type: "text", text: "Ok." }] },
        { role: "user", content: [{ type: "text", text: INSTRUCTIONS }] },
      ],
      temperature: 0,
      system: [{ type: "text", text: "Act as a developer." }],
      max_tokens: 4_096,
      stream: true,
    }),
    {
      ...messages("like Claude Code", {
        model: opus,
        messages: [{ role: "user", content: "foo" }],
        tools: messagesTools,
      }),
      endpoint: "messages-count_tokens",
      path: "/api/v1/messages/count_tokens?beta=true",
    },
  ];
}

function agentsOfGemini(): readonly Shape[] {
  const asking = { role: "user", parts: [{ text: INSTRUCTIONS }, { text: "List the folder." }] };
  const call = (name: string, args: object, more: object = {}): object => ({
    role: "model",
    parts: [{ functionCall: { id: name, name, args }, ...more }],
  });
  const answer = (name: string): object => ({
    functionResponse: { id: name, name, response: { output: "a b" } },
  });
  const agent = {
    systemInstruction: { role: "user", parts: [{ text: INSTRUCTIONS }] },
    tools: geminiTools,
    generationConfig: { temperature: 1, topP: 0.95, topK: 64, thinkingConfig: { includeThoughts: true } },
  };
  const calls = [
    call("read_file", { file_path: "/a" }, { thoughtSignature: SIGNATURE }),
    call("run_shell_command", { command: "ls" }),
  ];
  return [
    stream("like Gemini CLI", { contents: [asking], ...agent }),
    stream("like Gemini CLI", {
      contents: [asking, calls[0], { role: "user", parts: [answer("read_file")] }],
      ...agent,
    }),
    stream("like a streamed chat of @google/genai", {
      contents: [
        asking,
        ...calls,
        { role: "user", parts: [answer("read_file"), answer("run_shell_command")] },
      ],
      ...agent,
    }),
    stream("like LangChain", {
      generationConfig: { stopSequences: [] },
      safetySettings: [],
      tools: geminiTools,
      contents: [
        asking,
        {
          role: "model",
          parts: [
            { functionCall: { name: "read_file", args: {} }, thoughtSignature: SIGNATURE },
            { functionCall: { name: "todo_write", args: {} }, thoughtSignature: "… 420 characters" },
          ],
        },
        { role: "user", parts: [{ functionResponse: { name: "read_file", response: { result: "1" } } }] },
        { role: "user", parts: [{ functionResponse: { name: "todo_write", response: { result: "1" } } }] },
      ],
    }),
    stream("like opencode", {
      generationConfig: { maxOutputTokens: 32_000 },
      contents: [asking],
      systemInstruction: { parts: [{ text: INSTRUCTIONS }] },
      tools: geminiTools,
      toolConfig: { functionCallingConfig: { mode: "AUTO" } },
    }),
    {
      ...stream("like Gemini CLI", {
        contents: [
          { role: "user", parts: [{ text: INSTRUCTIONS }] },
          { role: "user", parts: [{ text: "hi" }] },
        ],
        systemInstruction: { role: "user", parts: [{ text: "Judge how hard this is." }] },
        generationConfig: {
          temperature: 1,
          topP: 0.95,
          topK: 64,
          responseMimeType: "application/json",
          responseJsonSchema: {
            type: "OBJECT",
            properties: { reason: { type: "STRING" }, score: { type: "INTEGER" } },
            required: ["reason", "score"],
          },
          thinkingConfig: { includeThoughts: true, thinkingLevel: "HIGH" },
        },
      }),
      endpoint: "generateContent",
      path: "/api/v1/models/google/gemini-3.8-flash:generateContent",
    },
  ];
}

function agentsOfChat(): readonly Shape[] {
  const system = { role: "system", content: INSTRUCTIONS };
  const calls = [
    { id: "call_1", type: "function", function: { name: "read_file", arguments: '{"file_path":"/a"}' } },
    {
      id: "call_2",
      type: "function",
      function: { name: "run_shell_command", arguments: '{"command":"ls"}' },
    },
  ];
  const results = calls.map(({ id }) => ({
    role: "tool",
    tool_call_id: id,
    content: [{ type: "text", text: "a b" }],
  }));
  const asking = { role: "user", content: [{ type: "text", text: "List the folder." }] };
  const streamed = { stream: true, stream_options: USAGE };
  return [
    chat("like Cline", {
      model: GPT,
      messages: [system, asking],
      tools: chatTools,
      tool_choice: "auto",
      ...streamed,
    }),
    chat("like opencode", {
      model: GPT,
      max_tokens: 32_000,
      reasoning_effort: "medium",
      messages: [
        system,
        { role: "user", content: '"Run ls."' },
        { role: "assistant", content: "", tool_calls: [calls[1]] },
        { role: "tool", tool_call_id: "call_2", content: "a b\n" },
      ],
      tools: chatTools,
      tool_choice: "auto",
      ...streamed,
    }),
    chat("like opencode", {
      model: "anthropic/claude-haiku-4.5",
      max_tokens: 32_000,
      messages: [system, asking],
      ...streamed,
    }),
    chat("like Qwen Code", {
      model: "alibaba/qwen3.7-max",
      messages: [system, asking, { role: "assistant", content: null, tool_calls: calls }, ...results],
      ...streamed,
      tools: chatTools,
      max_tokens: 8_000,
    }),
    chat("like aider", {
      model: GPT,
      messages: [system, asking, { role: "assistant", content: "Ok." }, asking],
      stream: true,
    }),
    chat("like llm", { model: GPT, messages: [{ role: "user", content: "hi" }], stream: false }),
    chat("like llm", {
      model: GPT,
      messages: [{ role: "user", content: "a dog" }],
      response_format: { type: "json_schema", json_schema: { name: "output", schema: PATH_SCHEMA } },
      ...streamed,
    }),
    {
      ...chat("like Codex", {
        model: GPT,
        input: [{ type: "message", role: "user", content: "hi" }],
        stream: true,
      }),
      endpoint: "responses",
      path: "/api/v1/responses",
    },
  ];
}

/** The shapes. */
export const OWN_CLIENT_REQUESTS: readonly ClientRequest[] = [
  ...agentsOfMessages(),
  ...agentsOfGemini(),
  ...agentsOfChat(),
].map((shape, i) => Object.assign({ name: `${i + 1}: ${shape.client}, ${shape.endpoint}` }, shape));
