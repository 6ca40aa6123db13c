import { COMPATIBLE_CHAT } from "../../protocols/chat-dialect.ts";
import { compatibleChat } from "../compatible.ts";
import { COMPATIBLE_EMBEDDINGS } from "../../protocols/embeddings/dialect.ts";
import type { ProviderDefinition } from "../provider.ts";

/**
 * Mistral: https://docs.mistral.ai/api. It refuses fields that it does not know, and ids of tool calls that are
 * not its own.
 */
export const mistral: ProviderDefinition = {
  id: "mistral",
  keyVariable: "MISTRAL_API_KEY",
  baseUrlVariable: "MISTRAL_BASE_URL",
  defaultBaseUrl: "https://api.mistral.ai/v1",
  protocols: [
    compatibleChat(
      {
        takes: [
          ...COMPATIBLE_CHAT.takes,
          "n",
          "random_seed",
          "metadata",
          "prompt_cache_key",
          "safe_prompt",
          "prompt_mode",
          "reasoning_effort",
        ],
        renames: { seed: "random_seed" },
        messageFields: ["role", "content", "tool_calls", "tool_call_id", "prefix"],
        thinking: { effort: "reasoning_effort" },
        ownParts: ["document_url"],
        toolIds: "nine",
      },
      {
        streamUsageOption: false,
        padding: ["p"],
      },
    ),
  ],
  // https://docs.mistral.ai/api/endpoint/embeddings
  embeddings: { ...COMPATIBLE_EMBEDDINGS, dimensionsField: "output_dimension" },
};
