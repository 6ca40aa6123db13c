import type { MicroCredits } from "../../core/money/credits.ts";
import { inputTokens, NO_USAGE, outputTokens, type Usage } from "../../core/money/usage.ts";
import type { Database } from "../../db/schema.ts";
import { addHistogram, type Histogram, observe } from "./histogram.ts";

/** What requests come to. */
export interface Measures {
  requests: number;
  /** Neither completed nor ended by their client. */
  failed: number;
  /** All input, cached or not. */
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  images: number;
  seconds: number;
  credit: MicroCredits;
  /** What the operator owes providers, where that is known, */
  cost: MicroCredits;
  /** and what those requests were charged. */
  creditWithCost: MicroCredits;
  /** From the admission of requests that completed to their end. */
  latency: Histogram;
  /** From the admission of requests to the first byte of their answer, where there was one. */
  firstByte: Histogram;
}

/** Measures of no request. */
export function noMeasures(): Measures {
  return {
    requests: 0,
    failed: 0,
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    images: 0,
    seconds: 0,
    credit: 0n,
    cost: 0n,
    creditWithCost: 0n,
    latency: [],
    firstByte: [],
  };
}

/** Adds `other` to `sum`. */
export function addMeasures(sum: Measures, other: Measures): void {
  sum.requests += other.requests;
  sum.failed += other.failed;
  sum.inputTokens += other.inputTokens;
  sum.outputTokens += other.outputTokens;
  sum.cacheReadTokens += other.cacheReadTokens;
  sum.images += other.images;
  sum.seconds += other.seconds;
  sum.credit += other.credit;
  sum.cost += other.cost;
  sum.creditWithCost += other.creditWithCost;
  addHistogram(sum.latency, other.latency);
  addHistogram(sum.firstByte, other.firstByte);
}

/** Names by which usage is told apart, of one request or of a row of usage. */
export interface Names {
  readonly model: string;
  /** Empty where there was none. */
  readonly provider: string;
  readonly account: string;
  readonly key: string;
  readonly outcome: string;
}

/** A request as usage counts it. */
export interface CountedRow extends Names {
  readonly seq: bigint;
  /** When it was settled, by which it belongs to a time. */
  readonly atMs: number;
  readonly measures: Measures;
}

/** Outcomes that are no failure. */
const NO_FAILURE: ReadonlySet<string> = new Set(["completed", "cancelled", "client_gone"]);

/** Requests in the order of their numbers, which the caller bounds: what usage reads of each. */
export function selectCounted(database: Database) {
  return database
    .selectFrom("requests")
    .select([
      "seq",
      "model",
      "provider",
      "account_id",
      "key_id",
      "outcome",
      "charge",
      "cost",
      "usage",
      "admitted_at_ms",
      "first_byte_at_ms",
      "ended_at_ms",
      "settled_at_ms",
    ])
    .orderBy("seq");
}

type SelectedRow = Awaited<ReturnType<ReturnType<typeof selectCounted>["execute"]>>[number];

/** What usage counts of a row of the books. */
export function countedRow(row: SelectedRow): CountedRow {
  const usage: Usage = { ...NO_USAGE, ...(JSON.parse(row.usage ?? "{}") as Partial<Usage>) };
  const admittedMs = Number(row.admitted_at_ms);
  const latency: Histogram = [];
  if (row.outcome === "completed") observe(latency, Number(row.ended_at_ms) - admittedMs);
  const firstByte: Histogram = [];
  if (row.first_byte_at_ms !== null) observe(firstByte, Number(row.first_byte_at_ms) - admittedMs);
  return {
    seq: row.seq,
    atMs: Number(row.settled_at_ms),
    model: row.model,
    provider: row.provider ?? "",
    account: row.account_id,
    key: row.key_id,
    outcome: row.outcome,
    measures: {
      requests: 1,
      failed: NO_FAILURE.has(row.outcome) ? 0 : 1,
      inputTokens: inputTokens(usage),
      outputTokens: outputTokens(usage),
      cacheReadTokens: usage.cacheRead,
      images: usage.images ?? 0,
      seconds: usage.seconds ?? 0,
      credit: row.charge,
      cost: row.cost ?? 0n,
      creditWithCost: row.cost === null ? 0n : row.charge,
      latency,
      firstByte,
    },
  };
}
