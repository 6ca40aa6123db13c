import type { MicroCredits } from "./credits.ts";
import { parseDecimal } from "./credits.ts";
import { inputTokens, type TokenUsage } from "./usage.ts";

/** The kinds of token that can have a price of their own. */
export const TOKEN_BUCKETS = [
  "input",
  "cache_read",
  "cache_write_5m",
  "cache_write_1h",
  "image_input",
  "audio_input",
  "output",
  "reasoning",
  "image_output",
  "audio_output",
] as const;

export type TokenBucket = (typeof TOKEN_BUCKETS)[number];

/** When a rule holds. What is absent is not asked; all that is present must be true. */
export interface PriceCondition {
  /** Prices that begin at a date: milliseconds since the epoch, inclusive. */
  readonly fromMs?: number;
  /** Hours of the day in UTC, as ranges `[from, to)` of whole hours. */
  readonly utcHours?: readonly (readonly [number, number])[];
  /** Total input of the request, cached tokens included, is more than this. */
  readonly inputOver?: number;
}

/** A price and when it holds; `price` is micro-credits for one token. */
export interface PriceRule {
  readonly when: PriceCondition;
  readonly price: MicroCredits;
}

/** Rules by bucket; the first rule whose condition is true gives the price. */
export type Prices = Readonly<Partial<Record<TokenBucket, readonly PriceRule[]>>>;

/**
 * The prices a request is charged by, fixed when its hold was made: the rules as they then were and the moment
 * that clock rules are read at.
 */
export interface PriceSnapshot {
  /** Names the rules by their content: equal prices have equal versions. */
  readonly version: string;
  readonly prices: Prices;
  readonly pricedAtMs: number;
}

/**
 * The bucket that a token is charged in when its own has no price. Sound and pictures have none on purpose: they
 * cost a multiple of text, so a model without their price must refuse them.
 */
const PARENT: Readonly<Record<TokenBucket, TokenBucket | undefined>> = {
  input: undefined,
  cache_read: "input",
  cache_write_5m: "input",
  cache_write_1h: "cache_write_5m",
  image_input: "input",
  audio_input: undefined,
  output: undefined,
  reasoning: "output",
  image_output: undefined,
  audio_output: undefined,
};

const FIELD: Readonly<Record<TokenBucket, keyof TokenUsage>> = {
  input: "input",
  cache_read: "cacheRead",
  cache_write_5m: "cacheWrite5m",
  cache_write_1h: "cacheWrite1h",
  image_input: "imageInput",
  audio_input: "audioInput",
  output: "output",
  reasoning: "reasoning",
  image_output: "imageOutput",
  audio_output: "audioOutput",
};

/** Reads USD per million tokens as micro-credits per token; `undefined` when finer than $0.0001 or negative. */
export function parseTokenPrice(usdPerMillion: number): MicroCredits | undefined {
  const price = parseDecimal(usdPerMillion, 4);
  return price === undefined || price < 0n ? undefined : price;
}

/** The rules that price `bucket`, its own or its parent's; `undefined` when the model cannot sell it. */
export function rulesFor(prices: Prices, bucket: TokenBucket): readonly PriceRule[] | undefined {
  for (let at: TokenBucket | undefined = bucket; at !== undefined; at = PARENT[at]) {
    const rules = prices[at];
    if (rules !== undefined) return rules;
  }
  return undefined;
}

/**
 * `usage` with tokens that the model has no price for counted as plain input or output. Admission refuses requests
 * that ask for such tokens; a provider that reports them unasked is charged at the plain rate, never at none.
 */
export function foldUnpriced(usage: TokenUsage, prices: Prices): TokenUsage {
  const folded: { -readonly [Field in keyof TokenUsage]: number } = { ...usage };
  for (const bucket of ["audio_input", "audio_output", "image_output"] as const) {
    const field = FIELD[bucket];
    if (usage[field] === 0 || rulesFor(prices, bucket) !== undefined) continue;
    folded[bucket === "audio_input" ? "input" : "output"] += usage[field];
    folded[field] = 0;
  }
  return folded;
}

/** What `usage` costs by `snapshot`. Throws when a used bucket has no price: admission must have refused it. */
export function costOf(usage: TokenUsage, snapshot: PriceSnapshot): MicroCredits {
  const input = inputTokens(usage);
  let cost = 0n;
  for (const bucket of TOKEN_BUCKETS) {
    const tokens = usage[FIELD[bucket]];
    if (tokens === 0) continue;
    cost += BigInt(tokens) * priceAt(snapshot, bucket, input);
  }
  return cost;
}

/** The price of one token of `bucket` in a request with `totalInput` tokens of input. */
export function priceAt(snapshot: PriceSnapshot, bucket: TokenBucket, totalInput: number): MicroCredits {
  const rules = rulesFor(snapshot.prices, bucket);
  const rule = rules?.find(({ when }) => holds(when, snapshot.pricedAtMs, totalInput));
  if (rule === undefined) throw new Error(`No price rule for ${bucket} holds at ${totalInput} input tokens.`);
  return rule.price;
}

/** The dearest price of `bucket` that a request with at most `maxInput` tokens of input can come to. */
export function dearestPrice(snapshot: PriceSnapshot, bucket: TokenBucket, maxInput: number): MicroCredits {
  const steps = (rulesFor(snapshot.prices, bucket) ?? [])
    .map(({ when }) => when.inputOver)
    .filter((over): over is number => over !== undefined && over < maxInput);
  let dearest = 0n;
  for (const input of [0, ...steps.map((over) => over + 1), maxInput]) {
    const price = priceAt(snapshot, bucket, input);
    if (price > dearest) dearest = price;
  }
  return dearest;
}

function holds(when: PriceCondition, atMs: number, totalInput: number): boolean {
  if (when.fromMs !== undefined && atMs < when.fromMs) return false;
  if (when.inputOver !== undefined && totalInput <= when.inputOver) return false;
  if (when.utcHours === undefined) return true;
  const hour = new Date(atMs).getUTCHours();
  return when.utcHours.some(([from, to]) => hour >= from && hour < to);
}
