import type { ProviderDefinition } from "../provider.ts";
import { midjourneyImages } from "./images.ts";

/**
 * Midjourney through a midjourney-proxy that the operator runs: there is no public one, so that its address has to be
 * set. https://github.com/trueai-org/midjourney-proxy
 */
export const midjourney: ProviderDefinition = {
  id: "midjourney",
  keyVariable: "MIDJOURNEY_PROXY_SECRET",
  baseUrlVariable: "MIDJOURNEY_PROXY_BASE_URL",
  protocols: [],
  media: {
    // The proxy itself reads the first, hosted copies of it the second.
    headers: (secret) => ({ "mj-api-secret": secret, authorization: `Bearer ${secret}` }),
    adapters: { image: midjourneyImages },
  },
};
