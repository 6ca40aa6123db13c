import { printable } from "../printable.ts";

/**
 * Previews that change no price and no bound, by the name before the date. What is not here is left out with a
 * warning: previews have brought longer outputs, faster and dearer service, other models and other machines.
 * Source: `AnthropicBeta` of @anthropic-ai/sdk 1.12 and the pages of platform.claude.com that it links to.
 */
const RELAYED = new Set(
  `claude-code computer-use context-management dev-full-thinking effort extended-cache-ttl
  files-api fine-grained-tool-streaming interleaved-thinking mid-conversation-output-config
  mid-conversation-system-clear-at mid-conversation-tool-changes model-context-window-exceeded
  pdfs prompt-caching prompt-caching-scope structured-outputs task-budgets
  thinking-display-updates thinking-token-count token-counting token-efficient-tools tool-examples
  tool-search-tool web-fetch`.split(/\s+/),
);

/** The values of the request's `anthropic-beta` headers. */
export function readBetas(headers: Headers): readonly string[] {
  return (headers.get("anthropic-beta") ?? "")
    .split(",")
    .map((value) => value.trim())
    .filter((value) => value !== "");
}

/** The name of a preview without its date. */
export function betaName(value: string): string {
  return value.replace(/-20\d\d-?\d\d-?\d\d$/, "");
}

/** Which previews go up; `warn` is told of each that does not. */
export function relayedBetas(
  values: readonly string[],
  warn: (sentence: string) => void,
): ReadonlySet<string> {
  const relayed = new Set<string>();
  for (const value of values) {
    if (RELAYED.has(betaName(value))) relayed.add(value);
    else warn(`anthropic-beta ${printable(value)} was left out: it is not known to keep the price`);
  }
  return relayed;
}
