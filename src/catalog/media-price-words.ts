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
  if (per === "video")
    return [
      `So a video costs${about} this much in credits:`,
      // With a video among the references the rules of the first table tell the price.
      grid(
        costs.filter(({ hasVideo }) => hasVideo !== true),
        "resolution",
        "duration",
        (seconds) => `${seconds} seconds`,
      ),
    ];
  const [first] = costs;
  if (first === undefined) return [];
  if (per === "request")
    return [`So a request, whose images are ${images ?? 1}, costs ${costText(first.cost)} credits.`];
  if (Object.keys(first.parameters).length === 0)
    return [`So an image costs ${costText(first.cost)} credits.`];
  if (first.parameters.size !== undefined)
    return [
      `So an image costs${about} this much in credits; what the model reads comes on top:`,
      grid(costs, "size", "quality", (quality) => (quality === "auto" ? "auto, at most" : quality)),
    ];
  const rows = costs.map(({ parameters: { image_size: resolution = "" }, cost }) => {
    const tokens = tokensFor(model.media.outputTokens, { resolution });
    return [resolution, grouped(String(tokens)), costText(cost)];
  });
  return [
    "So an image costs this much in credits; what the model reads and thinks comes on top:",
    table(["`image_size`", "Output tokens", "Credits"], rows),
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
    costs.filter(({ parameters }) => parameters[down] === value).map(({ cost }) => costText(cost));
  const rows = valuesOf(down).map((value) => [value].concat(cellsOf(value)));
  return table([`\`${down}\``, ...valuesOf(across).map(head)], rows);
}

function costText(cost: MicroCredits): string {
  const [whole = "", fraction] = creditsText(cost).split(".");
  return `${grouped(whole)}${fraction === undefined ? "" : `.${fraction}`}`;
}
