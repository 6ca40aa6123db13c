import { mostSeconds, tokensFor } from "../core/media/media-model.ts";
import type { MicroCredits } from "../core/money/credits.ts";
import { costOf, foldUnpriced, type PriceFacts, type PriceSnapshot } from "../core/money/price.ts";
import { NO_USAGE, type Usage } from "../core/money/usage.ts";
import type { MediaPageModel } from "./media-words.ts";
import { parametersOf } from "./parameters.ts";
import { wordsOf } from "./parameter-tables/media-table.ts";

/** What an amount is for: one image, all images of a request, or one video. */
export const COST_UNITS = ["image", "request", "video"] as const;

/** What is charged beside the amounts. */
export const COSTS_BESIDE = ["input", "input_and_reasoning"] as const;

/** What a job costs with these parameters. */
export interface MediaCost {
  /** The job has all of these values; other parameters do not change the cost. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Whether a video is among the references; `null` where that changes nothing. */
  readonly hasVideo: boolean | null;
  /** Less than `most` where the model chooses the quality, or where reference videos are charged by their seconds. */
  readonly least: MicroCredits;
  readonly most: MicroCredits;
}

/** What jobs of an image or video model cost, by what they ask for. */
export interface MediaCosts {
  readonly per: (typeof COST_UNITS)[number];
  /** How many images a request has; `undefined` where the request says it. */
  readonly images: number | undefined;
  /** The amounts follow from an assumed number of tokens. */
  readonly isAbout: boolean;
  readonly beside: (typeof COSTS_BESIDE)[number] | undefined;
  /** A longer video with references is refused; absent where none is. */
  readonly mostSecWithReferences?: number;
  readonly costs: readonly MediaCost[];
}

/** What jobs of a model cost by the rules that have no condition of time. */
export function mediaCosts(model: MediaPageModel): MediaCosts {
  return model.category === "video" ? videoCosts(model) : imageCosts(model);
}

function videoCosts(model: MediaPageModel): MediaCosts {
  const { inputVideoSec, mostSecWithReferences, outputTokens } = model.media;
  const rules = Object.values(model.prices).flat();
  const countsVideos = inputVideoSec > 0 || rules.some(({ when }) => when.hasVideo !== undefined);
  const withVideo = countsVideos ? [false, true] : [null];
  const costs = valuesOf(model, "resolution").flatMap((resolution) =>
    valuesOf(model, "duration").flatMap((duration) =>
      withVideo.flatMap((hasVideo) => {
        const durationSec = Number(duration);
        // Admission refuses a longer video with references.
        if (hasVideo === true && durationSec > (mostSecWithReferences ?? Infinity)) return [];
        const facts = { resolution, ...(hasVideo === null ? {} : { hasVideo }) };
        const tokens = tokensFor(outputTokens, facts);
        const costFor = (seconds: number): MicroCredits =>
          priced(model, { ...NO_USAGE, output: tokens * seconds, seconds }, facts);
        // A provider that reports no count is charged by the duration alone, so that is the least.
        const least = costFor(durationSec);
        const most = costFor(mostSeconds(model.media, durationSec, hasVideo === true));
        return [{ parameters: { resolution, duration }, hasVideo, least, most }];
      }),
    ),
  );
  const isAbout = model.prices.second === undefined;
  return {
    per: "video",
    images: undefined,
    isAbout,
    beside: undefined,
    ...(mostSecWithReferences === undefined ? {} : { mostSecWithReferences }),
    costs,
  };
}

function imageCosts(model: MediaPageModel): MediaCosts {
  const { outputTokens, imagesPerJob: images } = model.media;
  if (outputTokens.length === 0) {
    const cost = priced(model, { ...NO_USAGE, images: images ?? 1 }, {});
    const costs = [{ parameters: {}, hasVideo: null, least: cost, most: cost }];
    const per = images === undefined ? "image" : "request";
    return { per, images, isAbout: false, beside: undefined, costs };
  }
  const plain = { per: "image", images: undefined } as const;
  if (outputTokens.some(({ size }) => size !== undefined)) {
    const costs = valuesOf(model, "size").flatMap((size) =>
      withChoice(
        valuesOf(model, "quality").map((quality) => imageCost(model, { size, quality }, { size, quality })),
      ),
    );
    return { ...plain, isAbout: true, beside: "input", costs };
  }
  const costs = valuesOf(model, "image_size").map((resolution) =>
    imageCost(model, { resolution }, { image_size: resolution }),
  );
  return { ...plain, isAbout: false, beside: "input_and_reasoning", costs };
}

function imageCost(
  model: MediaPageModel,
  facts: PriceFacts,
  parameters: Readonly<Record<string, string>>,
): MediaCost {
  const usage = { ...NO_USAGE, imageOutput: tokensFor(model.media.outputTokens, facts) };
  const cost = priced(model, usage, facts);
  return { parameters, hasVideo: null, least: cost, most: cost };
}

/** The costs of one size by its qualities: where the model chooses, the cheapest may come of it. */
function withChoice(costs: readonly MediaCost[]): readonly MediaCost[] {
  const cheapest = (least: MicroCredits, other: MediaCost): MicroCredits =>
    other.least < least ? other.least : least;
  return costs.map((cost) =>
    cost.parameters.quality === "auto" ? { ...cost, least: costs.reduce(cheapest, cost.least) } : cost,
  );
}

function priced({ prices, priceVersion }: MediaPageModel, usage: Usage, facts: PriceFacts): MicroCredits {
  const snapshot: PriceSnapshot = { version: priceVersion, prices, pricedAtMs: 0, facts };
  return costOf(foldUnpriced(usage, prices), snapshot);
}

function valuesOf(model: MediaPageModel, name: string): readonly string[] {
  const endpoint = model.category === "image" ? "images" : "videos";
  const parameter = parametersOf(model, endpoint).find((one) => one.name === name);
  return parameter === undefined ? [] : (wordsOf(parameter.schema) ?? []);
}
