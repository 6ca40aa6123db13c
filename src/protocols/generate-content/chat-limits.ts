import type { ChatLimits, Effort, Model } from "../../core/model.ts";
import { budgetEfforts, levelsOf } from "./encode-thinking.ts";

/** Texts that may end an answer. */
export const MOST_STOPS = 5;

/** Answers to one request: https://ai.google.dev/api/generate-content#generationconfig */
export function mostCandidates({ outputModalities }: Model): number {
  return outputModalities.includes("image") ? 1 : 8;
}

/** See `ClientEnd`. */
export function chatLimits(model: Model): ChatLimits {
  return {
    untaken: [
      "parallel_tool_calls",
      "seed",
      "user",
      ...(model.outputModalities.includes("image") ? [] : ["image_config"]),
    ],
    toolWords: ["none", "auto", "required"],
    namedTool: true,
    responseFormats: ["text", "json_object", "json_schema"],
    mostChoices: mostCandidates(model),
    mostStops: MOST_STOPS,
    translated: { into: "compat_generate_content", efforts: effortsOf(model) },
  };
}

/** A model that is told a level always thinks. */
function effortsOf(model: Model): readonly Effort[] {
  if (model.thinking?.style !== "budget") return levelsOf(model);
  return [...(model.thinking.canBeOff === false ? [] : (["none"] as const)), ...budgetEfforts];
}
