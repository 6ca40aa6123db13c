import type { Modality } from "../core/model.ts";
import {
  type PriceBucket,
  type PriceCondition,
  type PriceRule,
  PRICE_BUCKETS,
  type Prices,
  UNIT_BUCKETS,
  type UnitBucket,
  WORD_FACTS,
} from "../core/money/price.ts";

const BUCKET_WORDS: Readonly<Record<PriceBucket, string>> = {
  input: "Input",
  cache_read: "Input read from the provider's cache",
  cache_write_5m: "Input written to the provider's cache",
  cache_write_1h: "Input written to the cache for an hour",
  image_input: "Images in the input",
  audio_input: "Audio in the input",
  output: "Output",
  reasoning: "Reasoning",
  image_output: "Images in the output",
  audio_output: "Audio in the output",
  second: "Second of video",
  image: "Image",
  web_search: "Web search",
};

/** A price list as a table: a row for each rule, and above another what counts before it. */
export function priceTable(prices: Prices): string {
  const rows = PRICE_BUCKETS.flatMap((bucket) =>
    (prices[bucket] ?? []).map((rule, i, rules) => priceRow(bucket, rule, rules.length > 1 && i > 0)),
  );
  return ["| What | When | USD | Credits | For |", "|---|---|---|---|---|", ...rows].join("\n");
}

function priceRow(bucket: PriceBucket, { when, price }: PriceRule, isLater: boolean): string {
  const words = conditionWords(when);
  const unit = isUnit(bucket);
  const cells = [
    BUCKET_WORDS[bucket],
    words === "" ? (isLater ? "otherwise" : "always") : words,
    // A micro-credit is 10^-10 USD and 10^-6 credits; by the million tokens that is 10^-4 and 1.
    decimal(price, unit ? 10 : 4),
    decimal(price, unit ? 6 : 0),
    unit ? "each" : "1M tokens",
  ];
  return `| ${cells.join(" | ")} |`;
}

function isUnit(bucket: PriceBucket): bucket is UnitBucket {
  return UNIT_BUCKETS.some((unit) => unit === bucket);
}

/** One of the conditions of a rule: in words, and in figures where the time or the amount of input decides. */
export interface ConditionPart {
  readonly words: string;
  /** Unix time in seconds, from which on it holds. */
  readonly from?: number;
  readonly utc_hours?: readonly (readonly [number, number])[];
  readonly input_over?: number;
}

/** When a rule holds; none for always. */
export function conditionParts(when: PriceCondition): readonly ConditionPart[] {
  const { fromMs, utcHours, inputOver, hasVideo } = when;
  const parts: ConditionPart[] = [];
  if (fromMs !== undefined) parts.push({ words: `from ${momentWords(fromMs)} on`, from: fromMs / 1000 });
  if (utcHours !== undefined) {
    const hours = utcHours.map(([from, to]) => `${hour(from)}–${hour(to)}`).join(" and ");
    parts.push({ words: `${hours} UTC`, utc_hours: utcHours });
  }
  if (inputOver !== undefined) {
    const words = `more than ${grouped(String(inputOver))} input tokens, cached ones included`;
    parts.push({ words, input_over: inputOver });
  }
  for (const fact of WORD_FACTS) {
    const values = when[fact];
    if (values !== undefined) parts.push({ words: `${fact} ${values.join(" or ")}` });
  }
  if (hasVideo !== undefined) parts.push({ words: `${hasVideo ? "with" : "without"} a video in the input` });
  return parts;
}

/** When a rule holds, in words; empty for always. */
export function conditionWords(when: PriceCondition): string {
  return conditionParts(when)
    .map(({ words }) => words)
    .join(", ");
}

/** What a bucket is, in words. */
export function bucketWords(bucket: PriceBucket): string {
  return BUCKET_WORDS[bucket];
}

/** What the table does not show: how its rules are read, and what is charged for what has no row. */
export function priceNotes(prices: Prices, inputs: readonly Modality[]): readonly string[] {
  const notes = [...conditionNotes(prices)];
  if (prices.cache_read === undefined) notes.push("Input that comes from a cache costs as other input.");
  if (prices.output !== undefined && prices.reasoning === undefined)
    notes.push("Reasoning (thinking) is output and costs as such, whether it is shown or not.");
  if (inputs.includes("image") && prices.image_input === undefined)
    notes.push(
      "Images count in tokens, at the price of input, and so do documents where the model takes them.",
    );
  if (prices.output !== undefined && prices.web_search === undefined)
    notes.push("There is no price for the provider's web search, so it is refused.");
  return notes;
}

/** How rules with conditions are read. */
export function conditionNotes(prices: Prices): readonly string[] {
  const rules = Object.values(prices).flat();
  const has = (test: (when: PriceCondition) => boolean): boolean => rules.some(({ when }) => test(when));
  const notes: string[] = [];
  if (has((when) => Object.keys(when).length > 0))
    notes.push("Of several rows for the same thing the first that holds counts, for the whole request.");
  if (has((when) => when.fromMs !== undefined || when.utcHours !== undefined))
    notes.push("Date and hour are those of the moment the request arrives.");
  if (has((when) => when.inputOver !== undefined))
    notes.push(
      "The input that is compared is all of the request: text, media, and what came from the cache.",
    );
  return notes;
}

function momentWords(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

function hour(of: number): string {
  return `${String(of).padStart(2, "0")}:00`;
}

/** `value` ÷ 10^`places`, exactly. */
function decimal(value: bigint, places: number): string {
  const digits = value.toString().padStart(places + 1, "0");
  const at = digits.length - places;
  const fraction = digits.slice(at).replace(/0+$/, "");
  return `${grouped(digits.slice(0, at))}${fraction === "" ? "" : `.${fraction}`}`;
}

/** Digits in groups of three. */
export function grouped(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}
