import { EFFORTS, MOST_CHAT_CHOICES, MOST_CHAT_STOPS } from "../../core/model.ts";
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
  type JsonSchema,
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

function chatSampling({ maxOutput, chatLimits, sampling }: ParameterFacts): readonly Parameter[] {
  const warmest = chatLimits?.translated?.into === "compat_messages" ? sampling?.maxTemperature : undefined;
  const choices = chatLimits?.mostChoices ?? MOST_CHAT_CHOICES;
  return [
    {
      name: "temperature",
      schema: number(0, 2),
      does: `Randomness; lower is more repeatable${warmest === undefined ? "" : `; above ${warmest} it is lowered to that, with a warning`}`,
    },
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
          {
            type: "array",
            items: { type: "string", minLength: 1 },
            maxItems: chatLimits?.mostStops ?? MOST_CHAT_STOPS,
          },
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
    {
      name: "n",
      schema: { ...count(choices), default: 1 },
      does: choices === 1 ? "How many answers; there is one" : "How many answers; each is charged",
    },
  ];
}

/** Objects of `tool_choice` where all that they say is read here. */
const toolChoices: JsonSchema = {
  type: "object",
  required: ["type"],
  oneOf: [
    { properties: { type: { const: "function" } }, required: ["function"] },
    { properties: { type: { const: "allowed_tools" } }, required: ["allowed_tools"] },
    { properties: { type: oneOf("none", "auto", "required") } },
  ],
};

/** The same for `response_format`. */
const schemaIsGiven: JsonSchema = {
  oneOf: [
    { properties: { type: { const: "json_schema" } }, required: ["json_schema"] },
    { properties: { type: oneOf("text", "json_object") } },
  ],
};

function chatTools({ chatLimits }: ParameterFacts): readonly Parameter[] {
  const words = chatLimits?.toolWords ?? ["none", "auto", "required"];
  const choice = oneOf(...words);
  const formats = chatLimits?.responseFormats ?? ["text", "json_object", "json_schema"];
  const byName = chatLimits?.namedTool !== false;
  const isRead = chatLimits?.translated !== undefined;
  return [
    {
      name: "tools",
      schema: { ...listOf(object), maxItems: 1_024 },
      does: 'Functions that the model may call: `{"type":"function","function":{name, description, parameters}}`',
    },
    {
      name: "tool_choice",
      schema: byName ? { anyOf: [choice, isRead ? toolChoices : named] } : choice,
      does: byName
        ? 'Whether it must call one; an object names it: `{"type":"function","function":{"name":"…"}}`'
        : "Whether it may call one; another choice is refused",
    },
    { name: "parallel_tool_calls", schema: { type: "boolean" }, does: "Allow several calls in one turn" },
    {
      name: "response_format",
      schema: { type: "object", required: ["type"], ...(isRead ? schemaIsGiven : {}) },
      does: formats.includes("json_schema")
        ? 'Ask for JSON: `{"type":"json_schema","json_schema":{name, schema}}`'
        : 'Ask for JSON: `{"type":"json_object"}`; there is no way to give its schema',
    },
    { name: "response_format.type", schema: oneOf(...formats), does: "What the answer is" },
    ...(isRead
      ? [
          {
            name: "response_format.json_schema",
            schema: { type: "object", required: ["schema"] },
            does: "The schema of a `json_schema`, with a name: `{name, schema, description}`",
          },
        ]
      : []),
  ];
}

function chatReasoning({ thinking, chatLimits }: ParameterFacts): readonly Parameter[] {
  const translated = chatLimits?.translated;
  const efforts = translated?.efforts ?? thinking?.efforts;
  // Where the word is put into another format, one that nobody knows is refused.
  const word = translated === undefined ? text : oneOf(...EFFORTS);
  const staysOn = translated === undefined ? thinking?.canBeOff === false : !efforts?.includes("none");
  const words = efforts === undefined || efforts.length === 0 ? "`low`, `medium`, `high`" : listed(efforts);
  return [
    { name: "reasoning", schema: object, does: "How much the model thinks before it answers" },
    {
      name: "reasoning.effort",
      schema: word,
      does: `How much, in a word: ${words}${efforts === undefined ? " and what else it knows" : "; another becomes the nearest, with a warning"}`,
    },
    { name: "reasoning_effort", schema: word, does: "The same as `reasoning.effort`" },
    {
      name: "thinking",
      schema: object,
      does: "Extended thinking, said to the model in the words that it has",
    },
    {
      name: "thinking.type",
      schema: oneOf("enabled", "disabled", "adaptive"),
      does: staysOn
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
