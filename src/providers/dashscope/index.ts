import { COMPATIBLE_CHAT } from "../../protocols/chat-dialect.ts";
import { compatibleChat } from "../compatible.ts";
import { COMPATIBLE_EMBEDDINGS } from "../../protocols/embeddings/dialect.ts";
import type { ProviderDefinition } from "../provider.ts";
import { dashscopeImages } from "./images.ts";
import { dashscopeVideos } from "./videos.ts";

/**
 * Alibaba's DashScope: language models in its compatible mode
 * (https://www.alibabacloud.com/help/en/model-studio/qwen-api-reference), images and videos in its own form, which is
 * served beside it.
 */
export const dashscope: ProviderDefinition = {
  id: "dashscope",
  keyVariable: "DASHSCOPE_API_KEY",
  baseUrlVariable: "DASHSCOPE_BASE_URL",
  defaultBaseUrl: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
  protocols: [
    compatibleChat({
      takes: [
        ...COMPATIBLE_CHAT.takes,
        "n",
        "seed",
        "logprobs",
        "top_logprobs",
        "modalities",
        "top_k",
        "repetition_penalty",
        "enable_thinking",
        "thinking_budget",
        "preserve_thinking",
      ],
      reasoningBack: ["reasoning_content"],
      thinking: { toggle: "enable_thinking", budget: "thinking_budget" },
      boundsReasoning: false,
    }),
  ],
  // https://www.alibabacloud.com/help/en/model-studio/text-embedding-synchronous-api
  embeddings: COMPATIBLE_EMBEDDINGS,
  media: {
    baseUrl: (address) => address.replace(/\/compatible-mode\/v1$/, "/api/v1"),
    headers: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
    adapters: { image: dashscopeImages, video: dashscopeVideos },
    // Regions, and a host for each workspace.
    ownHosts: /\.aliyuncs\.com$/,
  },
};
