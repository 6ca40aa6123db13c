import { Type } from "typebox";
import { type Fields, nullable } from "./field.ts";
import { oneOf, type ParameterFacts } from "./parameter.ts";
import { boundedByModel, cooledTo, SHARED } from "./shared-fields.ts";

/** An image or a document: where it is, or what it is. What each kind needs is checked where blocks are read. */
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

/** A tool, as far as it is read here. */
export const ToolSchema = Type.Object({
  type: nullable(Type.String({ minLength: 1, description: "Absent or custom for a tool of the client" })),
  name: nullable(Type.String({ minLength: 1, maxLength: 128 })),
  description: nullable(Type.String()),
  input_schema: nullable(Type.Object({})),
  max_uses: nullable(Type.Integer({ minimum: 1 })),
  max_content_tokens: nullable(Type.Integer({ minimum: 1 })),
});

/** Source: `MessageCreateParamsBase` of @anthropic-ai/sdk 1.12, of its client and of its beta client. */
export const MESSAGES = {
  model: { ...SHARED.model, counted: true, otherNames: "model_id model_name" },
  models: SHARED.models,
  max_tokens: {
    required: true,
    schema: Type.Integer({ minimum: 0, description: "The most output, thinking included" }),
    place: "maxOutputTokens",
    otherNames:
      "max_completion_tokens max_output_tokens max_tokens_to_sample max_new_tokens max_length num_predict",
    does: "The most output tokens, thinking included; a higher number is lowered to the maximum with a warning",
    shown: boundedByModel,
  },
  messages: {
    required: true,
    schema: Type.Array(Message, { minItems: 1, maxItems: 10_000 }),
    counted: true,
    otherNames: "prompt input contents history conversation",
    does: "The conversation, oldest first; content is text or a list of blocks",
    shown: () => ({
      type: "array",
      minItems: 1,
      items: {
        type: "object",
        required: ["role", "content"],
        properties: { role: oneOf("user", "assistant", "system"), content: { type: ["string", "array"] } },
      },
    }),
  },
  system: {
    schema: Type.Union([Type.String(), Type.Array(BlockSchema)]),
    counted: true,
    otherNames: "system_prompt system_instruction instructions preamble",
    does: "The system prompt, as text or as text blocks",
  },
  stream: SHARED.stream,
  temperature: { ...SHARED.temperature, does: ({ sampling }) => cooledTo(sampling?.maxTemperature) },
  top_p: SHARED.topP,
  top_k: SHARED.topK,
  stop_sequences: {
    ...SHARED.stop,
    schema: Type.Array(Type.String({ minLength: 1 }), { maxItems: 8_192 }),
  },
  // What a tool costs depends on its type, which `tools.ts` of the format looks at.
  tools: {
    schema: Type.Array(ToolSchema, { maxItems: 1_024 }),
    counted: true,
    place: "tools",
    otherNames: "functions function_declarations",
    does: "Functions that the model may call: `{name, description, input_schema}`",
  },
  tool_choice: {
    schema: Type.Object({
      type: Type.Enum(["auto", "any", "tool", "none"]),
      name: nullable(Type.String({ minLength: 1 })),
      disable_parallel_tool_use: nullable(Type.Boolean()),
    }),
    counted: true,
    place: "toolChoice",
    otherNames: "function_call tool_config",
    does: '`{"type":"auto"}`, `{"type":"any"}`, `{"type":"none"}`, or `{"type":"tool","name":"…"}`',
    members: { disable_parallel_tool_use: { otherNames: "parallel_tool_calls" } },
  },
  thinking: {
    schema: Type.Object({
      type: Type.Enum(["enabled", "disabled", "adaptive", "between_tools"]),
      budget_tokens: nullable(Type.Integer({ minimum: 0 })),
      display: nullable(Type.Enum(["summarized", "omitted"])),
    }),
    counted: true,
    place: "thinking",
    otherNames: "reasoning thinking_config",
    does: "Extended thinking",
    members: {
      type: { does: thinkingWords },
      budget_tokens: {
        otherNames: "thinking_budget budget_tokens",
        does: ({ thinking }) =>
          thinking?.style === "adaptive"
            ? "Taken as an effort: below 4,000 `low`, below 16,000 `medium`, below 48,000 `high`, else `max`"
            : "The most tokens to think with, at least 1,024 and less than `max_tokens`",
      },
    },
  },
  output_config: {
    schema: Type.Object({
      effort: nullable(Type.Enum(["low", "medium", "high", "xhigh", "max"])),
      format: nullable(Type.Object({ type: Type.String() })),
    }),
    counted: true,
    does: "How to answer; `format` asks for JSON of a schema",
    members: {
      effort: {
        otherNames: "reasoning_effort effort verbosity",
        does: ({ thinking }) =>
          thinking?.style === "budget"
            ? "Left out with a warning: this model thinks by a budget"
            : "How much to think and to write",
      },
      format: { otherNames: "response_format response_schema response_json_schema json_schema" },
    },
  },
  metadata: {
    schema: Type.Object({ user_id: nullable(Type.String()) }),
    place: "user",
    members: { user_id: { otherNames: "user user_id safety_identifier" } },
  },
  cache_control: { counted: true },
  service_tier: { schema: Type.String(), rule: "priced", freeValues: [null, "auto", "standard_only"] },
  // What it changes is the price of an answer.
  speed: { rule: "priced", freeValues: [null, "standard"] },
  inference_geo: { rule: "priced", freeValues: [null, "global"] },
  context_management: {
    schema: Type.Object({ edits: nullable(Type.Array(Type.Object({ type: Type.String() }))) }),
    counted: true,
    rule: "preview",
    preview: "context-management",
  },
  output_format: {
    counted: true,
    rule: "preview",
    preview: "structured-outputs",
    needed:
      "output_format needs the header anthropic-beta: structured-outputs-2025-11-13; output_config.format asks for the same without it.",
  },
  mcp_servers: { counted: true, rule: "preview", preview: "mcp-client" },
  container: { rule: "preview", preview: "skills" },
  diagnostics: { rule: "preview", preview: "cache-diagnosis" },
  fallbacks: { rule: "preview", preview: "server-side-fallback" },
  compaction: { counted: true, rule: "preview", preview: "compact" },
  thread: { rule: "preview", preview: "message-threads" },
} satisfies Fields;

function thinkingWords({ thinking }: ParameterFacts): string {
  if (thinking?.style === "budget") return "`enabled` with a budget; `adaptive` is given one";
  if (thinking?.style !== "adaptive") return "Whether it thinks; `adaptive` leaves it to the model";
  return thinking.canBeOff !== false
    ? "`adaptive` leaves it to the model; `enabled` becomes that, with a warning"
    : "`adaptive` leaves it to the model; `enabled` becomes that and `disabled` is left out, with a warning";
}
