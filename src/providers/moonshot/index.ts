import { COMPATIBLE_CHAT } from "../../protocols/chat-dialect.ts";
import { compatibleChat } from "../compatible.ts";
import type { ProviderDefinition } from "../provider.ts";

/**
 * Moonshot AI: https://platform.moonshot.ai/docs/api/chat. Ids of tool calls are expected back as they were given.
 */
export const moonshot: ProviderDefinition = {
  id: "moonshot",
  keyVariable: "MOONSHOT_API_KEY",
  baseUrlVariable: "MOONSHOT_BASE_URL",
  defaultBaseUrl: "https://api.moonshot.ai/v1",
  protocols: [
    compatibleChat({
      takes: [
        ...COMPATIBLE_CHAT.takes,
        "n",
        "thinking",
        "reasoning_effort",
        "prompt_cache_key",
        "safety_identifier",
      ],
      // "No more than 5": https://platform.moonshot.ai/docs/api/chat
      mostStops: 5,
      reasoningBack: ["reasoning_content"],
      thinking: { effort: "reasoning_effort", toggle: "thinking" },
    }),
  ],
};
