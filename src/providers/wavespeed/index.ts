import type { ProviderDefinition } from "../provider.ts";
import { wavespeedImages } from "./images.ts";
import { wavespeedVideos } from "./videos.ts";

/** WaveSpeedAI: many vendors' models behind one queue. https://wavespeed.ai/docs */
export const wavespeed: ProviderDefinition = {
  id: "wavespeed",
  keyVariable: "WAVESPEED_API_KEY",
  baseUrlVariable: "WAVESPEED_BASE_URL",
  defaultBaseUrl: "https://api.wavespeed.ai/api/v3",
  protocols: [],
  media: {
    headers: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
    adapters: { image: wavespeedImages, video: wavespeedVideos },
  },
};
