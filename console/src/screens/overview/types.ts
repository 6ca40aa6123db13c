/** Percentiles of a duration, in milliseconds. */
export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** What requests of an interval and a group come to. */
export interface Usage {
  readonly time: number;
  readonly group: string | null;
  /** That of the account or the key; absent: the usage is not by these. */
  readonly name?: string | null;
  readonly requests: number;
  readonly failed: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens: number;
  readonly images: number;
  readonly seconds: number;
  readonly credit: number;
  readonly cost: number;
  readonly credit_with_cost: number;
  readonly latency_ms: Percentiles | null;
  readonly first_byte_ms: Percentiles | null;
  /** How many requests completed in less than `below_ms`, but not in less than half of that; absent: not asked for. */
  readonly latency_spread?: readonly { readonly below_ms: number; readonly requests: number }[];
}

/** Whose usage is asked for; absent: all. */
export interface UsageOf {
  readonly account_id?: string;
  readonly key_id?: string;
  readonly model?: string;
}

/** Which usage is asked for. */
export interface UsageQuery extends UsageOf {
  readonly from: number;
  readonly to: number;
  readonly interval: "hour" | "day" | "all";
  /** Whether percentiles are worked out; absent: they are. */
  readonly durations?: boolean;
  /** Whether the gateway tells how many requests took how long; absent: it does not. */
  readonly spread?: boolean;
  /** How many groups the gateway tells, the most charged first; absent: all, by name. */
  readonly top?: number;
  readonly group_by: "model" | "key" | "account" | "provider" | "route" | "outcome" | "none";
}
