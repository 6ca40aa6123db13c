import {
  count,
  flag,
  listOf,
  named,
  number,
  object,
  oneOf,
  text,
  type Parameter,
  type ParameterFacts,
} from "./parameter.ts";

/** The fields of `POST /api/v1/messages`. */
export function messagesParameters(model: ParameterFacts): readonly Parameter[] {
  const { id, maxOutput, sampling } = model;
  const most = sampling?.maxTemperature;
  return [
    { name: "model", schema: { type: "string", const: id }, does: "The model's id", required: true },
    {
      name: "max_tokens",
      schema: { ...count(maxOutput), minimum: 0 },
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
          properties: { role: oneOf("user", "assistant", "system"), content: { type: ["string", "array"] } },
        },
      },
      does: "The conversation, oldest first; content is text or a list of blocks",
      required: true,
    },
    {
      name: "system",
      schema: { anyOf: [text, listOf(named)] },
      does: "The system prompt, as text or as text blocks",
    },
    { name: "stream", schema: flag(false), does: "Answer as server-sent events" },
    {
      name: "temperature",
      schema: number(0, 2),
      does: `Randomness; lower is more repeatable${most === undefined ? "" : `; above ${most} it is lowered to that, with a warning`}`,
    },
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
    {
      name: "stop_sequences",
      schema: { ...listOf({ ...text, minLength: 1 }), maxItems: 8_192 },
      does: "End the answer before any of these texts",
    },
    {
      name: "tools",
      schema: { ...listOf(object), maxItems: 1_024 },
      does: "Functions that the model may call: `{name, description, input_schema}`",
    },
    {
      name: "tool_choice",
      schema: {
        type: "object",
        required: ["type"],
        properties: { type: oneOf("auto", "any", "tool", "none") },
      },
      does: '`{"type":"auto"}`, `{"type":"any"}`, `{"type":"none"}`, or `{"type":"tool","name":"…"}`',
    },
    ...messagesThinking(model),
  ];
}

function messagesThinking({ thinking }: ParameterFacts): readonly Parameter[] {
  return [
    {
      name: "thinking",
      schema: {
        type: "object",
        required: ["type"],
      },
      does: "Extended thinking",
    },
    {
      name: "thinking.type",
      schema: oneOf("enabled", "disabled", "adaptive", "between_tools"),
      does: thinkingWords(thinking),
    },
    {
      name: "thinking.budget_tokens",
      schema: { type: "integer", minimum: 0 },
      does:
        thinking?.style === "adaptive"
          ? "Taken as an effort: below 4,000 `low`, below 16,000 `medium`, below 48,000 `high`, else `max`"
          : "The most tokens to think with, at least 1,024 and less than `max_tokens`",
    },
    {
      name: "output_config",
      schema: object,
      does: "How to answer; `format` asks for JSON of a schema",
    },
    {
      name: "output_config.effort",
      schema: oneOf("low", "medium", "high", "xhigh", "max"),
      does:
        thinking?.style === "budget"
          ? "Left out with a warning: this model thinks by a budget"
          : "How much to think and to write",
    },
  ];
}

function thinkingWords(thinking: ParameterFacts["thinking"]): string {
  if (thinking?.style === "budget") return "`enabled` with a budget; `adaptive` is given one";
  if (thinking?.style !== "adaptive") return "Whether it thinks; `adaptive` leaves it to the model";
  return thinking.canBeOff !== false
    ? "`adaptive` leaves it to the model; `enabled` becomes that, with a warning"
    : "`adaptive` leaves it to the model; `enabled` becomes that and `disabled` is left out, with a warning";
}
