import type { Catalog } from "../../catalog/catalog.ts";
import { type MediaCosts, mediaCosts } from "../../catalog/media-costs.ts";
import type { MediaPageModel } from "../../catalog/media-words.ts";
import { bucketWords, type ConditionPart, conditionParts } from "../../catalog/price-words.ts";
import type { Caller } from "../../core/caller.ts";
import { creditsNumber } from "../../core/money/credits.ts";
import type { Model } from "../../core/model.ts";
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

/** What jobs of an image or video model cost, by their parameters. */
export interface JobCosts {
  readonly per: MediaCosts["per"];
  readonly is_about: boolean;
  readonly beside: MediaCosts["beside"] | null;
  readonly most_seconds_with_references: number | null;
  readonly costs: readonly {
    readonly parameters: Readonly<Record<string, string>>;
    readonly with_video: boolean | null;
    readonly least_credits: number;
    readonly most_credits: number;
  }[];
}

/** The price list of a model. */
export interface ModelPrices {
  readonly unique_id: string;
  readonly prices: readonly PriceView[];
  /** `null`: the model makes neither images nor videos. */
  readonly jobs: JobCosts | null;
}

/** The price lists of the enabled models that a caller may use, or of all. */
export function listPrices(catalog: Catalog, caller: Caller | undefined): readonly ModelPrices[] {
  return catalog.models
    .filter(({ id }) => caller === undefined || mayUse(caller, id))
    .map((model) => ({
      unique_id: model.uniqueId,
      prices: viewsOf(model.prices),
      jobs: isMedia(model) ? jobCosts(model) : null,
    }));
}

function isMedia(model: Model): model is MediaPageModel {
  return model.media !== undefined;
}

function jobCosts(model: MediaPageModel): JobCosts {
  const { per, isAbout, beside, mostSecWithReferences, costs } = mediaCosts(model);
  return {
    per,
    is_about: isAbout,
    beside: beside ?? null,
    most_seconds_with_references: mostSecWithReferences ?? null,
    costs: costs.map(({ parameters, hasVideo, least, most }) => ({
      parameters,
      with_video: hasVideo,
      least_credits: creditsNumber(least),
      most_credits: creditsNumber(most),
    })),
  };
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
