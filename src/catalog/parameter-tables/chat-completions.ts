import { Type } from "typebox";
import { EFFORTS, MOST_CHAT_CHOICES, MOST_CHAT_STOPS } from "../../core/model.ts";
import { type Fields, nullable } from "./field.ts";
import { atMost, givesImages, oneOf, text, type JsonSchema, type ParameterFacts } from "./parameter.ts";
import { boundedByModel, cooledTo, SHARED } from "./shared-fields.ts";

/** Where a medium is. */
export const LinkSchema = Type.Object({ url: Type.String({ minLength: 1, maxLength: 64 * 1024 * 1024 }) });

/** What parts of a message hold, each type of them in the member of its name. */
const PART_MEMBERS = {
  text: nullable(Type.String()),
  refusal: nullable(Type.String()),
  image_url: nullable(LinkSchema),
  video_url: nullable(LinkSchema),
  audio_url: nullable(LinkSchema),
  input_audio: nullable(Type.Object({ data: Type.String({ minLength: 1 }), format: Type.String() })),
  file: nullable(
    Type.Object({
      file_data: nullable(Type.String({ minLength: 1 })),
      file_id: nullable(Type.String({ minLength: 1 })),
      filename: nullable(Type.String()),
    }),
  ),
};

export type PartType = keyof typeof PART_MEMBERS;
export const PART_TYPES = Object.keys(PART_MEMBERS) as readonly PartType[];

const Part = Type.Object({
  type: Type.String({ description: `One of ${PART_TYPES.join(", ")}` }),
  ...PART_MEMBERS,
});

/** A piece of reasoning, as answers have it and as it comes back. */
export const ReasoningDetailSchema = Type.Object({
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
  reasoning_details: nullable(Type.Array(ReasoningDetailSchema)),
  images: nullable(Type.Array(Type.Object({ type: Type.String(), image_url: LinkSchema }))),
});

/** Names of tools: some vendors take dots and colons, which OpenAI refuses itself. */
export const TOOL_NAME = "^[a-zA-Z0-9_.:-]{1,128}$";

const ToolName = Type.String({ pattern: TOOL_NAME });

const Tool = Type.Object({
  type: nullable(Type.Enum(["function", "custom"])),
  function: nullable(
    Type.Object({
      name: ToolName,
      description: nullable(Type.String()),
      parameters: nullable(Type.Object({})),
    }),
  ),
  custom: nullable(Type.Object({ name: ToolName })),
});

/** Source: the request of POST /v1/chat/completions as of openai-node 7.55, and the interface's own fields. */
export const CHAT = {
  model: { ...SHARED.model, basic: true, otherNames: "model_id model_name engine deployment" },
  models: { ...SHARED.models, basic: true },
  messages: {
    required: true,
    schema: Type.Array(Message, { minItems: 1, maxItems: 10_000 }),
    basic: true,
    place: "turns",
    otherNames: "prompt input contents history conversation",
    does: "The conversation, oldest first",
    shown: (schema) => ({
      ...schema,
      items: {
        type: "object",
        required: ["role"],
        properties: {
          role: oneOf("system", "developer", "user", "assistant", "tool"),
          content: { type: ["string", "array", "null"] },
        },
      },
    }),
  },
  stream: { ...SHARED.stream, basic: true },
  stream_options: {
    schema: Type.Object({ include_usage: nullable(Type.Boolean()) }),
    basic: true,
    place: "wire",
    does: "Options of the stream; usage is sent whatever they say",
  },
  temperature: {
    ...SHARED.temperature,
    basic: true,
    does: ({ chatLimits, sampling }) =>
      cooledTo(chatLimits?.translated?.into === "compat_messages" ? sampling?.maxTemperature : undefined),
  },
  top_p: { ...SHARED.topP, basic: true },
  max_completion_tokens: {
    schema: Type.Integer({ minimum: 1, description: "Reasoning included" }),
    basic: true,
    place: "maxOutputTokens",
    otherNames: "max_output_tokens max_new_tokens max_tokens_to_sample max_length num_predict",
    does: "The most output tokens, reasoning included; a higher number is lowered to the maximum with a warning",
    shown: boundedByModel,
  },
  max_tokens: {
    schema: Type.Integer({ minimum: 1, description: "Deprecated alias of max_completion_tokens" }),
    basic: true,
    place: "maxOutputTokens",
    does: "Deprecated alias of `max_completion_tokens`, which wins when both are there",
    shown: boundedByModel,
  },
  stop: {
    schema: Type.Union([
      Type.String({ minLength: 1 }),
      Type.Array(Type.String({ minLength: 1 }), { maxItems: MOST_CHAT_STOPS }),
      Type.Null(),
    ]),
    basic: true,
    place: "stop",
    otherNames: "stop_sequences stop_words",
    does: "End the answer before any of these texts",
    shown: ({ anyOf }, { chatLimits }) => {
      const [one, list] = anyOf as readonly JsonSchema[];
      return { anyOf: [one, { ...list, maxItems: chatLimits?.mostStops ?? MOST_CHAT_STOPS }] };
    },
  },
  presence_penalty: SHARED.presencePenalty,
  frequency_penalty: SHARED.frequencyPenalty,
  n: {
    schema: Type.Integer({ minimum: 1, maximum: MOST_CHAT_CHOICES }),
    place: "choices",
    meaning: { asks: (value) => value !== 1 },
    otherNames: "candidate_count num_choices num_generations",
    does: ({ chatLimits }) =>
      chatLimits?.mostChoices === 1 ? "How many answers; there is one" : "How many answers; each is charged",
    shown: (schema, { chatLimits }) => ({ ...schema, ...atMost(chatLimits?.mostChoices), default: 1 }),
  },
  tools: {
    schema: Type.Array(Tool, { maxItems: 1_024 }),
    basic: true,
    place: "tools",
    otherNames: "function_declarations",
    does: 'Functions that the model may call: `{"type":"function","function":{name, description, parameters}}`',
  },
  tool_choice: {
    schema: Type.Union([Type.Enum(["none", "auto", "required"]), Type.Object({ type: Type.String() })]),
    basic: true,
    place: "toolChoice",
    otherNames: "tool_config",
    does: ({ chatLimits }) =>
      chatLimits?.namedTool === false
        ? "Whether it may call one; another choice is refused"
        : 'Whether it must call one; an object names it: `{"type":"function","function":{"name":"…"}}`',
    shown(schema, { chatLimits: limits }) {
      if (limits === undefined) return schema;
      const words = oneOf(...limits.toolWords);
      const [, named] = schema.anyOf as readonly JsonSchema[];
      const object = limits.translated === undefined ? named : READ_TOOL_CHOICE;
      return limits.namedTool ? { anyOf: [words, object] } : words;
    },
  },
  parallel_tool_calls: {
    schema: Type.Boolean(),
    place: "parallelToolCalls",
    does: "Allow several calls in one turn",
  },
  response_format: {
    schema: Type.Object(
      { type: Type.Enum(["text", "json_object", "json_schema"]) },
      { additionalProperties: true },
    ),
    basic: true,
    place: "responseFormat",
    otherNames: "response_mime_type response_schema response_json_schema json_schema output_format",
    does: ({ chatLimits }) =>
      chatLimits?.responseFormats.includes("json_schema") === false
        ? 'Ask for JSON: `{"type":"json_object"}`; there is no way to give its schema'
        : 'Ask for JSON: `{"type":"json_schema","json_schema":{name, schema}}`',
    shown: (schema, { chatLimits }) => ({
      ...schema,
      ...(chatLimits?.translated === undefined ? {} : READ_RESPONSE_FORMAT),
    }),
    members: {
      type: {
        does: "What the answer is",
        shown: (schema, { chatLimits }) =>
          chatLimits === undefined ? schema : oneOf(...chatLimits.responseFormats),
      },
      json_schema: {
        does: ({ chatLimits }) =>
          chatLimits?.translated === undefined
            ? undefined
            : "The schema of a `json_schema`, with a name: `{name, schema, description}`",
        shown: () => ({ type: "object", required: ["schema"] }),
      },
    },
  },
  reasoning: {
    schema: Type.Object({ effort: nullable(Type.String()) }),
    rule: "gateway",
    place: "thinking",
    does: "How much the model thinks before it answers",
    members: {
      effort: {
        does({ thinking, chatLimits }) {
          const efforts = chatLimits?.translated?.efforts ?? thinking?.efforts;
          const words = efforts?.length ? efforts : ["low", "medium", "high"];
          const others =
            efforts === undefined
              ? " and what else it knows"
              : "; another becomes the nearest, with a warning";
          return `How much, in a word: ${words.map((word) => `\`${word}\``).join(", ")}${others}`;
        },
        shown: effortSchema,
      },
    },
  },
  reasoning_effort: {
    schema: Type.Union([Type.String(), Type.Null()]),
    place: "thinking",
    otherNames: "effort thinking_level",
    does: "The same as `reasoning.effort`",
    shown: effortSchema,
  },
  thinking: {
    schema: Type.Object({
      type: nullable(Type.Enum(["enabled", "disabled", "adaptive"])),
      budget_tokens: nullable(Type.Integer({ minimum: 1 })),
    }),
    rule: "gateway",
    place: "thinking",
    otherNames: "thinking_config thinking_budget budget_tokens",
    does: "Extended thinking, said to the model in the words that it has",
    members: {
      type: {
        does: (model) =>
          staysOn(model)
            ? "Whether it thinks; this model decides that by itself"
            : "Whether it thinks; `adaptive` leaves it to the model",
      },
      budget_tokens: { does: "The most tokens to think with, or the effort that comes nearest" },
    },
  },
  modalities: {
    schema: Type.Array(Type.Enum(["text", "image", "audio"]), {
      minItems: 1,
      maxItems: 3,
      uniqueItems: true,
    }),
    place: "outputModalities",
    otherNames: "response_modalities",
    does: (model) =>
      givesImages(model)
        ? 'What the answer holds; `["text","image"]` puts images into `message.images`, and `stream` must be false then'
        : "What the answer holds",
    shown: (_, { outputModalities }) => ({
      type: "array",
      items: oneOf(...outputModalities.filter((kind) => kind !== "video" && kind !== "pdf")),
      minItems: 1,
      uniqueItems: true,
      default: ["text"],
    }),
  },
  image_config: {
    schema: Type.Object({}),
    rule: "gateway",
    place: "image",
    does: (model) =>
      givesImages(model)
        ? "What the images are like"
        : "What images are like; without effect, as this model makes none",
    members: {
      aspect_ratio: {
        otherNames: "aspect_ratio",
        does: (model) => (givesImages(model) ? "Width to height, such as `16:9`" : undefined),
        shown: () => text,
      },
      image_size: {
        otherNames: "image_size size",
        does: (model) => (givesImages(model) ? "How large they are" : undefined),
        shown: () => oneOf("1K", "2K", "4K"),
      },
    },
  },
  logprobs: {
    place: "logprobs",
    meaning: { asks: (value) => value === true, asksNothing: (value) => value === false },
  },
  top_logprobs: { place: "logprobs", meaning: { asksNothing: (value) => value === 0 } },
  logit_bias: {},
  seed: { place: "seed", otherNames: "random_seed" },
  user: { place: "user" },
  safety_identifier: { place: "user" },
  prompt_cache_key: { place: "cacheKey" },
  prompt_cache_options: {},
  prompt_cache_retention: {},
  store: {},
  metadata: {},
  // Rejected prediction tokens are billed as output beyond any bound.
  prediction: { rule: "priced", freeValues: [null] },
  verbosity: { place: "verbosity" },
  // Their answer would be a `tool_calls`, which who asks like this does not read.
  functions: {
    meaning: {
      asks: (value) => Array.isArray(value) && value.length > 0,
      asksNothing: (value) => Array.isArray(value) && value.length === 0,
      instead: "use tools",
    },
  },
  function_call: {
    meaning: { asks: (value) => value !== "auto" && value !== "none", instead: "use tool_choice" },
  },
  // Audio is charged in its own bucket, which admission asks a price for.
  audio: { meaning: { asks: () => true } },
  // `on_demand` is Groq's word for its default.
  service_tier: {
    schema: Type.Union([Type.String(), Type.Null()]),
    rule: "priced",
    freeValues: [null, "auto", "default", "on_demand"],
  },
  // A relay refuses it: what its providers ask for a search, no data tells.
  web_search_options: { rule: "priced", freeValues: [null], place: "webSearch" },
  moderation: { rule: "priced", freeValues: [null] },
} satisfies Fields;

/** Objects of `tool_choice` where all that they say is read here. */
const READ_TOOL_CHOICE: JsonSchema = {
  type: "object",
  required: ["type"],
  oneOf: [
    { properties: { type: { const: "function" } }, required: ["function"] },
    { properties: { type: { const: "custom" } }, required: ["custom"] },
    { properties: { type: { const: "allowed_tools" } }, required: ["allowed_tools"] },
    { properties: { type: oneOf("none", "auto", "required") } },
  ],
};

/** The same for `response_format`. */
const READ_RESPONSE_FORMAT: JsonSchema = {
  oneOf: [
    { properties: { type: { const: "json_schema" } }, required: ["json_schema"] },
    { properties: { type: oneOf("text", "json_object") } },
  ],
};

/** Where the word is put into another format, one that nobody knows is refused. */
function effortSchema(_: JsonSchema, { chatLimits }: ParameterFacts): JsonSchema {
  return chatLimits?.translated === undefined ? text : oneOf(...EFFORTS);
}

function staysOn({ thinking, chatLimits }: ParameterFacts): boolean {
  const isTold = chatLimits?.translated?.efforts.includes("none") ?? thinking?.canBeOff;
  return isTold === false;
}
