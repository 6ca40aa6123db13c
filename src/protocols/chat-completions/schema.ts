import { Type, type Static, type TSchema } from "typebox";

/** Parts of a message. What each needs besides its type is checked in `request.ts`. */
export const PART_TYPES = [
  "text",
  "refusal",
  "image_url",
  "video_url",
  "audio_url",
  "input_audio",
  "file",
] as const;

const Link = Type.Object({ url: Type.String({ minLength: 1, maxLength: 64 * 1024 * 1024 }) });

/** A member that may also be null, which says the same as leaving it out. */
const nullable = <S extends TSchema>(schema: S) => Type.Optional(Type.Union([schema, Type.Null()]));

const Part = Type.Object({
  type: Type.String({ description: `One of ${PART_TYPES.join(", ")}` }),
  text: nullable(Type.String()),
  refusal: nullable(Type.String()),
  image_url: nullable(Link),
  video_url: nullable(Link),
  audio_url: nullable(Link),
  input_audio: nullable(Type.Object({ data: Type.String({ minLength: 1 }), format: Type.String() })),
  file: nullable(
    Type.Object({
      file_data: nullable(Type.String({ minLength: 1 })),
      file_id: nullable(Type.String({ minLength: 1 })),
      filename: nullable(Type.String()),
    }),
  ),
});

const ReasoningDetail = Type.Object({
  type: Type.String(),
  thinking: nullable(Type.String()),
  signature: nullable(Type.String()),
});

const ToolCall = Type.Object({
  id: nullable(Type.String()),
  type: nullable(Type.String()),
  function: nullable(Type.Object({ name: Type.String(), arguments: nullable(Type.String()) })),
});

const Message = Type.Object({
  role: Type.Enum(["system", "developer", "user", "assistant", "tool", "function"]),
  content: Type.Optional(Type.Union([Type.String(), Type.Array(Part), Type.Null()])),
  tool_calls: nullable(Type.Array(ToolCall)),
  tool_call_id: nullable(Type.String({ minLength: 1 })),
  reasoning_details: nullable(Type.Array(ReasoningDetail)),
  images: nullable(Type.Array(Type.Object({ type: Type.String(), image_url: Link }))),
});

const Tool = Type.Object({
  type: nullable(Type.Enum(["function", "custom"])),
  function: nullable(
    Type.Object({
      name: Type.String({ pattern: "^[a-zA-Z0-9_.:-]{1,128}$" }),
      description: nullable(Type.String()),
      parameters: nullable(Type.Object({})),
    }),
  ),
  custom: nullable(Type.Object({ name: Type.String({ pattern: "^[a-zA-Z0-9_.:-]{1,128}$" }) })),
});

const Thinking = Type.Object({
  type: nullable(Type.Enum(["enabled", "disabled", "adaptive"])),
  budget_tokens: nullable(Type.Integer({ minimum: 1 })),
});

/** Body of `POST /api/v1/chat/completions`; a field that is null counts as left out. Fields that it does not name are looked up in `fields.ts`. */
export const ChatRequestSchema = Type.Object(
  {
    model: Type.String({
      minLength: 1,
      description: "Model id, <vendor>/<model-name>, or another name of the model",
    }),
    messages: Type.Array(Message, { minItems: 1, maxItems: 10_000 }),
    stream: Type.Optional(Type.Boolean({ default: false })),
    stream_options: Type.Optional(Type.Object({ include_usage: nullable(Type.Boolean()) })),
    temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
    top_p: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
    max_completion_tokens: Type.Optional(Type.Integer({ minimum: 1, description: "Reasoning included" })),
    max_tokens: Type.Optional(
      Type.Integer({ minimum: 1, description: "Deprecated alias of max_completion_tokens" }),
    ),
    stop: Type.Optional(
      Type.Union([
        Type.String({ minLength: 1 }),
        Type.Array(Type.String({ minLength: 1 }), { maxItems: 16 }),
        Type.Null(),
      ]),
    ),
    presence_penalty: Type.Optional(Type.Number({ minimum: -2, maximum: 2 })),
    frequency_penalty: Type.Optional(Type.Number({ minimum: -2, maximum: 2 })),
    n: Type.Optional(Type.Integer({ minimum: 1, maximum: 128 })),
    tools: Type.Optional(Type.Array(Tool, { maxItems: 1_024 })),
    tool_choice: Type.Optional(
      Type.Union([Type.Enum(["none", "auto", "required"]), Type.Object({ type: Type.String() })]),
    ),
    parallel_tool_calls: Type.Optional(Type.Boolean()),
    reasoning: Type.Optional(
      Type.Object({ effort: Type.Optional(Type.Union([Type.String(), Type.Null()])) }),
    ),
    reasoning_effort: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    thinking: Type.Optional(Thinking),
    modalities: Type.Optional(
      Type.Array(Type.Enum(["text", "image", "audio"]), { minItems: 1, maxItems: 3, uniqueItems: true }),
    ),
    image_config: Type.Optional(Type.Object({})),
    response_format: Type.Optional(
      Type.Object(
        { type: Type.Enum(["text", "json_object", "json_schema"]) },
        { additionalProperties: true },
      ),
    ),
    service_tier: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  },
  { title: "ChatCompletionRequest", additionalProperties: true },
);

export type ChatRequestBody = Static<typeof ChatRequestSchema>;
export type ChatMessage = ChatRequestBody["messages"][number];

const Usage = Type.Object(
  {
    prompt_tokens: Type.Integer(),
    completion_tokens: Type.Integer(),
    total_tokens: Type.Integer(),
  },
  { additionalProperties: true },
);

/** Answer of `POST /api/v1/chat/completions` without streaming. */
export const ChatAnswerSchema = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal("chat.completion"),
    created: Type.Integer({ description: "Unix time in seconds" }),
    model: Type.String(),
    choices: Type.Array(
      Type.Object(
        {
          index: Type.Integer(),
          message: Type.Object(
            {
              role: Type.String(),
              content: Type.Union([Type.String(), Type.Null()]),
              images: Type.Optional(
                Type.Array(Type.Object({ type: Type.Literal("image_url"), image_url: Link })),
              ),
              reasoning_details: Type.Optional(Type.Array(ReasoningDetail)),
            },
            { additionalProperties: true },
          ),
          finish_reason: Type.String({ description: "stop, length, content_filter, tool_calls or error" }),
        },
        { additionalProperties: true },
      ),
    ),
    usage: Usage,
    credit: Type.Number({ description: "Cost in credits, exact to six decimals" }),
  },
  { title: "ChatCompletion", additionalProperties: true },
);
