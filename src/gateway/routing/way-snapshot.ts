import type { WayKey } from "./way-key.ts";

/** `cooling`: the provider asked for a pause, or does not serve the model. `open`: the credential's breaker is. */
export const STATES = ["healthy", "cooling", "open"] as const;
export type State = (typeof STATES)[number];

/** A way as the operator sees it. */
export interface WaySnapshot extends WayKey {
  readonly state: State;
  /** The end of that state, by the machine's clock; `null` where it is healthy or not known. */
  readonly untilMs: number | null;
  /** Of the credential, in a row. */
  readonly failures: number;
  readonly latencyMs: number | null;
  readonly plainMs: number | null;
  /** Since the start of the process. */
  readonly calls: number;
  readonly failed: number;
  readonly lastFailure: LastFailure | null;
}

/** The last call, or probe, that failed. */
export interface LastFailure {
  readonly reason: string;
  readonly status: number | null;
  readonly atMs: number;
}
