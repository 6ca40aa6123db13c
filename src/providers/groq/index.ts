import { COMPATIBLE_CHAT } from "../../protocols/chat-dialect.ts";
import { compatibleChat } from "../compatible.ts";
import type { ProviderDefinition } from "../provider.ts";

/**
 * Groq: https://console.groq.com/docs/api-reference. It refuses properties that it does not know, in the body and
 * in messages.
 */
export const groq: ProviderDefinition = {
  id: "groq",
  keyVariable: "GROQ_API_KEY",
  baseUrlVariable: "GROQ_BASE_URL",
  defaultBaseUrl: "https://api.groq.com/openai/v1",
  protocols: [
    compatibleChat({
      takes: [
        ...COMPATIBLE_CHAT.takes,
        "n",
        "seed",
        "user",
        "service_tier",
        "reasoning_effort",
        "reasoning_format",
        "include_reasoning",
        "functions",
        "function_call",
      ],
      messageFields: ["role", "content", "name", "tool_calls", "tool_call_id", "function_call"],
      manyChoices: false,
      mostStops: 4,
      thinking: { effort: "reasoning_effort" },
    }),
  ],
};
