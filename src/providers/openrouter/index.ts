import { COMPATIBLE_CHAT } from "../../protocols/chat-dialect.ts";
import { compatibleChat } from "../compatible.ts";
import { COMPATIBLE_EMBEDDINGS } from "../../protocols/embeddings/dialect.ts";
import type { ProviderDefinition } from "../provider.ts";
import { RESPONSES_OF_FUNCTIONS } from "../responses.ts";

/**
 * OpenRouter: https://openrouter.ai/docs/api-reference/chat-completion. Reasoning of any vendor comes and goes in
 * its own form.
 */
export const openrouter: ProviderDefinition = {
  id: "openrouter",
  keyVariable: "OPENROUTER_API_KEY",
  baseUrlVariable: "OPENROUTER_BASE_URL",
  defaultBaseUrl: "https://openrouter.ai/api/v1",
  protocols: [
    compatibleChat({
      takes: [
        ...COMPATIBLE_CHAT.takes,
        "seed",
        "user",
        "logit_bias",
        "logprobs",
        "top_logprobs",
        "modalities",
        "image_config",
        "verbosity",
        "top_k",
        "min_p",
        "top_a",
        "repetition_penalty",
      ],
      developerRole: true,
      reasoningBack: ["reasoning", "reasoning_details", "reasoning_content"],
      messageImages: true,
      // It hands marks on to the vendors that have them: https://openrouter.ai/docs/features/prompt-caching
      cacheMarks: true,
      // https://openrouter.ai/docs/features/multimodal/pdfs
      fileLinks: true,
      thinking: { effort: "reasoning", toggle: "reasoning", budget: "reasoning" },
      // It hands the bound on to vendors that leave reasoning out of it.
      boundsReasoning: false,
    }),
    // https://openrouter.ai/docs/api-reference/responses-api/overview
    RESPONSES_OF_FUNCTIONS,
  ],
  // https://openrouter.ai/docs/api-reference/embeddings
  embeddings: { ...COMPATIBLE_EMBEDDINGS, user: true },
};
