/** The price buckets of the gateway's configuration. */
export const BUCKETS = [
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

export type Bucket = (typeof BUCKETS)[number];

/** Micro-credits for one token, by bucket. */
export type PriceList = Readonly<Record<Bucket, number>>;

/**
 * Prices for the n-th model: a prime for each bucket, no two alike, far apart from bucket to bucket. So any token
 * counted in a wrong bucket or at another model's price changes the sum.
 */
export function pricesOf(nth: number): PriceList {
  const prices = BUCKETS.map((bucket, i) => [bucket, primeAbove(10_000 * (i + 1) + 60 * nth)] as const);
  return Object.fromEntries(prices) as PriceList;
}

function primeAbove(start: number): number {
  for (let n = start + 1; ; n += 1) if (isPrime(n)) return n;
}

function isPrime(n: number): boolean {
  for (let i = 2; i * i <= n; i += 1) if (n % i === 0) return false;
  return n > 1;
}

/** The prices in micro-credits of what is sold by the piece. */
export interface PiecePrices {
  readonly web_search: number;
}

/** Prices of pieces for the n-th model, far above those of tokens. */
export function piecePricesOf(nth: number): PiecePrices {
  return { web_search: primeAbove(1_000_000 + 60 * nth) };
}

/** Tokens by bucket, each token in exactly one. */
export type Tokens = Record<Bucket, number>;

/** No token in any bucket. */
export const NO_TOKENS = Object.fromEntries(BUCKETS.map((bucket) => [bucket, 0])) as Tokens;

/**
 * Tokens, and what must be flagged of them: `clamped` where a part was counted as more than its whole, `inferred`
 * where thinking is only known by the total.
 */
export interface CountedTokens {
  readonly tokens: Tokens;
  /** Searches that the provider made and counted; absent is none. */
  readonly webSearches?: number;
  readonly flags: readonly string[] | undefined;
}

/** What a usage costs, in micro-credits. */
export function costOf(
  { tokens, webSearches = 0 }: CountedTokens,
  prices: PriceList,
  pieces: PiecePrices,
): bigint {
  const tokensCost = BUCKETS.reduce(
    (sum, bucket) => sum + BigInt(tokens[bucket]) * BigInt(prices[bucket]),
    0n,
  );
  return tokensCost + BigInt(webSearches) * BigInt(pieces.web_search);
}

/** Micro-credits as the JSON number of credits that a client and the ledger show. */
export function creditText(micro: bigint): string {
  const whole = micro / 1_000_000n;
  const fraction = (micro % 1_000_000n).toString().padStart(6, "0").replace(/0+$/, "");
  return fraction === "" ? String(whole) : `${whole}.${fraction}`;
}

/** A part of `from` that is counted apart: never more than there is. */
export function splitOff(whole: number, wanted: readonly number[]): { parts: number[]; rest: number } {
  let rest = whole;
  const parts = wanted.map((count) => {
    const part = Math.min(count, rest);
    rest -= part;
    return part;
  });
  return { parts, rest };
}

const FIELD: Readonly<Record<Bucket, string>> = {
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

/** A usage as the admin interface shows it in the row of a request: a bucket that is empty is left out. */
export function shownInRow({ tokens, webSearches = 0 }: CountedTokens): Readonly<Record<string, number>> {
  const counts = BUCKETS.map((bucket) => [FIELD[bucket], tokens[bucket]] as const);
  return Object.fromEntries(
    [...counts, ["webSearches", webSearches] as const].filter(([, count]) => count > 0),
  );
}
