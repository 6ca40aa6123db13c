import type { ProviderDefinition } from "../provider.ts";

/** Anthropic itself: the reference of the messages format. */
export const anthropic: ProviderDefinition = {
  id: "anthropic",
  keyVariable: "ANTHROPIC_API_KEY",
  baseUrlVariable: "ANTHROPIC_BASE_URL",
  defaultBaseUrl: "https://api.anthropic.com",
  protocols: [
    {
      id: "compat_messages",
      dialect: { kind: "native", unknownFields: "remove", streamUsageOption: false, padding: [] },
    },
  ],
};
