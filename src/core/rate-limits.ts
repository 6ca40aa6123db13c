/** Limits of a key; null where it has none. */
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
  /** When the window is empty again if nothing more is used, in milliseconds since the epoch. */
  readonly resetAtMs: number;
}

/** The state of a key's limits per minute after a request was counted; a limit that it does not have is absent. */
export interface LimitState {
  readonly requests?: LimitWindow;
  readonly tokens?: LimitWindow;
}
