/** What a key may use; a limit that it has not is null. */
export interface KeyLimits {
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
  /** Requests under way at once. */
  readonly concurrency: number | null;
}

/** A key without any limit. */
export const NO_LIMITS: KeyLimits = { requestsPerMinute: null, tokensPerMinute: null, concurrency: null };

/** One limit of a key and what is left of it. */
export interface LimitWindow {
  readonly limit: number;
  /** Never below zero. */
  readonly remaining: number;
  /** When all of it will be free again if nothing more is used, in milliseconds since the epoch. */
  readonly resetAtMs: number;
}

/** How a key stands against its limits per minute after a request was counted; a limit that it has not is absent. */
export interface LimitState {
  readonly requests?: LimitWindow;
  readonly tokens?: LimitWindow;
}
