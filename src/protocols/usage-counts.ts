import type { UsageFlag } from "../core/money/usage.ts";

/** No request comes to this many tokens: above it a count is a fault of the provider. */
export const MOST_TOKENS = 100_000_000;

/** A reader for the counts of one usage, as a provider reports them. What cannot be is clamped, and flagged. */
export function openUsageCounts() {
  const flags = new Set<UsageFlag>();
  return {
    flags,
    /** A count as told; absent is none. */
    count(raw: unknown): number {
      if (raw === undefined || raw === null) return 0;
      if (typeof raw === "number" && Number.isInteger(raw) && raw >= 0 && raw <= MOST_TOKENS) return raw;
      flags.add("clamped");
      return typeof raw === "number" && raw > 0 && Number.isFinite(raw)
        ? Math.min(Math.floor(raw), MOST_TOKENS)
        : 0;
    },
    /** As many of `wanted` as are `left`: for counts that are told as a part of another. */
    take(wanted: number, left: number): number {
      if (wanted > left) flags.add("clamped");
      return Math.min(wanted, left);
    },
  };
}
