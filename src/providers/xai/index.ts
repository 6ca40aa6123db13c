import { COMPATIBLE_CHAT } from "../../protocols/chat-dialect.ts";
import { compatibleChat } from "../compatible.ts";
import type { ProviderDefinition } from "../provider.ts";
import { RESPONSES_OF_FUNCTIONS } from "../responses.ts";

/**
 * xAI: https://docs.x.ai/docs/api-reference. Its reasoning models count reasoning beside the completion.
 */
export const xai: ProviderDefinition = {
  id: "xai",
  keyVariable: "XAI_API_KEY",
  baseUrlVariable: "XAI_BASE_URL",
  defaultBaseUrl: "https://api.x.ai/v1",
  protocols: [
    compatibleChat({
      takes: [...COMPATIBLE_CHAT.takes, "n", "logprobs", "top_logprobs", "seed", "user", "reasoning_effort"],
      thinking: { effort: "reasoning_effort" },
      boundsReasoning: false,
    }),
    // https://docs.x.ai/docs/guides/responses
    RESPONSES_OF_FUNCTIONS,
  ],
};
