import type { Model, ListedProtocolId } from "../core/model.ts";

/** A request as a client would send it. */
export interface MadeUpRequest {
  readonly path: string;
  readonly body: Uint8Array;
}

const TEXT =
  "The parcel was handed to the carrier on Tuesday; “in transit” is all that its page says. Say what is known.\n";

const PARAMETERS = {
  type: "object",
  properties: {
    order: { type: "string", description: "The number of the order" },
    days: { type: "integer", description: TEXT },
    places: { type: "array", items: { type: "string", enum: ["shop", "carrier", "customer"] } },
  },
  required: ["order"],
};

const TOOLS = ["find_order", "ask_carrier", "read_page", "write_note", "list_files", "run_command"].map(
  (name) => ({ name, description: TEXT.repeat(3) }),
);

/** Bodies of each format: a short conversation, and one of an agent with tools. */
const BODIES: Readonly<Record<ListedProtocolId, (model: string) => readonly object[]>> = {
  compat_chat_completions: (model) => [
    {
      model,
      messages: [
        { role: "system", content: TEXT.repeat(4) },
        { role: "user", content: TEXT },
        { role: "assistant", content: TEXT },
        { role: "user", content: TEXT.repeat(2) },
      ],
      max_completion_tokens: 256,
      user: "customer-1",
    },
    {
      model,
      messages: [
        { role: "system", content: TEXT.repeat(20) },
        { role: "user", content: [{ type: "text", text: TEXT }] },
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: "call_1", type: "function", function: { name: "find_order", arguments: '{"order":"1"}' } },
          ],
        },
        { role: "tool", tool_call_id: "call_1", content: TEXT.repeat(8) },
        { role: "assistant", content: TEXT },
        { role: "user", content: TEXT },
      ],
      tools: TOOLS.map((tool) => ({ type: "function", function: { ...tool, parameters: PARAMETERS } })),
      tool_choice: "auto",
      max_tokens: 1024,
    },
  ],
  compat_messages: (model) => [
    {
      model,
      max_tokens: 256,
      system: TEXT.repeat(4),
      messages: [
        { role: "user", content: TEXT },
        { role: "assistant", content: TEXT },
        { role: "user", content: TEXT.repeat(2) },
      ],
      metadata: { user_id: "customer-1" },
    },
    {
      model,
      max_tokens: 1024,
      system: [{ type: "text", text: TEXT.repeat(20), cache_control: { type: "ephemeral" } }],
      messages: [
        { role: "user", content: [{ type: "text", text: TEXT }] },
        {
          role: "assistant",
          content: [
            { type: "text", text: TEXT },
            { type: "tool_use", id: "toolu_1", name: "find_order", input: { order: "1" } },
          ],
        },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "toolu_1", content: TEXT.repeat(8) }],
        },
        { role: "assistant", content: TEXT },
        { role: "user", content: TEXT },
      ],
      tools: TOOLS.map((tool) => ({ ...tool, input_schema: PARAMETERS })),
    },
  ],
  compat_generate_content: () => [
    {
      systemInstruction: { parts: [{ text: TEXT.repeat(4) }] },
      contents: [
        { role: "user", parts: [{ text: TEXT }] },
        { role: "model", parts: [{ text: TEXT }] },
        { role: "user", parts: [{ text: TEXT.repeat(2) }] },
      ],
      generationConfig: { maxOutputTokens: 256 },
    },
    {
      systemInstruction: { parts: [{ text: TEXT.repeat(20) }] },
      contents: [
        { role: "user", parts: [{ text: TEXT }] },
        { role: "model", parts: [{ functionCall: { name: "find_order", args: { order: "1" } } }] },
        {
          role: "user",
          parts: [{ functionResponse: { name: "find_order", response: { text: TEXT.repeat(8) } } }],
        },
        { role: "model", parts: [{ text: TEXT }] },
        { role: "user", parts: [{ text: TEXT }] },
      ],
      tools: [
        {
          functionDeclarations: TOOLS.map(({ name, description }) => ({
            name,
            description,
            parameters: PARAMETERS,
          })),
        },
      ],
      generationConfig: { maxOutputTokens: 1024 },
    },
  ],
};

/** Requests to a model in a format, plain and streamed. */
export function requestsIn(format: ListedProtocolId, { id }: Pick<Model, "id">): readonly MadeUpRequest[] {
  return BODIES[format](id).flatMap((body) =>
    [false, true].map((stream) => {
      const asked = stream && format !== "compat_generate_content" ? { ...body, stream } : body;
      return { path: pathOf(format, id, stream), body: new TextEncoder().encode(JSON.stringify(asked)) };
    }),
  );
}

function pathOf(format: ListedProtocolId, id: string, stream: boolean): string {
  switch (format) {
    case "compat_chat_completions":
      return "/api/v1/chat/completions";
    case "compat_messages":
      return "/api/v1/messages";
    case "compat_generate_content":
      return `/api/v1/models/${id}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`;
  }
}
