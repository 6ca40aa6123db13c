/**
 * Token usage in disjoint buckets: each token is in exactly one, so that cost is a plain sum. Every protocol turns its
 * own counts, which overlap in different ways, into this form before the ledger sees them.
 */
export interface TokenUsage {
  /** Input that is none of the other input buckets. */
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite5m: number;
  readonly cacheWrite1h: number;
  readonly imageInput: number;
  readonly audioInput: number;
  /** Output that is none of the other output buckets. */
  readonly output: number;
  readonly reasoning: number;
  readonly imageOutput: number;
  readonly audioOutput: number;
}

/**
 * Usage of a request: tokens and delivered pieces. An absent count is zero, so that most language requests have a plain
 * `TokenUsage`.
 */
export interface Usage extends TokenUsage {
  /**
   * Whole seconds of delivered video. Each video is rounded up, because the vendors that sell by the second bill a
   * second that has begun.
   */
  readonly seconds?: number;
  /** Delivered images. */
  readonly images?: number;
  /** Searches that the provider made for the model. */
  readonly webSearches?: number;
}

/** How a usage was arrived at, where it is not simply the provider's. */
export type UsageFlag = "estimated" | "clamped" | "inferred" | "partial" | "above_hold";

/** A usage of nothing. */
export const NO_USAGE: TokenUsage = {
  input: 0,
  cacheRead: 0,
  cacheWrite5m: 0,
  cacheWrite1h: 0,
  imageInput: 0,
  audioInput: 0,
  output: 0,
  reasoning: 0,
  imageOutput: 0,
  audioOutput: 0,
};

/** All input, cached or not. */
export function inputTokens(usage: TokenUsage): number {
  return (
    usage.input +
    usage.cacheRead +
    usage.cacheWrite5m +
    usage.cacheWrite1h +
    usage.imageInput +
    usage.audioInput
  );
}

/** All output, reasoning included. */
export function outputTokens(usage: TokenUsage): number {
  return usage.output + usage.reasoning + usage.imageOutput + usage.audioOutput;
}

/** Both usages together. */
export function addUsage(one: Usage, other: Usage): Usage {
  const sum: { -readonly [Field in keyof Usage]: Usage[Field] } = { ...one };
  for (const [field, count] of Object.entries(other) as [keyof Usage, number][])
    sum[field] = (sum[field] ?? 0) + count;
  return sum;
}
