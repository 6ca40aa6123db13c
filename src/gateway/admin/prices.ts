import type { Catalog } from "../../catalog/catalog.ts";
import { bucketWords, type ConditionPart, conditionParts } from "../../catalog/price-words.ts";
import type { Caller } from "../../core/caller.ts";
import { PRICE_BUCKETS, type PriceBucket, type Prices } from "../../core/money/price.ts";
import { mayUse } from "../find-model.ts";
import { type PriceUnit, unitOf, usdOf } from "./views.ts";

/** A rule of a price list: of several for one bucket the first whose conditions all hold counts. */
export interface PriceView {
  readonly bucket: PriceBucket;
  /** What the bucket is, in words. */
  readonly what: string;
  /** All of them have to hold; none: always, or where no rule before it holds. */
  readonly conditions: readonly ConditionPart[];
  /** In USD. */
  readonly price: number;
  readonly unit: PriceUnit;
}

/** The price list of a model. */
export interface ModelPrices {
  readonly unique_id: string;
  readonly prices: readonly PriceView[];
}

/** The price lists of the enabled models that a caller may use, or of all. */
export function listPrices(catalog: Catalog, caller: Caller | undefined): readonly ModelPrices[] {
  return catalog.models
    .filter(({ id }) => caller === undefined || mayUse(caller, id))
    .map(({ uniqueId, prices }) => ({ unique_id: uniqueId, prices: viewsOf(prices) }));
}

function viewsOf(prices: Prices): readonly PriceView[] {
  return PRICE_BUCKETS.flatMap((bucket) =>
    (prices[bucket] ?? []).map(({ when, price }) => ({
      bucket,
      what: bucketWords(bucket),
      conditions: conditionParts(when),
      price: usdOf(bucket, price),
      unit: unitOf(bucket),
    })),
  );
}
