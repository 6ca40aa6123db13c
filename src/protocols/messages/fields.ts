import { createFieldTable } from "../rewrite.ts";

const free = { rule: "free" } as const;
const preview = { rule: "preview" } as const;

/** Source: `MessageCreateParamsBase` of @anthropic-ai/sdk 1.12, of its client and of its beta client. */
export const MESSAGES_FIELDS = createFieldTable({
  format: "messages",
  fields: {
    model: free,
    max_tokens: free,
    messages: free,
    system: free,
    stream: free,
    temperature: free,
    top_p: free,
    top_k: free,
    stop_sequences: free,
    // What a tool costs depends on its type, which `tools.ts` looks at.
    tools: free,
    tool_choice: free,
    thinking: free,
    output_config: free,
    metadata: free,
    cache_control: free,
    service_tier: { rule: "priced", freeValues: [null, "auto", "standard_only"] },
    speed: { rule: "priced", freeValues: [null, "standard"] },
    inference_geo: { rule: "priced", freeValues: [null, "global"] },
    context_management: preview,
    output_format: preview,
    mcp_servers: preview,
    container: preview,
    diagnostics: preview,
    fallbacks: preview,
    compaction: preview,
    thread: preview,
  },
  otherNames: {
    model: "model_id model_name",
    max_tokens:
      "max_completion_tokens max_output_tokens max_tokens_to_sample max_new_tokens max_length num_predict",
    messages: "prompt input contents history conversation",
    system: "system_prompt system_instruction instructions preamble",
    stop_sequences: "stop stop_words",
    tools: "functions function_declarations",
    tool_choice: "function_call tool_config",
    "tool_choice.disable_parallel_tool_use": "parallel_tool_calls",
    thinking: "reasoning thinking_config",
    "thinking.budget_tokens": "thinking_budget budget_tokens",
    "output_config.effort": "reasoning_effort effort verbosity",
    "output_config.format": "response_format response_schema response_json_schema json_schema",
    "metadata.user_id": "user user_id safety_identifier",
    "its members, each by itself": "generation_config config options parameters",
  },
});

/** Fields of previews without which the answer would be another one: a 400 says how to ask. */
export const NEEDED_PREVIEWS: Readonly<Record<string, string>> = {
  output_format:
    "output_format needs the header anthropic-beta: structured-outputs-2025-11-13; output_config.format asks for the same without it.",
};

/** Source: `MessageCountTokensParams` of the same, and of its beta client. What `speed` changes is the price of an answer. */
export const COUNT_FIELDS = createFieldTable({
  format: "counting tokens",
  fields: {
    model: free,
    messages: free,
    system: free,
    tools: free,
    tool_choice: free,
    thinking: free,
    output_config: free,
    cache_control: free,
    context_management: preview,
    output_format: preview,
    mcp_servers: preview,
    compaction: preview,
  },
});

/** The preview that each field needs; one that is not relayed (`betas.ts`) keeps its field out too. */
export const FIELD_PREVIEWS: Readonly<Record<string, string>> = {
  context_management: "context-management",
  output_format: "structured-outputs",
  mcp_servers: "mcp-client",
  container: "skills",
  diagnostics: "cache-diagnosis",
  fallbacks: "server-side-fallback",
  compaction: "compact",
  thread: "message-threads",
};
