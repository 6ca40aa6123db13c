import { tokensFor } from "../core/media/media-model.ts";
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
  /** All of them have these values; of those that are not named any value costs the same. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Whether a video is among the references; `null` where that changes nothing. */
  readonly hasVideo: boolean | null;
  readonly cost: MicroCredits;
}

/** What jobs of an image or video model cost, by what they ask for. */
export interface MediaCosts {
  readonly per: (typeof COST_UNITS)[number];
  /** How many images a request has; `undefined` where the request says it. */
  readonly images: number | undefined;
  /** The amounts follow from an assumed number of tokens. */
  readonly isAbout: boolean;
  readonly beside: (typeof COSTS_BESIDE)[number] | undefined;
  readonly costs: readonly MediaCost[];
}

/** What jobs of a model cost by the rules that have no condition of time. */
export function mediaCosts(model: MediaPageModel): MediaCosts {
  return model.category === "video" ? videoCosts(model) : imageCosts(model);
}

function videoCosts(model: MediaPageModel): MediaCosts {
  const rules = Object.values(model.prices).flat();
  const withVideo = rules.some(({ when }) => when.hasVideo !== undefined) ? [false, true] : [null];
  const costs = valuesOf(model, "resolution").flatMap((resolution) =>
    valuesOf(model, "duration").flatMap((duration) =>
      withVideo.map((hasVideo) => {
        const facts = { resolution, ...(hasVideo === null ? {} : { hasVideo }) };
        const seconds = Number(duration);
        const tokens = tokensFor(model.media.outputTokens, facts);
        const usage = { ...NO_USAGE, output: tokens * seconds, seconds };
        return { parameters: { resolution, duration }, hasVideo, cost: priced(model, usage, facts) };
      }),
    ),
  );
  const isAbout = model.prices.second === undefined;
  return { per: "video", images: undefined, isAbout, beside: undefined, costs };
}

function imageCosts(model: MediaPageModel): MediaCosts {
  const { outputTokens, imagesPerJob: images } = model.media;
  if (outputTokens.length === 0) {
    const cost = priced(model, { ...NO_USAGE, images: images ?? 1 }, {});
    const costs = [{ parameters: {}, hasVideo: null, cost }];
    const per = images === undefined ? "image" : "request";
    return { per, images, isAbout: false, beside: undefined, costs };
  }
  const plain = { per: "image", images: undefined } as const;
  if (outputTokens.some(({ size }) => size !== undefined)) {
    const costs = valuesOf(model, "size").flatMap((size) =>
      valuesOf(model, "quality").map((quality) => imageCost(model, { size, quality }, { size, quality })),
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
  return { parameters, hasVideo: null, cost: priced(model, usage, facts) };
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
