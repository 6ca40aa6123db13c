import type { UsageFlag } from "../core/usage.ts";

/** No request comes to this many tokens: above it a count is a fault of the provider. */
export const MOST_TOKENS = 100_000_000;

/** Reads counts that a provider reports. What cannot be is clamped, and flagged. */
export interface UsageCounts {
  readonly flags: Set<UsageFlag>;
  /** A count as told; absent is none. */
  count(raw: unknown): number;
  /** As many of `wanted` as are `left`: for counts that are told as a part of another. */
  take(wanted: number, left: number): number;
}

/** A reader for one usage. */
export function openUsageCounts(): UsageCounts {
  const flags = new Set<UsageFlag>();
  return {
    flags,
    count(raw) {
      if (raw === undefined || raw === null) return 0;
      if (typeof raw === "number" && Number.isInteger(raw) && raw >= 0 && raw <= MOST_TOKENS) return raw;
      flags.add("clamped");
      return typeof raw === "number" && raw > 0 && Number.isFinite(raw)
        ? Math.min(Math.floor(raw), MOST_TOKENS)
        : 0;
    },
    take(wanted, left) {
      if (wanted > left) flags.add("clamped");
      return Math.min(wanted, left);
    },
  };
}
