import type { Issuer } from "../../core/chat.ts";

/** The word for an issuer's models that stands in `format` of a `reasoning_details` item. */
export const FORMATS: ReadonlyMap<Issuer, string> = new Map([
  ["anthropic", "anthropic-claude-v1"],
  ["google", "google-gemini-v1"],
  ["openai", "openai-responses-v1"],
  ["xai", "xai-responses-v1"],
]);

/** The issuers by that word. */
export const ISSUERS: ReadonlyMap<unknown, Issuer> = new Map(
  [...FORMATS].map(([issuer, format]) => [format, issuer]),
);
