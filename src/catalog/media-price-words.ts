import { creditsText, type MicroCredits } from "../core/money/credits.ts";
import { tokensFor } from "../core/media/media-model.ts";
import { type MediaCost, mediaCosts } from "./media-costs.ts";
import type { MediaPageModel } from "./media-words.ts";
import { table } from "./page-parts.ts";
import { grouped } from "./price-words.ts";

/** What a request costs by what it asks for, in a sentence and a table. */
export function costTable(model: MediaPageModel): readonly string[] {
  const { per, images, isAbout, costs } = mediaCosts(model);
  const about = isAbout ? " about" : "";
  if (per === "video") return videoTables(model, about, costs);
  const [first] = costs;
  if (first === undefined) return [];
  if (per === "request")
    return [`So a request, whose images are ${images ?? 1}, costs ${costText(first.most)} credits.`];
  if (Object.keys(first.parameters).length === 0)
    return [`So an image costs ${costText(first.most)} credits.`];
  if (first.parameters.size !== undefined)
    return [
      `So an image costs${about} this much in credits; what the model reads comes on top:`,
      grid(
        costs.map((cost) => ({ ...cost, least: cost.most })),
        "size",
        "quality",
        (quality) => (quality === "auto" ? "auto, at most" : quality),
      ),
    ];
  const rows = costs.map(({ parameters: { image_size: resolution = "" }, most }) => {
    const tokens = tokensFor(model.media.outputTokens, { resolution });
    return [resolution, grouped(String(tokens)), costText(most)];
  });
  return [
    "So an image costs this much in credits; what the model reads and thinks comes on top:",
    table(["`image_size`", "Output tokens", "Credits"], rows),
  ];
}

function videoTables(model: MediaPageModel, about: string, costs: readonly MediaCost[]): readonly string[] {
  const gridOf = (some: readonly MediaCost[]): string =>
    grid(some, "resolution", "duration", (seconds) => `${seconds} seconds`);
  const referring = costs.filter(({ hasVideo }) => hasVideo === true);
  const others = costs.filter(({ hasVideo }) => hasVideo !== true);
  if (referring.length === 0) return [`So a video costs${about} this much in credits:`, gridOf(others)];
  const { inputVideoSec } = model.media;
  const counted =
    inputVideoSec === 0 ? "" : `, whose seconds are charged too, up to ${inputVideoSec} in all,`;
  return [
    `So a video without reference videos costs${about} this much in credits:`,
    gridOf(others),
    `With reference videos${counted} it costs${about} this much:`,
    gridOf(referring),
  ];
}

/** A row for each value of one parameter, a column for each of another. */
function grid(
  costs: readonly MediaCost[],
  down: string,
  across: string,
  head: (value: string) => string,
): string {
  const valuesOf = (name: string): readonly string[] => [
    ...new Set(costs.map(({ parameters }) => parameters[name] ?? "")),
  ];
  const cellsOf = (value: string): readonly string[] =>
    costs.filter(({ parameters }) => parameters[down] === value).map(rangeText);
  const rows = valuesOf(down).map((value) => [value].concat(cellsOf(value)));
  return table([`\`${down}\``, ...valuesOf(across).map(head)], rows);
}

function rangeText({ least, most }: MediaCost): string {
  return least === most ? costText(most) : `${costText(least)} to ${costText(most)}`;
}

function costText(cost: MicroCredits): string {
  const [whole = "", fraction] = creditsText(cost).split(".");
  return `${grouped(whole)}${fraction === undefined ? "" : `.${fraction}`}`;
}
