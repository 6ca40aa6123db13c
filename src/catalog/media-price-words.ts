import { creditsText } from "../core/money/credits.ts";
import { tokensFor } from "../core/media/media-model.ts";
import { costOf, foldUnpriced, type PriceFacts, type PriceSnapshot } from "../core/money/price.ts";
import { NO_USAGE, type Usage } from "../core/money/usage.ts";
import type { MediaPageModel } from "./media-words.ts";
import { table } from "./page-parts.ts";
import { parametersOf } from "./parameters.ts";
import { wordsOf } from "./parameter-tables/media-table.ts";
import { grouped } from "./price-words.ts";

/** What a request costs by what it asks for, in a sentence and a table. */
export function costTable(model: MediaPageModel): readonly string[] {
  return model.category === "video" ? videoCosts(model) : imageCosts(model);
}

function videoCosts(model: MediaPageModel): readonly string[] {
  const byTokens = model.prices.second === undefined;
  const durations = valuesOf(model, "duration");
  const rows = valuesOf(model, "resolution").map((resolution) =>
    [resolution].concat(durations.map((seconds) => videoCost(model, { resolution }, Number(seconds)))),
  );
  return [
    `So a video costs${byTokens ? " about" : ""} this much in credits:`,
    table(["`resolution`", ...durations.map((seconds) => `${seconds} seconds`)], rows),
  ];
}

function videoCost(model: MediaPageModel, facts: PriceFacts, seconds: number): string {
  const tokens = tokensFor(model.media.outputTokens, facts);
  return costText(model, { ...NO_USAGE, output: tokens * seconds, seconds }, facts);
}

function imageCosts(model: MediaPageModel): readonly string[] {
  const { outputTokens, imagesPerJob } = model.media;
  if (outputTokens.length === 0) {
    const n = imagesPerJob ?? 1;
    const cost = costText(model, { ...NO_USAGE, images: n }, {});
    return [
      imagesPerJob === undefined
        ? `So an image costs ${cost} credits.`
        : `So a request, whose images are ${n}, costs ${cost} credits.`,
    ];
  }
  const isSized = outputTokens.some(({ size }) => size !== undefined);
  return isSized ? costsBySize(model) : costsByResolution(model);
}

function costsByResolution(model: MediaPageModel): readonly string[] {
  const rows = valuesOf(model, "image_size").map((resolution) => {
    const tokens = tokensFor(model.media.outputTokens, { resolution });
    return [resolution, grouped(String(tokens)), imageCost(model, { resolution })];
  });
  return [
    "So an image costs this much in credits; what the model reads and thinks comes on top:",
    table(["`image_size`", "Output tokens", "Credits"], rows),
  ];
}

function costsBySize(model: MediaPageModel): readonly string[] {
  const qualities = valuesOf(model, "quality");
  const rows = valuesOf(model, "size").map((size) =>
    [size].concat(qualities.map((quality) => imageCost(model, { size, quality }))),
  );
  const heads = qualities.map((quality) => (quality === "auto" ? "auto, at most" : quality));
  return [
    "So an image costs about this much in credits; what the model reads comes on top:",
    table(["`size`", ...heads], rows),
  ];
}

function imageCost(model: MediaPageModel, facts: PriceFacts): string {
  return costText(model, { ...NO_USAGE, imageOutput: tokensFor(model.media.outputTokens, facts) }, facts);
}

/** By the rows that have no condition of time. */
function costText({ prices, priceVersion }: MediaPageModel, usage: Usage, facts: PriceFacts): string {
  const snapshot: PriceSnapshot = { version: priceVersion, prices, pricedAtMs: 0, facts };
  const [whole = "", fraction] = creditsText(costOf(foldUnpriced(usage, prices), snapshot)).split(".");
  return `${grouped(whole)}${fraction === undefined ? "" : `.${fraction}`}`;
}

function valuesOf(model: MediaPageModel, name: string): readonly string[] {
  const endpoint = model.category === "image" ? "images" : "videos";
  const parameter = parametersOf(model, endpoint).find((one) => one.name === name);
  return parameter === undefined ? [] : (wordsOf(parameter.schema) ?? []);
}
