import type { Step } from "../../shell/range.ts";

/** Percentiles of a duration, in milliseconds. */
export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** What requests come to. */
interface Figures {
  readonly requests: number;
  readonly failed: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly credit: number;
  readonly latency_ms: Percentiles | null;
  readonly first_byte_ms: Percentiles | null;
  /** How many requests completed in less than `below_ms`, but not in less than half of that. */
  readonly latency_spread: readonly { readonly below_ms: number; readonly requests: number }[];
}

/** A name of a figure. */
export type Figure = keyof Figures;

/** What requests of an interval and a group come to, in the figures that were asked for. */
export type Usage<Asked extends Figure> = Pick<Figures, Asked> & {
  readonly time: number;
  readonly group: string | null;
  /** That of the account or the key; absent: the usage is not by these. */
  readonly name?: string | null;
};

/** What the figures of a range show. */
export type Totals = Pick<Figures, (typeof TOTALS)[number]>;
export const TOTALS = [
  "requests",
  "failed",
  "input_tokens",
  "output_tokens",
  "credit",
  "latency_ms",
  "first_byte_ms",
] as const satisfies readonly Figure[];

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
  readonly interval: Step | "all";
  /** How many groups the gateway tells, the most charged first; absent: all, by name. */
  readonly top?: number;
  readonly group_by: "model" | "key" | "account" | "provider" | "route" | "outcome" | "none";
}
