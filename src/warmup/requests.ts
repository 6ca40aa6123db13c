import type { Model, ListedProtocolId } from "../core/model.ts";

/** A request as a client would send it. */
export interface MadeUpRequest {
  readonly path: string;
  readonly body: Uint8Array;
}

const TEXT =
  "The parcel was handed to the carrier on Tuesday; “in transit” is all that its page says. Say what is known.\n";

/** As much of it as stands in the parts of a conversation. */
const SYSTEM = TEXT.repeat(4);
const AGENT_SYSTEM = TEXT.repeat(20);
const QUESTION = TEXT.repeat(2);
const RESULT = TEXT.repeat(8);

/** Tokens of output that are asked for, in a conversation and by an agent. */
const FEW_TOKENS = 256;
const MANY_TOKENS = 1024;

/** A schema as an agent sends it. */
const PARAMETERS = {
  type: "object",
  properties: {
    order: { type: "string", description: "The number of the order" },
    days: { type: "integer", description: "For how many days to look back" },
    places: { type: "array", items: { type: "string", enum: "the shop, the carrier".split(", ") } },
  },
  required: ["order"],
};

const NAMES = "find_order ask_carrier read_page write_note list_files run_command".split(" ");
const TOOLS = NAMES.map((name) => ({ name, description: TEXT }));

/** The call of a tool in an agent's conversation. */
const [CALLED] = NAMES;
const CALL_ID = "call_1";
const INPUT = { order: TEXT };

const CUSTOMER = "the first customer";

/** Bodies of each format: a short conversation, and one of an agent with tools. */
const BODIES: Readonly<Record<ListedProtocolId, (model: string) => readonly object[]>> = {
  compat_chat_completions: (model) => [
    {
      model,
      messages: [
        { role: "system", content: SYSTEM },
        { role: "user", content: TEXT },
        { role: "assistant", content: TEXT },
        { role: "user", content: QUESTION },
      ],
      max_completion_tokens: FEW_TOKENS,
      user: CUSTOMER,
    },
    {
      model,
      messages: [
        { role: "system", content: AGENT_SYSTEM },
        { role: "user", content: [{ type: "text", text: TEXT }] },
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: CALL_ID, type: "function", function: { name: CALLED, arguments: JSON.stringify(INPUT) } },
          ],
        },
        { role: "tool", tool_call_id: CALL_ID, content: RESULT },
        { role: "assistant", content: TEXT },
        { role: "user", content: TEXT },
      ],
      tools: TOOLS.map((tool) => ({ type: "function", function: { ...tool, parameters: PARAMETERS } })),
      tool_choice: "auto",
      max_tokens: MANY_TOKENS,
    },
  ],
  compat_messages: (model) => [
    {
      model,
      max_tokens: FEW_TOKENS,
      system: SYSTEM,
      messages: [
        { role: "user", content: TEXT },
        { role: "assistant", content: TEXT },
        { role: "user", content: QUESTION },
      ],
      metadata: { user_id: CUSTOMER },
    },
    {
      model,
      max_tokens: MANY_TOKENS,
      system: [{ type: "text", text: AGENT_SYSTEM, cache_control: { type: "ephemeral" } }],
      messages: [
        { role: "user", content: [{ type: "text", text: TEXT }] },
        {
          role: "assistant",
          content: [
            { type: "text", text: TEXT },
            { type: "tool_use", id: CALL_ID, name: CALLED, input: INPUT },
          ],
        },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: CALL_ID, content: RESULT }],
        },
        { role: "assistant", content: TEXT },
        { role: "user", content: TEXT },
      ],
      tools: TOOLS.map((tool) => ({ ...tool, input_schema: PARAMETERS })),
    },
  ],
  compat_generate_content: () => [
    {
      systemInstruction: { parts: [{ text: SYSTEM }] },
      contents: [
        { role: "user", parts: [{ text: TEXT }] },
        { role: "model", parts: [{ text: TEXT }] },
        { role: "user", parts: [{ text: QUESTION }] },
      ],
      generationConfig: { maxOutputTokens: FEW_TOKENS },
    },
    {
      systemInstruction: { parts: [{ text: AGENT_SYSTEM }] },
      contents: [
        { role: "user", parts: [{ text: TEXT }] },
        { role: "model", parts: [{ functionCall: { name: CALLED, args: INPUT } }] },
        {
          role: "user",
          parts: [{ functionResponse: { name: CALLED, response: { text: RESULT } } }],
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
      generationConfig: { maxOutputTokens: MANY_TOKENS },
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
