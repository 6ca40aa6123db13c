import { creditsText } from "../../core/money/credits.ts";
import { doublings, type Histogram, quantiles } from "../../ledger/usage/histogram.ts";
import type { Measure, Measures } from "../../ledger/usage/measures.ts";
import type { UsageGroup, UsageQuery } from "../../ledger/usage/read-usage.ts";

/** A figure of usage: what it is made of, and how it is written as JSON. */
interface FigureForm {
  readonly measure: Measure;
  readonly text: (measures: Measures) => string;
}

/** The figures of usage, in the order in which a row has them. */
const FORMS = {
  requests: figure("requests", String),
  failed: figure("failed", String),
  input_tokens: figure("inputTokens", String),
  output_tokens: figure("outputTokens", String),
  cache_read_tokens: figure("cacheReadTokens", String),
  images: figure("images", String),
  seconds: figure("seconds", String),
  credit: figure("credit", creditsText),
  cost: figure("cost", creditsText),
  credit_with_cost: figure("creditWithCost", creditsText),
  latency_ms: figure("latency", durationsText),
  first_byte_ms: figure("firstByte", durationsText),
  latency_spread: figure("latency", spreadText),
} as const satisfies Readonly<Record<string, FigureForm>>;

/** The name of a figure of usage. */
export type Figure = keyof typeof FORMS;
export const FIGURES = Object.keys(FORMS) as readonly Figure[];

/** What tells the operator's costs. */
const OF_COST: ReadonlySet<Figure> = new Set(["cost", "credit_with_cost"]);

/** What the store has to add up for these figures. */
export function measuresOf(figures: readonly Figure[]): readonly Measure[] {
  return [...new Set(figures.map((name) => FORMS[name].measure))];
}

/** Which usage is asked for, and how it is shown. */
export interface ShownUsage extends Omit<UsageQuery, "measures"> {
  readonly figures: readonly Figure[];
  /** What the operator owes providers is told as nothing. */
  readonly hidesCost: boolean;
}

/** Names of accounts or keys by their ids. */
export type GroupNames = ReadonlyMap<string, string>;

/**
 * Usage as the admin interface shows it, as JSON: sums of credits have all their digits. `names` has those of the groups
 * where these are accounts or keys.
 */
export function usageText(query: ShownUsage, groups: readonly UsageGroup[], names?: GroupNames): string {
  const { fromMs, toMs, interval, groupBy, figures, hidesCost } = query;
  const asked = { from: fromMs / 1000, to: toMs / 1000, interval, group_by: groupBy };
  const members = FIGURES.filter((name) => figures.includes(name)).map((name) => {
    const textOf = hidesCost && OF_COST.has(name) ? () => "0" : FORMS[name].text;
    return { head: `,"${name}":`, textOf };
  });
  const heads = new Map<string | null, string>();
  const headOf = (group: string | null): string => {
    const name = names === undefined ? "" : `,"name":${JSON.stringify(names.get(group ?? "") ?? null)}`;
    return `,"group":${JSON.stringify(group)}${name}`;
  };
  // Written by hand: there may be many thousands of them, of few groups.
  const data: string[] = [];
  for (const { timeMs, group, measures } of groups) {
    let head = heads.get(group);
    if (head === undefined) heads.set(group, (head = headOf(group)));
    let text = `{"time":${timeMs / 1000}${head}`;
    for (const { head, textOf } of members) text += head + textOf(measures);
    data.push(`${text}}`);
  }
  return `${JSON.stringify(asked).slice(0, -1)},"data":[${data.join(",")}]}`;
}

function figure<Name extends Measure>(measure: Name, text: (value: Measures[Name]) => string): FigureForm {
  return { measure, text: (measures) => text(measures[measure]) };
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
