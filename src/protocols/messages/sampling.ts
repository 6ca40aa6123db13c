import type { Model } from "../../core/model.ts";
import type { Changes } from "../changes.ts";
import type { TargetLoss } from "../losses.ts";
import type { MessagesRequest } from "./request.ts";

/** The least `top_p` that a model takes while it thinks. */
const LEAST_THINKING_TOP_P = 0.95;

const TEMPERATURE = { field: "temperature", place: "temperature" } as const;
const TOP_P = { field: "top_p", place: "topP" } as const;

/**
 * Sampling as the model takes it, by its data: fields that it refuses together, or beside thinking, are left out, and
 * a temperature above its own range is lowered. `thinks` says whether it will think by a budget.
 */
export function changeSampling(
  request: MessagesRequest,
  { sampling }: Model,
  thinks: boolean,
  changes: Changes,
): void {
  if (sampling === undefined) return;
  const { temperature, top_p } = request.body;
  const leaveOut = (loss: TargetLoss): void => {
    if (changes.removes([loss.field])) return;
    changes.remove([loss.field]);
    changes.warn(loss);
  };
  if (thinks && sampling.fixedWhileThinking) {
    const why = "not_while_thinking";
    if (temperature !== undefined && temperature !== 1) leaveOut({ ...TEMPERATURE, why });
    if (top_p !== undefined && top_p < LEAST_THINKING_TOP_P) leaveOut({ ...TOP_P, why });
    if (request.body.top_k !== undefined) leaveOut({ field: "top_k", why });
  }
  if (temperature === undefined || changes.removes(["temperature"])) return;
  const most = sampling.maxTemperature;
  if (most !== undefined && temperature > most) {
    changes.set(["temperature"], most);
    changes.warn({ ...TEMPERATURE, why: "most_taken", most });
  }
  if (sampling.eitherTemperatureOrTopP && top_p !== undefined)
    leaveOut({ ...TOP_P, why: "not_together", other: TEMPERATURE });
}
