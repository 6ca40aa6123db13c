import type { ProviderDefinition } from "../provider.ts";
import { arkImages } from "./images.ts";
import { arkVideos } from "./videos.ts";

/**
 * ByteDance's Ark, as BytePlus ModelArk sells it outside of China; keys do not cross regions.
 * https://docs.byteplus.com/en/docs/ModelArk
 */
export const ark: ProviderDefinition = {
  id: "ark",
  keyVariable: "ARK_API_KEY",
  baseUrlVariable: "ARK_BASE_URL",
  defaultBaseUrl: "https://ark.ap-southeast.bytepluses.com/api/v3",
  protocols: [],
  media: {
    headers: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
    adapters: { image: arkImages, video: arkVideos },
    ownHosts: /\.(bytepluses|volces)\.com$/,
  },
};
