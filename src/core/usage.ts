/**
 * Token usage in disjoint buckets: a token is in exactly one of them, so that cost is a plain sum. Every
 * protocol's own counts (which overlap in different ways) are turned into this form before money sees them.
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
 * What a request used: tokens, and what was delivered by the piece. A count that is absent is none, so that the usage
 * of most language requests is a `TokenUsage` and nothing more.
 */
export interface Usage extends TokenUsage {
  /**
   * Seconds of delivered video, whole: whoever counts them rounds each video up, because the vendors that sell by the
   * second bill a second that has begun.
   */
  readonly seconds?: number;
  /** Delivered images. */
  readonly images?: number;
  /** Searches that the provider made for the model. */
  readonly webSearches?: number;
}

/** How a usage was arrived at, when it is not simply what the provider said. */
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
