import type { Modality, Model, ProtocolId } from "../core/model.ts";

/** A JSON Schema as data. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What of a model decides its parameters. */
export type ParameterFacts = Pick<
  Model,
  "id" | "maxOutput" | "inputModalities" | "outputModalities" | "ignoredParameters"
>;

/** A field of a request, or one inside another when its name has a dot. */
export interface Parameter {
  readonly name: string;
  readonly schema: JsonSchema;
  /** What it does, as a sentence without its full stop. */
  readonly does: string;
  readonly required?: true;
}

const number = (minimum: number, maximum: number): JsonSchema => ({ type: "number", minimum, maximum });
const count = (maximum?: number | null): JsonSchema => ({
  type: "integer",
  minimum: 1,
  ...(maximum === undefined || maximum === null ? {} : { maximum }),
});
const oneOf = (...values: readonly string[]): JsonSchema => ({ type: "string", enum: values });
const object: JsonSchema = { type: "object" };
const named: JsonSchema = { type: "object", required: ["type"], properties: { type: { type: "string" } } };
const listOf = (items: JsonSchema): JsonSchema => ({ type: "array", items });
const text: JsonSchema = { type: "string" };
const flag = (otherwise: boolean): JsonSchema => ({ type: "boolean", default: otherwise });

/** The fields of a request in each format for a model, in the order in which they are told. */
export const PARAMETER_TABLES: Readonly<Record<ProtocolId, (model: ParameterFacts) => readonly Parameter[]>> =
  {
    compat_chat_completions: chatParameters,
    compat_messages: messagesParameters,
    compat_generate_content: generateContentParameters,
  };

function givesImages({ outputModalities }: ParameterFacts): boolean {
  return outputModalities.includes("image");
}

function chatParameters(model: ParameterFacts): readonly Parameter[] {
  return [
    ...chatConversation(model),
    ...chatSampling(model),
    ...CHAT_TOOLS,
    ...CHAT_REASONING,
    ...chatMedia(model),
  ];
}

function chatConversation({ id }: ParameterFacts): readonly Parameter[] {
  return [
    { name: "model", schema: { type: "string", const: id }, does: "The model's id", required: true },
    {
      name: "messages",
      schema: {
        type: "array",
        minItems: 1,
        maxItems: 10_000,
        items: {
          type: "object",
          required: ["role"],
          properties: {
            role: oneOf("system", "developer", "user", "assistant", "tool"),
            content: { type: ["string", "array", "null"] },
          },
        },
      },
      does: "The conversation, oldest first",
      required: true,
    },
    { name: "stream", schema: flag(false), does: "Answer as server-sent events" },
    {
      name: "stream_options",
      schema: object,
      does: "Options of the stream; usage is sent whatever they say",
    },
  ];
}

function chatSampling({ maxOutput }: ParameterFacts): readonly Parameter[] {
  return [
    { name: "temperature", schema: number(0, 2), does: "Randomness; lower is more repeatable" },
    {
      name: "top_p",
      schema: number(0, 1),
      does: "Sample from the likeliest tokens of this total probability",
    },
    {
      name: "max_completion_tokens",
      schema: count(maxOutput),
      does: "The most output tokens, reasoning included; a higher number is lowered to the maximum with a warning",
    },
    {
      name: "max_tokens",
      schema: count(maxOutput),
      does: "Deprecated alias of `max_completion_tokens`, which wins when both are there",
    },
    {
      name: "stop",
      schema: {
        anyOf: [
          { type: "string", minLength: 1 },
          { type: "array", items: { type: "string", minLength: 1 }, maxItems: 16 },
        ],
      },
      does: "End the answer before any of these texts",
    },
    { name: "presence_penalty", schema: number(-2, 2), does: "Above 0: away from words that were used" },
    {
      name: "frequency_penalty",
      schema: number(-2, 2),
      does: "Above 0: away from words by how often they were used",
    },
    { name: "n", schema: { ...count(128), default: 1 }, does: "How many answers; each is charged" },
  ];
}

const CHAT_TOOLS: readonly Parameter[] = [
  {
    name: "tools",
    schema: { ...listOf(object), maxItems: 1_024 },
    does: 'Functions that the model may call: `{"type":"function","function":{name, description, parameters}}`',
  },
  {
    name: "tool_choice",
    schema: { anyOf: [oneOf("none", "auto", "required"), named] },
    does: 'Whether it must call one; an object names it: `{"type":"function","function":{"name":"…"}}`',
  },
  { name: "parallel_tool_calls", schema: { type: "boolean" }, does: "Allow several calls in one turn" },
  {
    name: "response_format",
    schema: {
      type: "object",
      required: ["type"],
      properties: { type: oneOf("text", "json_object", "json_schema") },
    },
    does: 'Ask for JSON: `{"type":"json_schema","json_schema":{name, schema}}`',
  },
];

const CHAT_REASONING: readonly Parameter[] = [
  { name: "reasoning", schema: object, does: "How much the model thinks before it answers" },
  {
    name: "reasoning.effort",
    schema: text,
    does: "`low`, `medium`, `high` and what else the model knows",
  },
  { name: "reasoning_effort", schema: text, does: "The same as `reasoning.effort`" },
  { name: "thinking", schema: object, does: "Extended thinking" },
  {
    name: "thinking.type",
    schema: oneOf("enabled", "disabled", "adaptive"),
    does: "Whether it thinks; `adaptive` leaves it to the model",
  },
  { name: "thinking.budget_tokens", schema: count(), does: "The most tokens to think with" },
];

function chatMedia(model: ParameterFacts): readonly Parameter[] {
  return [
    {
      name: "modalities",
      schema: {
        type: "array",
        items: oneOf(...model.outputModalities.filter((kind) => kind !== "video" && kind !== "pdf")),
        minItems: 1,
        uniqueItems: true,
        default: ["text"],
      },
      does: givesImages(model)
        ? 'What the answer holds; `["text","image"]` puts images into `message.images`, and `stream` must be false then'
        : "What the answer holds",
    },
    ...(givesImages(model)
      ? [
          { name: "image_config", schema: object, does: "What the images are like" },
          { name: "image_config.aspect_ratio", schema: text, does: "Width to height, such as `16:9`" },
          { name: "image_config.image_size", schema: oneOf("1K", "2K", "4K"), does: "How large they are" },
        ]
      : [{ name: "image_config", schema: object, does: "What images are like; this model makes none" }]),
  ];
}

function messagesParameters({ id, maxOutput }: ParameterFacts): readonly Parameter[] {
  return [
    { name: "model", schema: { type: "string", const: id }, does: "The model's id", required: true },
    {
      name: "max_tokens",
      schema: count(maxOutput),
      does: "The most output tokens, thinking included; a higher number is lowered to the maximum with a warning",
      required: true,
    },
    {
      name: "messages",
      schema: {
        type: "array",
        minItems: 1,
        items: {
          type: "object",
          required: ["role", "content"],
          properties: { role: oneOf("user", "assistant"), content: { type: ["string", "array"] } },
        },
      },
      does: "The conversation, oldest first; content is text or a list of blocks",
      required: true,
    },
    {
      name: "system",
      schema: { anyOf: [text, listOf(object)] },
      does: "The system prompt, as text or as text blocks",
    },
    { name: "stream", schema: flag(false), does: "Answer as server-sent events" },
    { name: "temperature", schema: number(0, 2), does: "Randomness; lower is more repeatable" },
    {
      name: "top_p",
      schema: number(0, 1),
      does: "Sample from the likeliest tokens of this total probability",
    },
    {
      name: "top_k",
      schema: { type: "integer", minimum: 0 },
      does: "Sample from this many likeliest tokens",
    },
    { name: "stop_sequences", schema: listOf(text), does: "End the answer before any of these texts" },
    {
      name: "tools",
      schema: listOf(object),
      does: "Functions that the model may call: `{name, description, input_schema}`",
    },
    {
      name: "tool_choice",
      schema: object,
      does: '`{"type":"auto"}`, `{"type":"any"}`, `{"type":"none"}`, or `{"type":"tool","name":"…"}`',
    },
    { name: "thinking", schema: object, does: "Extended thinking" },
    {
      name: "thinking.type",
      schema: oneOf("enabled", "disabled", "adaptive"),
      does: "Whether it thinks; `adaptive` leaves it to the model",
    },
    { name: "thinking.budget_tokens", schema: count(), does: "The most tokens to think with" },
  ];
}

function generateContentParameters(model: ParameterFacts): readonly Parameter[] {
  const config = (name: string, schema: JsonSchema, does: string): Parameter => ({
    name: `generationConfig.${name}`,
    schema,
    does,
  });
  return [
    {
      name: "contents",
      schema: {
        type: "array",
        minItems: 1,
        items: {
          type: "object",
          required: ["parts"],
          properties: { role: oneOf("user", "model"), parts: { type: "array", items: object } },
        },
      },
      does: "The conversation, oldest first: `{role, parts}`",
      required: true,
    },
    { name: "systemInstruction", schema: object, does: 'The system prompt: `{"parts":[{"text":"…"}]}`' },
    { name: "generationConfig", schema: object, does: "How to answer" },
    config("temperature", number(0, 2), "Randomness; lower is more repeatable"),
    config("topP", number(0, 1), "Sample from the likeliest tokens of this total probability"),
    config("topK", { type: "number", minimum: 0 }, "Sample from this many likeliest tokens"),
    config(
      "maxOutputTokens",
      count(model.maxOutput),
      "The most output tokens, thoughts included; a higher number is lowered to the maximum with a warning",
    ),
    config("stopSequences", listOf(text), "End the answer before any of these texts"),
    config("candidateCount", { ...count(), default: 1 }, "How many answers; each is charged"),
    config("responseMimeType", text, "`application/json` asks for JSON"),
    config("responseJsonSchema", object, "A JSON Schema that the answer keeps to"),
    config(
      "thinkingConfig",
      object,
      "`thinkingLevel` and `includeThoughts`: how much it thinks, and whether it shows it",
    ),
    config(
      "responseModalities",
      {
        ...listOf(oneOf(...model.outputModalities.map((kind) => kind.toUpperCase()))),
        default: ["TEXT"],
      },
      "What the answer holds",
    ),
    ...(givesImages(model)
      ? [
          config(
            "imageConfig",
            object,
            "What the images are like: `aspectRatio` such as `16:9`, `imageSize` of `1K`, `2K`, `4K`",
          ),
        ]
      : []),
    {
      name: "tools",
      schema: listOf(object),
      does: 'Functions that the model may call: `[{"functionDeclarations":[{name, description, parametersJsonSchema}]}]`',
    },
    {
      name: "toolConfig",
      schema: object,
      does: 'Whether it must call one: `{"functionCallingConfig":{"mode":"AUTO"}}`, or `ANY`, `NONE`',
    },
  ];
}

/** How a medium is put into a request of each format; a format that has no word for one does not take it. */
export const MEDIA_PARTS: Readonly<Record<ProtocolId, Readonly<Partial<Record<Modality, string>>>>> = {
  compat_chat_completions: {
    text: '{"type":"text","text":"…"}',
    image: '{"type":"image_url","image_url":{"url":"https://… or data:image/png;base64,…"}}',
    audio: '{"type":"audio_url","audio_url":{"url":"https://… or data:audio/wav;base64,…"}}',
    video: '{"type":"video_url","video_url":{"url":"https://… or data:video/mp4;base64,…"}}',
    pdf: '{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,…"}}',
  },
  compat_messages: {
    text: '{"type":"text","text":"…"}',
    image:
      '{"type":"image","source":{"type":"base64","media_type":"image/png","data":"…"}} or {"type":"image","source":{"type":"url","url":"https://…"}}',
    pdf: '{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"…"}}',
  },
  compat_generate_content: {
    text: '{"text":"…"}',
    image:
      '{"inlineData":{"mimeType":"image/png","data":"…"}} or {"fileData":{"mimeType":"image/png","fileUri":"https://…"}}',
    audio: '{"inlineData":{"mimeType":"audio/wav","data":"…"}}',
    video:
      '{"inlineData":{"mimeType":"video/mp4","data":"…"}} or {"fileData":{"mimeType":"video/mp4","fileUri":"https://…"}}',
    pdf: '{"inlineData":{"mimeType":"application/pdf","data":"…"}}',
  },
};
