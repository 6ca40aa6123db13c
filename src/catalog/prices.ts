import { jsonOfAmounts } from "../core/json/json-value.ts";
import type { Static } from "typebox";
import type { Category } from "../core/model.ts";
import {
  parseTokenPrice,
  parseUnitPrice,
  TOKEN_BUCKETS,
  UNIT_BUCKETS,
  WORD_FACTS,
  type PriceBucket,
  type PriceCondition,
  type PriceRule,
  type Prices,
} from "../core/money/price.ts";
import { contentHash } from "../runtime/hash.ts";
import type { PricesSchema } from "./schema.ts";

type PricesData = Static<typeof PricesSchema>;
type RulesData = Exclude<NonNullable<PricesData["input"]>, number>;
type ConditionData = NonNullable<RulesData[number]["when"]>;

/** What a model must have prices for, by its category: one of each line, or some of what it gives would be free. */
const REQUIRED: Readonly<Record<Category, readonly (readonly PriceBucket[])[]>> = {
  language: [["input"], ["output"]],
  image: [["image", "image_output", "output"]],
  video: [["second", "output"]],
  audio: [["audio_input", "audio_output", "output"]],
  embedding: [["input"]],
};

/**
 * Reads prices as written (USD per million tokens, USD per unit) into rules; `version` names the rules by content.
 * Throws a sentence that names what is wrong, and what a model of `category`, where one is given, cannot do without.
 */
export function readPrices(
  data: PricesData,
  category?: Category,
): { readonly prices: Prices; readonly version: string } {
  const prices: Partial<Record<PriceBucket, readonly PriceRule[]>> = {};
  for (const bucket of TOKEN_BUCKETS) {
    const rules = data[bucket];
    if (rules !== undefined) prices[bucket] = readRules(bucket, rules, readTokenPrice);
  }
  for (const bucket of UNIT_BUCKETS) {
    const rules = data[bucket];
    if (rules !== undefined) prices[bucket] = readRules(bucket, rules, readUnitPrice);
  }
  if (category !== undefined) checkSold(prices, category);
  return { prices, version: contentHash(jsonOfAmounts(prices)).slice(0, 16) };
}

function checkSold(prices: Prices, category: Category): void {
  for (const either of REQUIRED[category]) {
    if (either.some((bucket) => prices[bucket] !== undefined)) continue;
    const names = either.map((bucket) => `prices.${bucket}`).join(" or ");
    throw new Error(`${names} is missing: every ${category} model has one`);
  }
  if (category === "language") checkLanguage(prices);
}

/**
 * Nothing counts units of a language model but its searches, or asks for its facts: such prices would promise what is
 * never charged.
 */
function checkLanguage(prices: Prices): void {
  for (const bucket of UNIT_BUCKETS) {
    if (bucket !== "web_search" && prices[bucket] !== undefined)
      throw new Error(`prices.${bucket} is of no use: language models are sold by the token`);
  }
  for (const [bucket, rules] of Object.entries(prices)) {
    if (rules.some(({ when }) => when.hasVideo !== undefined || WORD_FACTS.some((fact) => fact in when)))
      throw new Error(`prices.${bucket} has a condition that is only of image and video models`);
  }
}

function readTokenPrice(path: string, price: number): bigint {
  const micro = parseTokenPrice(price);
  if (micro === undefined) throw new Error(`${path} is finer than $0.0001 per million tokens`);
  return micro;
}

function readUnitPrice(path: string, price: number): bigint {
  const micro = parseUnitPrice(price);
  if (micro === undefined) throw new Error(`${path} is finer than a micro-credit ($0.0000000001)`);
  return micro;
}

function readRules(
  bucket: PriceBucket,
  data: RulesData | number,
  readPrice: (path: string, price: number) => bigint,
): PriceRule[] {
  const rules: RulesData = typeof data === "number" ? [{ price: data }] : data;
  const read = rules.map(({ when = {}, price }, i): PriceRule => {
    const path = `prices.${bucket}[${i}]`;
    const micro = readPrice(path, price);
    return { when: readCondition(`${path}.when`, when), price: micro };
  });
  const last = read.at(-1);
  if (last === undefined || Object.keys(last.when).length > 0) {
    throw new Error(`the last rule of prices.${bucket} has a condition: every request must come to a price`);
  }
  return read;
}

function readCondition(path: string, when: ConditionData): PriceCondition {
  const fromMs = when.from === undefined ? undefined : readMoment(`${path}.from`, when.from);
  const hours = when.utc_hours?.map(([from, to]) => [from, to] as const);
  if (hours?.some(([from, to]) => from === undefined || to === undefined || from >= to) === true) {
    throw new Error(`${path}.utc_hours has a range that ends before it begins: write it as two ranges`);
  }
  const condition: { -readonly [Key in keyof PriceCondition]: PriceCondition[Key] } = {
    ...(fromMs === undefined ? {} : { fromMs }),
    ...(hours === undefined ? {} : { utcHours: hours as [number, number][] }),
    ...(when.input_over === undefined ? {} : { inputOver: when.input_over }),
  };
  for (const fact of WORD_FACTS) {
    const words = when[fact];
    if (words !== undefined) condition[fact] = readWords(words);
  }
  if (when.has_video !== undefined) condition.hasVideo = when.has_video;
  return condition;
}

/** Sorted, and each once: conditions that mean the same are the same, and so is their version. */
function readWords(words: string | readonly string[]): readonly string[] {
  const list = typeof words === "string" ? [words] : words;
  return [...new Set(list.map((word) => word.toLowerCase()))].sort();
}

const MOMENT = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** A date, which begins at midnight UTC, or a time with its zone: the same moment wherever the gateway runs. */
function readMoment(path: string, text: string): number {
  const date = MOMENT.exec(text)?.[1];
  const moment = date === undefined ? Number.NaN : Date.parse(text);
  if (date === undefined || Number.isNaN(moment) || !isDay(date))
    throw new Error(`${path} is no date or time with a zone in ISO 8601, such as 2027-01-01`);
  return moment;
}

/** Whether the calendar has this day: one that it has not would be read as one of the next month. */
function isDay(date: string): boolean {
  return new Date(Date.parse(date)).toISOString().startsWith(date);
}
