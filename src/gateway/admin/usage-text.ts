import { creditsText } from "../../core/money/credits.ts";
import { doublings, type Histogram, quantiles } from "../../ledger/usage/histogram.ts";
import type { UsageGroup, UsageQuery } from "../../ledger/usage/read-usage.ts";

/** Which usage is asked for, and how it is shown. */
export interface ShownUsage extends UsageQuery {
  /** What the operator owes providers is told as nothing. */
  readonly hidesCost: boolean;
  /** Whether the answer tells how many requests took how long. */
  readonly hasSpread: boolean;
}

/** Names of accounts or keys by their ids. */
export type GroupNames = ReadonlyMap<string, string>;

/**
 * Usage as the admin interface shows it, as JSON: sums of credits have all their digits. `names` has those of the groups
 * where these are accounts or keys.
 */
export function usageText(query: ShownUsage, groups: readonly UsageGroup[], names?: GroupNames): string {
  const { fromMs, toMs, interval, groupBy } = query;
  const asked = { from: fromMs / 1000, to: toMs / 1000, interval, group_by: groupBy };
  const data = groups.map((group) => groupText(group, query, names));
  return `${JSON.stringify(asked).slice(0, -1)},"data":[${data.join(",")}]}`;
}

/** Written by hand: there may be many thousands of them. */
function groupText(
  { timeMs, group, measures }: UsageGroup,
  { hidesCost, hasSpread }: Pick<ShownUsage, "hidesCost" | "hasSpread">,
  names: GroupNames | undefined,
): string {
  const { requests, failed, inputTokens, outputTokens, cacheReadTokens, images, seconds } = measures;
  const { credit, latency, firstByte } = measures;
  const [cost, creditWithCost] = hidesCost ? [0n, 0n] : [measures.cost, measures.creditWithCost];
  return (
    `{"time":${timeMs / 1000},"group":${JSON.stringify(group)}` +
    (names === undefined ? "" : `,"name":${JSON.stringify(names.get(group ?? "") ?? null)}`) +
    `,"requests":${requests},"failed":${failed}` +
    `,"input_tokens":${inputTokens},"output_tokens":${outputTokens},"cache_read_tokens":${cacheReadTokens}` +
    `,"images":${images},"seconds":${seconds},"credit":${creditsText(credit)},"cost":${creditsText(cost)}` +
    `,"credit_with_cost":${creditsText(creditWithCost)}` +
    `,"latency_ms":${durationsText(latency)},"first_byte_ms":${durationsText(firstByte)}` +
    (hasSpread ? `,"latency_spread":${spreadText(latency)}}` : "}")
  );
}

function spreadText(histogram: Histogram): string {
  return JSON.stringify(
    doublings(histogram).map(({ belowMs, count }) => ({ below_ms: belowMs, requests: count })),
  );
}

const SHARES = [0.5, 0.95, 0.99];

function durationsText(histogram: Histogram): string {
  const durations = quantiles(histogram, SHARES);
  if (durations === undefined) return "null";
  const [p50, p95, p99] = durations;
  return `{"p50":${p50},"p95":${p95},"p99":${p99}}`;
}
