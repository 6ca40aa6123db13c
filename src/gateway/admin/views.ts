import { GatewayError, quoted } from "../../core/errors.ts";
import type { MicroCredits } from "../../core/money/credits.ts";
import { type PriceBucket, TOKEN_BUCKETS } from "../../core/money/price.ts";

/** A time as the admin interface shows it. */
export function toSeconds(ms: bigint): number {
  return Math.floor(Number(ms) / 1000);
}

/** The 404 for an unknown id. */
export function notFound(what: "account" | "key" | "request" | "task", id: string): GatewayError {
  return new GatewayError("not_found_error", `There is no ${what} ${quoted(id)}.`);
}

/** The 409 for what only an open account can have. */
export function closedAccount(): GatewayError {
  return new GatewayError("conflict_error", "The account is closed: it takes no credit and no key.");
}

/** What a price is for. */
export const PRICE_UNITS = ["million_tokens", "second", "image", "web_search"] as const;
export type PriceUnit = (typeof PRICE_UNITS)[number];

/** What the price of a bucket is for. */
export function unitOf(bucket: PriceBucket): PriceUnit {
  return PRICE_UNITS.find((unit) => unit === bucket) ?? "million_tokens";
}

/** One USD is 10,000 credits; operators read the price of a million tokens. */
const MICRO_PER_USD = 10_000_000_000;
const MICRO_PER_USD_OF_A_MILLION = 10_000;

/** The price of a bucket's unit in USD. */
export function usdOf(bucket: PriceBucket, price: MicroCredits): number {
  const isToken = TOKEN_BUCKETS.some((one) => one === bucket);
  return Number(price) / (isToken ? MICRO_PER_USD_OF_A_MILLION : MICRO_PER_USD);
}
