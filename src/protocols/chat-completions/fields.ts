import { createFieldTable } from "../rewrite.ts";

const free = { rule: "free" } as const;
const gateway = { rule: "gateway" } as const;

/** Source: the request of POST /v1/chat/completions as of openai-node 7.55, and the interface's own fields. */
export const CHAT_FIELDS = createFieldTable({
  format: "chat completions",
  fields: {
    model: free,
    messages: free,
    stream: free,
    stream_options: free,
    temperature: free,
    top_p: free,
    max_completion_tokens: free,
    max_tokens: free,
    stop: free,
    presence_penalty: free,
    frequency_penalty: free,
    tools: free,
    tool_choice: free,
    parallel_tool_calls: free,
    reasoning_effort: free,
    modalities: free,
    response_format: free,
    n: free,
    logprobs: free,
    top_logprobs: free,
    logit_bias: free,
    seed: free,
    user: free,
    safety_identifier: free,
    prompt_cache_key: free,
    prompt_cache_options: free,
    prompt_cache_retention: free,
    store: free,
    metadata: free,
    // Rejected prediction tokens are billed as output beyond any bound.
    prediction: { rule: "priced", freeValues: [null] },
    verbosity: free,
    functions: free,
    function_call: free,
    // Audio is charged in its own bucket, which admission asks a price for.
    audio: free,
    // `on_demand` is Groq's word for its default.
    service_tier: { rule: "priced", freeValues: [null, "auto", "default", "on_demand"] },
    web_search_options: { rule: "priced", freeValues: [null] },
    moderation: { rule: "priced", freeValues: [null] },
    reasoning: gateway,
    thinking: gateway,
    image_config: gateway,
  },
  otherNames: {
    model: "model_id model_name engine deployment",
    messages: "prompt input contents history conversation",
    "a message of the role system": "system system_prompt system_instruction instructions preamble",
    max_completion_tokens: "max_output_tokens max_new_tokens max_tokens_to_sample max_length num_predict",
    stop: "stop_sequences stop_words",
    n: "candidate_count num_choices num_generations",
    seed: "random_seed",
    tools: "function_declarations",
    tool_choice: "tool_config",
    response_format: "response_mime_type response_schema response_json_schema json_schema output_format",
    reasoning_effort: "effort thinking_level",
    thinking: "thinking_config thinking_budget budget_tokens",
    modalities: "response_modalities",
    "image_config.aspect_ratio": "aspect_ratio",
    "image_config.image_size": "image_size size",
    "its members, each by itself": "generation_config config options parameters",
  },
});

/** What takes the place of a field that a provider does not take, though the answer depends on it. */
export const INSTEAD: Readonly<Record<string, string>> = {
  functions: "use tools",
  function_call: "use tool_choice",
};
