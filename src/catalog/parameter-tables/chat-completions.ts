import {
  count,
  flag,
  givesImages,
  listOf,
  named,
  number,
  object,
  oneOf,
  text,
  type Parameter,
  type ParameterFacts,
} from "./parameter.ts";

/** The fields of `POST /api/v1/chat/completions`. */
export function chatParameters(model: ParameterFacts): readonly Parameter[] {
  return [
    ...chatConversation(model),
    ...chatSampling(model),
    ...chatTools(model),
    ...chatReasoning(model),
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

function chatSampling({ maxOutput, chatLimits }: ParameterFacts): readonly Parameter[] {
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
    chatLimits?.untaken.includes("n") === true
      ? {
          name: "n",
          schema: { ...count(1), default: 1 },
          does: "How many answers; there is one",
        }
      : { name: "n", schema: { ...count(128), default: 1 }, does: "How many answers; each is charged" },
  ];
}

function chatTools({ chatLimits }: ParameterFacts): readonly Parameter[] {
  const words = chatLimits?.toolWords ?? ["none", "auto", "required"];
  const choice = oneOf(...words);
  const formats = chatLimits?.responseFormats ?? ["text", "json_object", "json_schema"];
  const byName = chatLimits?.namedTool !== false;
  return [
    {
      name: "tools",
      schema: { ...listOf(object), maxItems: 1_024 },
      does: 'Functions that the model may call: `{"type":"function","function":{name, description, parameters}}`',
    },
    {
      name: "tool_choice",
      schema: byName ? { anyOf: [choice, named] } : choice,
      does: byName
        ? 'Whether it must call one; an object names it: `{"type":"function","function":{"name":"…"}}`'
        : "Whether it may call one; another choice is refused",
    },
    { name: "parallel_tool_calls", schema: { type: "boolean" }, does: "Allow several calls in one turn" },
    {
      name: "response_format",
      schema: { type: "object", required: ["type"] },
      does: formats.includes("json_schema")
        ? 'Ask for JSON: `{"type":"json_schema","json_schema":{name, schema}}`'
        : 'Ask for JSON: `{"type":"json_object"}`; there is no way to give its schema',
    },
    { name: "response_format.type", schema: oneOf(...formats), does: "What the answer is" },
  ];
}

function chatReasoning({ thinking }: ParameterFacts): readonly Parameter[] {
  const efforts = thinking?.efforts;
  const words = efforts === undefined || efforts.length === 0 ? "`low`, `medium`, `high`" : listed(efforts);
  return [
    { name: "reasoning", schema: object, does: "How much the model thinks before it answers" },
    {
      name: "reasoning.effort",
      schema: text,
      does: `How much, in a word: ${words}${efforts === undefined ? " and what else it knows" : "; another becomes the nearest, with a warning"}`,
    },
    { name: "reasoning_effort", schema: text, does: "The same as `reasoning.effort`" },
    {
      name: "thinking",
      schema: object,
      does: "Extended thinking, said to the model in the words that it has",
    },
    {
      name: "thinking.type",
      schema: oneOf("enabled", "disabled", "adaptive"),
      does:
        thinking?.canBeOff === false
          ? "Whether it thinks; this model decides that by itself"
          : "Whether it thinks; `adaptive` leaves it to the model",
    },
    {
      name: "thinking.budget_tokens",
      schema: count(),
      does: "The most tokens to think with, or the effort that comes nearest",
    },
  ];
}

function listed(words: readonly string[]): string {
  return words.map((word) => `\`${word}\``).join(", ");
}

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
      : [
          {
            name: "image_config",
            schema: object,
            does: "What images are like; without effect, as this model makes none",
          },
        ]),
  ];
}
