import type { ProviderDefinition } from "../provider.ts";
import { falImages } from "./images.ts";
import { falVideos } from "./videos.ts";

/** fal.ai: many vendors' models behind one queue. https://docs.fal.ai/model-apis/model-endpoints/queue */
export const fal: ProviderDefinition = {
  id: "fal",
  keyVariable: "FAL_KEY",
  baseUrlVariable: "FAL_BASE_URL",
  defaultBaseUrl: "https://queue.fal.run",
  protocols: [],
  media: {
    headers: (apiKey) => ({ authorization: `Key ${apiKey}` }),
    adapters: { image: falImages, video: falVideos },
  },
};
