import { COMPATIBLE_CHAT } from "../../protocols/chat-dialect.ts";
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
    {
      id: "compat_chat_completions",
      dialect: {
        kind: "compatible",
        unknownFields: "remove",
        streamUsageOption: true,
        padding: [],
        chat: {
          ...COMPATIBLE_CHAT,
          takes: [...COMPATIBLE_CHAT.takes, "logprobs", "top_logprobs", "thinking", "reasoning_effort"],
          reasoningBack: ["reasoning_content"],
          thinking: { effort: "reasoning_effort", toggle: "thinking" },
          jsonSchema: false,
        },
      },
    },
  ],
};
