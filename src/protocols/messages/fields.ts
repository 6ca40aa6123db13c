import type { FieldTable } from "../rewrite.ts";

const free = { rule: "free" } as const;
const preview = { rule: "preview" } as const;

/** Source: `MessageCreateParamsBase` of @anthropic-ai/sdk 1.12, of its client and of its beta client. */
export const MESSAGES_FIELDS: FieldTable = {
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
};

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
