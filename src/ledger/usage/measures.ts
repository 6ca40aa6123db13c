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

/** A name of what is measured. */
export type Measure = keyof Measures;

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

/** A request of the books, as usage reads it. */
export type CountedRow = Awaited<ReturnType<ReturnType<typeof selectCounted>["execute"]>>[number];

/** The names that usage tells a request apart by. */
export function namesOf({ model, provider, account_id, key_id, outcome }: CountedRow): Names {
  return { model, provider: provider ?? "", account: account_id, key: key_id, outcome };
}

/** When a request was settled, by which it belongs to a time. */
export function timeOf({ settled_at_ms }: CountedRow): number {
  return Number(settled_at_ms);
}

/** Adds one request to `sum`. */
export function addRequest(sum: Measures, row: CountedRow): void {
  const usage: Usage = { ...NO_USAGE, ...(JSON.parse(row.usage ?? "{}") as Partial<Usage>) };
  sum.requests += 1;
  if (!NO_FAILURE.has(row.outcome)) sum.failed += 1;
  sum.inputTokens += inputTokens(usage);
  sum.outputTokens += outputTokens(usage);
  sum.cacheReadTokens += usage.cacheRead;
  sum.images += usage.images ?? 0;
  sum.seconds += usage.seconds ?? 0;
  sum.credit += row.charge;
  if (row.cost !== null) {
    sum.cost += row.cost;
    sum.creditWithCost += row.charge;
  }
  const admittedMs = Number(row.admitted_at_ms);
  if (row.outcome === "completed") observe(sum.latency, Number(row.ended_at_ms) - admittedMs);
  if (row.first_byte_at_ms !== null) observe(sum.firstByte, Number(row.first_byte_at_ms) - admittedMs);
}
