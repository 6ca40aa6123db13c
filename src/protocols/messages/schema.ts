import { Type, type Static, type TSchema } from "typebox";

/** A member that may also be null, which says the same as leaving it out. */
const nullable = <S extends TSchema>(schema: S) => Type.Optional(Type.Union([schema, Type.Null()]));

/** An image or a document: where it is, or what it is. What each kind needs is checked in `blocks.ts`. */
const Source = Type.Object({
  type: Type.String({ description: "base64, url, file, text or content" }),
  media_type: nullable(Type.String()),
  data: nullable(Type.String()),
  url: nullable(Type.String()),
  file_id: nullable(Type.String()),
  content: nullable(Type.Union([Type.String(), Type.Array(Type.Unknown())])),
});

/** A content block, as far as it is read here. A type that is not known is for the provider to judge. */
export const BlockSchema = Type.Object({
  type: Type.String({
    description: "text, image, document, thinking, redacted_thinking, tool_use, tool_result and others",
  }),
  text: nullable(Type.String()),
  source: nullable(Type.Union([Source, Type.String()])),
  thinking: nullable(Type.String()),
  signature: nullable(Type.String()),
  data: nullable(Type.String()),
  id: nullable(Type.String()),
  name: nullable(Type.String()),
  input: Type.Optional(Type.Unknown()),
  tool_use_id: nullable(Type.String()),
  content: Type.Optional(Type.Unknown()),
  title: nullable(Type.String()),
  context: nullable(Type.String()),
  is_error: nullable(Type.Boolean()),
  citations: Type.Optional(Type.Unknown()),
  tool: Type.Optional(Type.Unknown()),
});

const Message = Type.Object({
  role: Type.Enum(["user", "assistant", "system"]),
  content: Type.Union([Type.String(), Type.Array(BlockSchema)]),
});

const Tool = Type.Object({
  type: nullable(Type.String({ minLength: 1, description: "Absent or custom for a tool of the client" })),
  name: nullable(Type.String({ minLength: 1, maxLength: 128 })),
  description: nullable(Type.String()),
  input_schema: nullable(Type.Object({})),
  max_uses: nullable(Type.Integer({ minimum: 1 })),
  max_content_tokens: nullable(Type.Integer({ minimum: 1 })),
});

const Thinking = Type.Object({
  type: Type.Enum(["enabled", "disabled", "adaptive", "between_tools"]),
  budget_tokens: nullable(Type.Integer({ minimum: 0 })),
  display: nullable(Type.Enum(["summarized", "omitted"])),
});

const OutputConfig = Type.Object({
  effort: nullable(Type.Enum(["low", "medium", "high", "xhigh", "max"])),
  format: nullable(Type.Object({ type: Type.String() })),
});

/** The fields that say what the input is. */
const Input = {
  model: Type.String({
    minLength: 1,
    description: "Model id, <vendor>/<model-name>, or another name of the model",
  }),
  messages: Type.Array(Message, { minItems: 1, maxItems: 10_000 }),
  system: Type.Optional(Type.Union([Type.String(), Type.Array(BlockSchema)])),
  tools: Type.Optional(Type.Array(Tool, { maxItems: 1_024 })),
  tool_choice: Type.Optional(
    Type.Object({
      type: Type.Enum(["auto", "any", "tool", "none"]),
      name: nullable(Type.String({ minLength: 1 })),
      disable_parallel_tool_use: nullable(Type.Boolean()),
    }),
  ),
  thinking: Type.Optional(Thinking),
  output_config: Type.Optional(OutputConfig),
  context_management: Type.Optional(
    Type.Object({ edits: nullable(Type.Array(Type.Object({ type: Type.String() }))) }),
  ),
};

/** Body of `POST /api/v1/messages`; a field that is null counts as left out. Fields that it does not name are looked up in `fields.ts`. */
export const MessagesRequestSchema = Type.Object(
  {
    max_tokens: Type.Integer({ minimum: 0, description: "The most output, thinking included" }),
    ...Input,
    stream: Type.Optional(Type.Boolean({ default: false })),
    temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
    top_p: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
    top_k: Type.Optional(Type.Integer({ minimum: 0 })),
    stop_sequences: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { maxItems: 8_192 })),
    metadata: Type.Optional(Type.Object({ user_id: nullable(Type.String()) })),
    service_tier: Type.Optional(Type.String()),
  },
  { title: "MessagesRequest", additionalProperties: true },
);

/** Body of `POST /api/v1/messages/count_tokens`. Other fields of a request are not looked at. */
export const CountRequestSchema = Type.Object(Input, {
  title: "CountTokensRequest",
  additionalProperties: true,
});

export type MessagesRequestBody = Static<typeof MessagesRequestSchema>;
/** What a request and a count of it have in common. */
export type MessagesInput = Static<typeof CountRequestSchema>;
export type ContentBlock = Static<typeof BlockSchema>;
export type MessagesTool = Static<typeof Tool>;

/** Answer of `POST /api/v1/messages` without streaming. */
export const MessagesAnswerSchema = Type.Object(
  {
    id: Type.String(),
    type: Type.Literal("message"),
    role: Type.Literal("assistant"),
    model: Type.String(),
    content: Type.Array(Type.Object({ type: Type.String() }, { additionalProperties: true }), {
      description: "text, tool_use, thinking and other blocks",
    }),
    stop_reason: Type.Union([Type.String(), Type.Null()], {
      description: "end_turn, max_tokens, stop_sequence, tool_use, pause_turn or refusal",
    }),
    stop_sequence: Type.Union([Type.String(), Type.Null()]),
    usage: Type.Object(
      { input_tokens: Type.Integer(), output_tokens: Type.Integer() },
      { additionalProperties: true },
    ),
    credit: Type.Number({ description: "Cost in credits, exact to six decimals" }),
  },
  { title: "Message", additionalProperties: true },
);

/** Answer of `POST /api/v1/messages/count_tokens`. */
export const CountAnswerSchema = Type.Object(
  { input_tokens: Type.Integer({ minimum: 1 }) },
  { title: "MessageTokensCount", additionalProperties: true },
);
