import { creditsText } from "../core/credits.ts";
import { tokensFor } from "../core/media-model.ts";
import { costOf, foldUnpriced, type PriceFacts, type PriceSnapshot } from "../core/price.ts";
import { NO_USAGE, type Usage } from "../core/usage.ts";
import type { MediaPageModel } from "./media-words.ts";
import { table } from "./page-parts.ts";
import { parametersOf } from "./parameters.ts";
import { wordsOf } from "./parameter-tables/media-table.ts";
import { grouped } from "./price-words.ts";

/** What a request costs by what it asks for, in a sentence and a table. */
export function costTable(model: MediaPageModel): readonly string[] {
  return model.category === "video" ? filmCosts(model) : pictureCosts(model);
}

function filmCosts(model: MediaPageModel): readonly string[] {
  const byTokens = model.prices.second === undefined;
  const durations = valuesOf(model, "duration");
  const rows = valuesOf(model, "resolution").map((resolution) => [
    resolution,
    ...durations.map((seconds) => filmCost(model, { resolution }, Number(seconds))),
  ]);
  return [
    `So a film costs${byTokens ? " about" : ""} this much in credits:`,
    table(["`resolution`", ...durations.map((seconds) => `${seconds} seconds`)], rows),
  ];
}

function filmCost(model: MediaPageModel, facts: PriceFacts, seconds: number): string {
  const tokens = tokensFor(model.media.outputTokens, facts);
  return costText(model, { ...NO_USAGE, output: tokens * seconds, seconds }, facts);
}

function pictureCosts(model: MediaPageModel): readonly string[] {
  const { outputTokens, picturesPerJob } = model.media;
  if (outputTokens.length === 0) {
    const n = picturesPerJob ?? 1;
    const cost = costText(model, { ...NO_USAGE, images: n }, {});
    return [
      picturesPerJob === undefined
        ? `So a picture costs ${cost} credits.`
        : `So a request, whose pictures are ${n}, costs ${cost} credits.`,
    ];
  }
  const isSized = outputTokens.some(({ size }) => size !== undefined);
  return isSized ? costsBySize(model) : costsByResolution(model);
}

function costsByResolution(model: MediaPageModel): readonly string[] {
  const rows = valuesOf(model, "image_size").map((resolution) => {
    const tokens = tokensFor(model.media.outputTokens, { resolution });
    return [resolution, grouped(String(tokens)), pictureCost(model, { resolution })];
  });
  return [
    "So a picture costs this much in credits; what the model reads and thinks comes on top:",
    table(["`image_size`", "Output tokens", "Credits"], rows),
  ];
}

function costsBySize(model: MediaPageModel): readonly string[] {
  const qualities = valuesOf(model, "quality");
  const rows = valuesOf(model, "size").map((size) => [
    size,
    ...qualities.map((quality) => pictureCost(model, { size, quality })),
  ]);
  const heads = qualities.map((quality) => (quality === "auto" ? "auto, at most" : quality));
  return [
    "So a picture costs about this much in credits; what the model reads comes on top:",
    table(["`size`", ...heads], rows),
  ];
}

function pictureCost(model: MediaPageModel, facts: PriceFacts): string {
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
