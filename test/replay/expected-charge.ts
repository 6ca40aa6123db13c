import type { Json } from "./wire-json.ts";

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
 * Prices for the n-th model: a prime for each bucket, no two alike, far apart from bucket to bucket, so that any
 * token counted in a wrong bucket or at another model's price changes the sum.
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

/** Tokens by bucket, each token in exactly one. */
export type Tokens = Record<Bucket, number>;

/**
 * Tokens, and what must be flagged of them: `clamped` where a part was counted as more than its whole, `inferred`
 * where thinking is only known by the total.
 */
export interface CountedTokens {
  readonly tokens: Tokens;
  readonly flags: readonly string[] | undefined;
}

/**
 * Recorded usage as disjoint buckets, by the vendors table: cached tokens are part of the prompt and may themselves
 * be sound or pictures; reasoning, sound and pictures are part of the output. Where the total is higher than prompt
 * and completion, what stands beside them is added: xAI's reasoning, Mistral's sound, and the thinking that Google
 * leaves out of `completion_tokens`.
 */
export function tokensOf(usage: Json): CountedTokens {
  const inDetails = usage.prompt_tokens_details ?? usage.prompt_token_details ?? {};
  const outDetails = usage.completion_tokens_details ?? {};
  const cached: number =
    inDetails.cached_tokens ??
    usage.prompt_cache_hit_tokens ??
    usage.cached_tokens ??
    usage.num_cached_tokens ??
    0;
  const written: number = inDetails.cache_write_tokens ?? usage.cache_creation_input_tokens ?? 0;
  const sound: number = inDetails.audio_tokens ?? 0;
  let prompt: number = usage.prompt_tokens;
  let completion: number = usage.completion_tokens;
  let thinking: number = outDetails.reasoning_tokens ?? 0;
  let flag: string | undefined;
  const beside: number = (usage.total_tokens ?? prompt + completion) - prompt - completion;
  if (beside > 0 && beside === thinking) completion += beside;
  else if (beside > 0 && beside === sound) prompt += beside;
  else if (beside > 0 && thinking === 0) {
    thinking = beside;
    flag = "inferred";
    completion += beside;
  }
  const input = splitOff(prompt, [cached, written, sound, inDetails.image_tokens ?? 0]);
  const output = splitOff(completion, [thinking, outDetails.audio_tokens ?? 0, outDetails.image_tokens ?? 0]);
  const tokens: Tokens = {
    input: input.rest,
    cache_read: input.parts[0] ?? 0,
    cache_write_5m: input.parts[1] ?? 0,
    cache_write_1h: 0,
    audio_input: input.parts[2] ?? 0,
    image_input: input.parts[3] ?? 0,
    output: output.rest,
    reasoning: output.parts[0] ?? 0,
    audio_output: output.parts[1] ?? 0,
    image_output: output.parts[2] ?? 0,
  };
  if (cached > prompt || thinking > completion) flag = "clamped";
  return { tokens, flags: flag === undefined ? undefined : [flag] };
}

function splitOff(whole: number, wanted: readonly number[]): { parts: number[]; rest: number } {
  let rest = whole;
  const parts = wanted.map((count) => {
    const part = Math.min(count, rest);
    rest -= part;
    return part;
  });
  return { parts, rest };
}

/** What tokens cost, in micro-credits. */
export function costOf(tokens: Tokens, prices: PriceList): bigint {
  return BUCKETS.reduce((sum, bucket) => sum + BigInt(tokens[bucket]) * BigInt(prices[bucket]), 0n);
}

/** Micro-credits as the JSON number of credits that a client and the ledger show. */
export function creditText(micro: bigint): string {
  const whole = micro / 1_000_000n;
  const fraction = (micro % 1_000_000n).toString().padStart(6, "0").replace(/0+$/, "");
  return fraction === "" ? String(whole) : `${whole}.${fraction}`;
}
