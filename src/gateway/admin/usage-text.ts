import { creditsText } from "../../core/money/credits.ts";
import { type Histogram, quantile } from "../../ledger/usage/histogram.ts";
import type { UsageGroup, UsageQuery } from "../../ledger/usage/read-usage.ts";

/** Which usage is asked for, and how it is shown. */
export interface ShownUsage extends UsageQuery {
  /** What the operator owes providers is told as nothing. */
  readonly hidesCost: boolean;
}

/** Usage as the admin interface shows it, as JSON: sums of credits have all their digits. */
export function usageText(query: ShownUsage, groups: readonly UsageGroup[]): string {
  const { fromMs, toMs, interval, groupBy, hidesCost } = query;
  const asked = { from: fromMs / 1000, to: toMs / 1000, interval, group_by: groupBy };
  return `${JSON.stringify(asked).slice(0, -1)},"data":[${groups.map((group) => groupText(group, hidesCost)).join(",")}]}`;
}

function groupText({ timeMs, group, measures }: UsageGroup, hidesCost: boolean): string {
  const { requests, failed, inputTokens, outputTokens, cacheReadTokens, images, seconds } = measures;
  const counts = {
    time: timeMs / 1000,
    group,
    requests,
    failed,
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    cache_read_tokens: cacheReadTokens,
    images,
    seconds,
  };
  const [cost, creditWithCost] = hidesCost ? [0n, 0n] : [measures.cost, measures.creditWithCost];
  const durations = {
    latency_ms: quantilesOf(measures.latency),
    first_byte_ms: quantilesOf(measures.firstByte),
  };
  return (
    `${JSON.stringify(counts).slice(0, -1)},"credit":${creditsText(measures.credit)}` +
    `,"cost":${creditsText(cost)},"credit_with_cost":${creditsText(creditWithCost)}` +
    `,${JSON.stringify(durations).slice(1)}`
  );
}

function quantilesOf(histogram: Histogram) {
  const p50 = quantile(histogram, 0.5);
  if (p50 === undefined) return null;
  return { p50, p95: quantile(histogram, 0.95), p99: quantile(histogram, 0.99) };
}
