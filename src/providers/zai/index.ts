import { compatibleChat } from "../compatible.ts";
import type { ProviderDefinition } from "../provider.ts";

/**
 * Z.ai (Zhipu): https://docs.z.ai/api-reference/llm/chat-completion. Its models think unless they are told not to.
 */
export const zai: ProviderDefinition = {
  id: "zai",
  keyVariable: "ZAI_API_KEY",
  baseUrlVariable: "ZAI_BASE_URL",
  defaultBaseUrl: "https://api.z.ai/api/paas/v4",
  protocols: [
    compatibleChat({
      takes: ["thinking", "reasoning_effort", "do_sample", "tool_stream", "request_id", "user_id"],
      reasoningBack: ["reasoning_content"],
      thinking: { effort: "reasoning_effort", toggle: "thinking" },
      toolChoice: "auto",
      mostStops: 1,
      jsonSchema: false,
    }),
  ],
};
