import type { Static } from "typebox";
import {
  parseTokenPrice,
  TOKEN_BUCKETS,
  type PriceCondition,
  type PriceRule,
  type Prices,
} from "../core/price.ts";
import { contentHash } from "../runtime/hash.ts";
import type { PricesSchema } from "./schema.ts";

type PricesData = Static<typeof PricesSchema>;
type RulesData = Exclude<NonNullable<PricesData["input"]>, number>;

/** Reads prices as written (USD per million tokens) into rules. Throws a sentence that names what is wrong. */
export function readPrices(data: PricesData): { readonly prices: Prices; readonly version: string } {
  const prices: Partial<Record<keyof PricesData, readonly PriceRule[]>> = {};
  for (const bucket of TOKEN_BUCKETS) {
    const rules = data[bucket];
    if (rules === undefined) continue;
    prices[bucket] = readRules(bucket, typeof rules === "number" ? [{ price: rules }] : rules);
  }
  for (const bucket of ["input", "output"] as const) {
    if (prices[bucket] === undefined)
      throw new Error(`prices.${bucket} is missing: every language model has one`);
  }
  const text = JSON.stringify(prices, (_, value: unknown) =>
    typeof value === "bigint" ? value.toString() : value,
  );
  return { prices, version: contentHash(text).slice(0, 16) };
}

function readRules(bucket: string, rules: RulesData): PriceRule[] {
  const read = rules.map(({ when = {}, price }, i): PriceRule => {
    const micro = parseTokenPrice(price);
    if (micro === undefined) {
      throw new Error(`prices.${bucket}[${i}] is finer than $0.0001 per million tokens`);
    }
    return { when: readCondition(`prices.${bucket}[${i}].when`, when), price: micro };
  });
  const last = read.at(-1);
  if (last === undefined || Object.keys(last.when).length > 0) {
    throw new Error(`the last rule of prices.${bucket} has a condition: every request must come to a price`);
  }
  return read;
}

function readCondition(path: string, when: NonNullable<RulesData[number]["when"]>): PriceCondition {
  const fromMs = when.from === undefined ? undefined : Date.parse(when.from);
  if (fromMs !== undefined && Number.isNaN(fromMs)) throw new Error(`${path}.from is no date in ISO 8601`);
  const hours = when.utc_hours?.map(([from, to]) => [from, to] as const);
  if (hours?.some(([from, to]) => from === undefined || to === undefined || from >= to) === true) {
    throw new Error(`${path}.utc_hours has a range that ends before it begins: write it as two ranges`);
  }
  return {
    ...(fromMs === undefined ? {} : { fromMs }),
    ...(hours === undefined ? {} : { utcHours: hours as [number, number][] }),
    ...(when.input_over === undefined ? {} : { inputOver: when.input_over }),
  };
}
