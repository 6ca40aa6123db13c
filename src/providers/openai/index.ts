import { REFERENCE_CHAT } from "../../protocols/chat-dialect.ts";
import { OPENAI_EMBEDDINGS } from "../../protocols/embeddings/dialect.ts";
import type { ProviderDefinition } from "../provider.ts";
import { RESPONSES } from "../responses.ts";
import { openaiImages } from "./images.ts";

/** OpenAI itself: the reference of chat completions, and of Responses. */
export const openai: ProviderDefinition = {
  id: "openai",
  keyVariable: "OPENAI_API_KEY",
  baseUrlVariable: "OPENAI_BASE_URL",
  defaultBaseUrl: "https://api.openai.com/v1",
  protocols: [
    {
      id: "compat_chat_completions",
      dialect: {
        kind: "native",
        unknownFields: "remove",
        streamUsageOption: true,
        // https://platform.openai.com/docs/api-reference/chat/create (stream_options.include_obfuscation)
        padding: ["obfuscation"],
        chat: REFERENCE_CHAT,
      },
    },
    // https://platform.openai.com/docs/api-reference/responses/compact
    { ...RESPONSES, dialect: { ...RESPONSES.dialect, compacts: true } },
  ],
  embeddings: OPENAI_EMBEDDINGS,
  media: {
    headers: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
    adapters: { image: openaiImages },
  },
};
