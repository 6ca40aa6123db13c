import type { FieldTable } from "../rewrite.ts";

const free = { rule: "free" } as const;
const gateway = { rule: "gateway" } as const;

/** Source: the request of POST /v1/chat/completions as of openai-node 7.55, and the interface's own fields. */
export const CHAT_FIELDS: FieldTable = {
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
};
