import { GEMINI_EMBEDDINGS } from "../../protocols/embeddings/dialect.ts";
import type { ProviderDefinition } from "../provider.ts";
import { googleImages } from "./images.ts";

/** Google's Gemini API: the reference of the generateContent format. */
export const google: ProviderDefinition = {
  id: "google",
  keyVariable: "GEMINI_API_KEY",
  baseUrlVariable: "GEMINI_BASE_URL",
  defaultBaseUrl: "https://generativelanguage.googleapis.com",
  protocols: [
    {
      id: "compat_generate_content",
      dialect: { kind: "native", unknownFields: "remove", streamUsageOption: false, padding: [] },
    },
  ],
  embeddings: GEMINI_EMBEDDINGS,
  media: {
    headers: (apiKey) => ({ "x-goog-api-key": apiKey }),
    adapters: { image: googleImages },
  },
};
