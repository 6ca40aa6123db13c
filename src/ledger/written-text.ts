import { jsonOfAmounts } from "../core/json/json-value.ts";
import type { PriceSnapshot } from "../core/money/price.ts";
import type { Usage } from "../core/money/usage.ts";

/** Counts by bucket as JSON, without those that are zero. */
export function usageText(usage: Usage): string {
  let text = "";
  for (const bucket in usage) {
    const count = usage[bucket as keyof Usage];
    if (count !== undefined && count !== 0) text += `${text === "" ? "" : ","}"${bucket}":${count}`;
  }
  return `{${text}}`;
}

/**
 * Writes the rules of a snapshot as JSON, with prices as decimal text; it writes each version once and remembers it.
 */
export function createRulesText(): (snapshot: PriceSnapshot) => string {
  const known = new Map<string, string>();
  return ({ version, prices }) => {
    let text = known.get(version);
    if (text === undefined) {
      text = jsonOfAmounts(prices);
      known.set(version, text);
    }
    return text;
  };
}
