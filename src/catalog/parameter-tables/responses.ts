import { Type } from "typebox";
import { type Fields, nullable, open } from "./field.ts";
import { boundedByModel, SHARED } from "./shared-fields.ts";

/** A part of an item's content, as far as it is read here. A type that is not known is for the provider to judge. */
export const PartSchema = open({
  type: Type.String({
    description: "input_text, input_image, input_file, input_audio, output_text and others",
  }),
  text: nullable(Type.String()),
  refusal: nullable(Type.String()),
  image_url: nullable(Type.String()),
  detail: nullable(Type.String()),
  file_data: nullable(Type.String()),
  file_url: nullable(Type.String()),
  file_id: nullable(Type.String()),
  filename: nullable(Type.String()),
});

/** An item of the input: a message, a call, its output, reasoning and others. Without a type it is one by its members. */
export const ItemSchema = open({
  type: nullable(Type.String({ minLength: 1 })),
  role: nullable(Type.Enum(["user", "assistant", "system", "developer"])),
  content: nullable(Type.Union([Type.String(), Type.Array(PartSchema)])),
  id: nullable(Type.String()),
  call_id: nullable(Type.String()),
  name: nullable(Type.String()),
  // Of a search for tools they are an object.
  arguments: nullable(Type.Union([Type.String(), open({})])),
  output: Type.Optional(Type.Unknown()),
  encrypted_content: nullable(Type.String()),
});

/** A tool, as far as it is read here. */
export const ResponsesToolSchema = open({
  type: Type.String({ minLength: 1, description: "function, custom, namespace, web_search and others" }),
  name: nullable(Type.String({ minLength: 1 })),
});

/** Items of one request. */
export const MOST_ITEMS = 10_000;

/** Source: `ResponseCreateParamsBase` of openai-node 7.57. */
export const RESPONSES = {
  model: { ...SHARED.model, counted: true, otherNames: "model_id model_name" },
  models: SHARED.models,
  input: {
    required: true,
    schema: Type.Union([
      Type.String({ minLength: 1 }),
      Type.Array(ItemSchema, { minItems: 1, maxItems: MOST_ITEMS }),
    ]),
    counted: true,
    place: "turns",
    otherNames: "messages prompt contents history conversation",
    does: "What the model is to answer: a text, or a list of items, oldest first",
  },
  instructions: {
    schema: Type.String(),
    counted: true,
    place: "turns",
    otherNames: "system system_prompt system_instruction preamble",
    does: "What comes before everything, as a system message",
  },
  max_output_tokens: {
    schema: Type.Integer({ minimum: 1 }),
    place: "maxOutputTokens",
    otherNames: "max_tokens max_completion_tokens max_new_tokens max_length num_predict",
    does: "The most output tokens, reasoning included",
    shown: boundedByModel,
  },
  stream: SHARED.stream,
  stream_options: { place: "wire" },
  temperature: SHARED.temperature,
  top_p: SHARED.topP,
  top_logprobs: { schema: Type.Integer({ minimum: 0, maximum: 20 }), place: "logprobs" },
  tools: {
    schema: Type.Array(ResponsesToolSchema, { maxItems: 1_024 }),
    counted: true,
    place: "tools",
    otherNames: "functions function_declarations",
    does: "Functions and custom tools that the model may call",
  },
  tool_choice: {
    schema: Type.Union([Type.String(), open({ type: Type.String() })]),
    counted: true,
    place: "toolChoice",
    otherNames: "function_call tool_config",
    does: '`auto`, `none`, `required`, or `{"type":"function","name":"…"}`',
  },
  parallel_tool_calls: {
    schema: Type.Boolean(),
    place: "parallelToolCalls",
    does: "Whether several tools may be called at once",
  },
  max_tool_calls: { schema: Type.Integer({ minimum: 1 }) },
  reasoning: {
    schema: open({
      effort: nullable(Type.String()),
      summary: nullable(Type.String()),
      mode: nullable(Type.String()),
    }),
    counted: true,
    place: "thinking",
    otherNames: "thinking thinking_config",
    does: "How much to think, and whether a summary of it is shown",
    members: { effort: { otherNames: "reasoning_effort effort" } },
  },
  text: {
    schema: open({ format: nullable(open({ type: Type.String() })), verbosity: nullable(Type.String()) }),
    counted: true,
    place: "responseFormat",
    does: "The form of the answer: `format` asks for JSON of a schema",
    members: {
      format: { otherNames: "response_format response_schema json_schema" },
      verbosity: { otherNames: "verbosity" },
    },
  },
  include: { schema: Type.Array(Type.String()), place: "wire" },
  store: {
    schema: Type.Boolean(),
    place: "wire",
    does: "Whether the answer is kept for a while, to be named by its id; by default it is",
  },
  previous_response_id: { schema: Type.String(), place: "wire" },
  truncation: { schema: Type.Enum(["auto", "disabled"]) },
  context_management: {},
  moderation: {},
  // What runs in the background would be kept at the provider; clients send that it shall not.
  background: { schema: Type.Literal(false), place: "wire" },
  // The answer repeats it, and is kept with it.
  metadata: {
    schema: Type.Object(
      {},
      {
        maxProperties: 16,
        propertyNames: Type.String({ maxLength: 64 }),
        additionalProperties: Type.String({ maxLength: 512 }),
      },
    ),
    place: "wire",
  },
  prompt_cache_key: { schema: Type.String(), place: "cacheKey" },
  prompt_cache_options: {},
  prompt_cache_retention: {},
  // What it changes is the price: the default goes up, with a warning.
  service_tier: { schema: Type.String(), place: "wire" },
  safety_identifier: { schema: Type.String(), place: "user" },
  user: { schema: Type.String(), place: "user" },
  client_metadata: { place: "wire" },
  frequency_penalty: { schema: Type.Literal(0), place: "wire" },
  presence_penalty: { schema: Type.Literal(0), place: "wire" },
} satisfies Fields;
