import type { MicroCredits } from "./credits.ts";
import { parseDecimal } from "./credits.ts";
import { inputTokens, outputTokens, type Usage } from "./usage.ts";

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

/** Units that have a price: a second of video and an image, as delivered; a web search that a provider made. */
export const UNIT_BUCKETS = ["second", "image", "web_search"] as const;

export type UnitBucket = (typeof UNIT_BUCKETS)[number];

/** Everything that can have a price of its own. */
export const PRICE_BUCKETS = [...TOKEN_BUCKETS, ...UNIT_BUCKETS] as const;

export type PriceBucket = TokenBucket | UnitBucket;

/** The facts of a request that are words. */
export const WORD_FACTS = ["resolution", "size", "quality"] as const;

/**
 * Properties of a request, beside its counts, that a price can depend on. Where the request leaves one to the model,
 * the maker of the snapshot fills in the model's default: an absent one meets no condition.
 */
export interface PriceFacts {
  readonly resolution?: string;
  readonly size?: string;
  readonly quality?: string;
  /** A video is among the inputs; absent is no. */
  readonly hasVideo?: boolean;
}

/** When a rule holds. All conditions that are present must be true. */
export interface PriceCondition {
  /** Prices that begin at a date: milliseconds since the epoch, inclusive. */
  readonly fromMs?: number;
  /** Hours of the day in UTC, as ranges `[from, to)` of whole hours. */
  readonly utcHours?: readonly (readonly [number, number])[];
  /** Total input of the request, cached tokens included, is more than this. */
  readonly inputOver?: number;
  /** One of these words, in lower case; facts are compared without regard to case, as vendors spell both. */
  readonly resolution?: readonly string[];
  readonly size?: readonly string[];
  readonly quality?: readonly string[];
  /** A video is, or is not, among the inputs. */
  readonly hasVideo?: boolean;
}

/** A price and when it holds; `price` is micro-credits for one token or one unit. */
export interface PriceRule {
  readonly when: PriceCondition;
  readonly price: MicroCredits;
}

/** Rules by bucket; the first rule whose condition is true gives the price. */
export type Prices = Readonly<Partial<Record<PriceBucket, readonly PriceRule[]>>>;

/**
 * The prices a request is charged by, fixed when its hold was made. They are the rules of that time, the moment that
 * clock rules are read at, and what was asked for. Only counts can still vary.
 */
export interface PriceSnapshot {
  /** Names the rules by their content: equal prices have equal versions. */
  readonly version: string;
  readonly prices: Prices;
  readonly pricedAtMs: number;
  /** Absent for a request that has none, as those of language models. */
  readonly facts?: PriceFacts;
}

/**
 * The bucket that a count is charged in when its own has no price. Audio and images have none on purpose: they
 * cost a multiple of text, so a model without their price must refuse them.
 */
const PARENT: Readonly<Record<PriceBucket, PriceBucket | undefined>> = {
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
  second: undefined,
  image: undefined,
  web_search: undefined,
};

/** The field of a usage that counts each bucket. */
export const USAGE_FIELDS = {
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
  second: "seconds",
  image: "images",
  web_search: "webSearches",
} as const satisfies Record<PriceBucket, keyof Usage>;

/** The output side, the plainest first. */
const OUTPUTS = ["output", "reasoning", "image_output", "audio_output"] as const;

/** Reads USD per million tokens as micro-credits per token; `undefined` when finer than $0.0001 or negative. */
export function parseTokenPrice(usdPerMillion: number): MicroCredits | undefined {
  const price = parseDecimal(usdPerMillion, 4);
  return price === undefined || price < 0n ? undefined : price;
}

/** Reads USD per unit as micro-credits per unit; `undefined` when finer than one micro-credit or negative. */
export function parseUnitPrice(usd: number): MicroCredits | undefined {
  const price = parseDecimal(usd, 10);
  return price === undefined || price < 0n ? undefined : price;
}

/** The rules that price `bucket`, its own or its parent's; `undefined` when the model cannot sell it. */
export function rulesFor(prices: Prices, bucket: PriceBucket): readonly PriceRule[] | undefined {
  for (let at: PriceBucket | undefined = bucket; at !== undefined; at = PARENT[at]) {
    const rules = prices[at];
    if (rules !== undefined) return rules;
  }
  return undefined;
}

/**
 * `usage` with only what `prices` can charge. Admission refuses requests for what has no price, so tokens without one
 * were reported unasked: they are charged at the plain rate of their side. Providers often count media twice, in tokens
 * and by the piece; the count that the model is not sold by is left out.
 */
export function foldUnpriced(usage: Usage, prices: Prices): Usage {
  const folded: { -readonly [Field in keyof Usage]: Usage[Field] } = { ...usage };
  const isPriced = (bucket: PriceBucket): boolean => rulesFor(prices, bucket) !== undefined;
  const plainInput = isPriced("input") ? "input" : undefined;
  const plainOutput = OUTPUTS.find(isPriced);
  for (const bucket of TOKEN_BUCKETS) {
    const tokens = usage[USAGE_FIELDS[bucket]];
    if (tokens === 0 || isPriced(bucket)) continue;
    const plain = OUTPUTS.some((output) => output === bucket) ? plainOutput : plainInput;
    const isInImage = bucket === "image_output" && isPriced("image");
    if (plain !== undefined && !isInImage) folded[USAGE_FIELDS[plain]] += tokens;
    folded[USAGE_FIELDS[bucket]] = 0;
  }
  // Pieces without a price or a token to charge instead are left for `costOf` to refuse: they must not be free.
  if (outputTokens(folded) === 0) return folded;
  for (const bucket of UNIT_BUCKETS) {
    if (usage[USAGE_FIELDS[bucket]] !== undefined && !isPriced(bucket)) folded[USAGE_FIELDS[bucket]] = 0;
  }
  return folded;
}

/** What `usage` costs by `snapshot`. Throws when a used bucket has no price: admission must have refused it. */
export function costOf(usage: Usage, snapshot: PriceSnapshot): MicroCredits {
  const input = inputTokens(usage);
  let cost = 0n;
  for (const bucket of PRICE_BUCKETS) {
    const count = usage[USAGE_FIELDS[bucket]] ?? 0;
    if (count === 0) continue;
    cost += BigInt(count) * priceAt(snapshot, bucket, input);
  }
  return cost;
}

/** The price of one token or unit of `bucket` in a request with `totalInput` tokens of input. */
export function priceAt(snapshot: PriceSnapshot, bucket: PriceBucket, totalInput: number): MicroCredits {
  const rules = rulesFor(snapshot.prices, bucket);
  const rule = rules?.find(({ when }) => holds(when, snapshot, totalInput));
  if (rule === undefined) throw new Error(`No price rule for ${bucket} holds at ${totalInput} input tokens.`);
  return rule.price;
}

/** The prices that one token or unit of `bucket` may have in such a request, whatever the facts of the request are. */
export function possiblePrices(
  snapshot: PriceSnapshot,
  bucket: PriceBucket,
  totalInput: number,
): readonly MicroCredits[] {
  const rules = rulesFor(snapshot.prices, bucket) ?? [];
  const prices = rules
    .filter(({ when }) => holdsApartFromFacts(when, snapshot, totalInput))
    .map(({ price }) => price);
  return [...new Set(prices)];
}

/** The price of everything in a request with `totalInput` tokens of input, as `PRICE_BUCKETS` has them; NaN for none. */
export function ratesAt(snapshot: PriceSnapshot, totalInput: number): readonly number[] {
  return PRICE_BUCKETS.map((bucket) =>
    rulesFor(snapshot.prices, bucket) === undefined
      ? Number.NaN
      : Number(priceAt(snapshot, bucket, totalInput)),
  );
}

/**
 * The dearest price of `bucket` that a request with at most `maxInput` tokens of input can come to. Only the input can
 * still vary: the snapshot fixes the moment and the facts.
 */
export function dearestPrice(snapshot: PriceSnapshot, bucket: PriceBucket, maxInput: number): MicroCredits {
  // A price changes only above a step, so the last input before each step stands for those below it.
  const rules = rulesFor(snapshot.prices, bucket) ?? [];
  const steps = rules.map(({ when: { inputOver = maxInput } }) => Math.min(inputOver, maxInput));
  let dearest = 0n;
  for (const input of [...steps, maxInput]) {
    const price = priceAt(snapshot, bucket, input);
    if (price > dearest) dearest = price;
  }
  return dearest;
}

function holds(when: PriceCondition, snapshot: PriceSnapshot, totalInput: number): boolean {
  const { facts = {} } = snapshot;
  if (when.hasVideo !== undefined && (facts.hasVideo ?? false) !== when.hasVideo) return false;
  for (const fact of WORD_FACTS) {
    const asked = facts[fact]?.toLowerCase();
    const words = when[fact];
    if (words !== undefined && (asked === undefined || !words.includes(asked))) return false;
  }
  return holdsApartFromFacts(when, snapshot, totalInput);
}

function holdsApartFromFacts(
  when: PriceCondition,
  { pricedAtMs }: PriceSnapshot,
  totalInput: number,
): boolean {
  if (when.fromMs !== undefined && pricedAtMs < when.fromMs) return false;
  if (when.inputOver !== undefined && totalInput <= when.inputOver) return false;
  if (when.utcHours === undefined) return true;
  const hour = new Date(pricedAtMs).getUTCHours();
  return when.utcHours.some(([from, to]) => hour >= from && hour < to);
}
