import { MOST_CANDIDATES, MOST_CONTENT_STOPS } from "../../catalog/parameter-tables/generate-content.ts";
import type { Effort, Model } from "../../core/model.ts";
import type { ClientLimits } from "../translate.ts";
import { EFFORTS, levelsOf } from "./encode-thinking.ts";

/** Answers to one request. */
export function mostCandidates({ outputModalities }: Model): number {
  return outputModalities.includes("image") ? 1 : MOST_CANDIDATES;
}

/** See `ClientEnd`. */
export function limits(model: Model): ClientLimits {
  const makesImages = model.outputModalities.includes("image");
  return {
    untaken: ["parallelToolCalls", "seed", "user", ...(makesImages ? [] : (["image"] as const))],
    mostChoices: mostCandidates(model),
    mostStops: MOST_CONTENT_STOPS,
    efforts: effortsOf(model),
  };
}

/** A model that is told a level always thinks. */
function effortsOf(model: Model): readonly Effort[] {
  if (model.thinking?.style !== "budget") return levelsOf(model);
  return [...(model.thinking.canBeOff === false ? [] : (["none"] as const)), ...EFFORTS];
}
