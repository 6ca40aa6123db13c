import { COMPATIBLE_CHAT } from "../../protocols/chat-dialect.ts";
import { compatibleChat } from "../compatible.ts";
import type { ProviderDefinition } from "../provider.ts";

/**
 * DeepSeek: https://api-docs.deepseek.com/api/create-chat-completion. Thinking models want their reasoning back.
 */
export const deepseek: ProviderDefinition = {
  id: "deepseek",
  keyVariable: "DEEPSEEK_API_KEY",
  baseUrlVariable: "DEEPSEEK_BASE_URL",
  defaultBaseUrl: "https://api.deepseek.com",
  protocols: [
    compatibleChat({
      takes: [...COMPATIBLE_CHAT.takes, "logprobs", "top_logprobs", "thinking", "reasoning_effort"],
      reasoningBack: ["reasoning_content"],
      thinking: { effort: "reasoning_effort", toggle: "thinking" },
      jsonSchema: false,
    }),
  ],
};
