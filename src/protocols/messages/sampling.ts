import type { Model } from "../../core/model.ts";
import type { Changes } from "../changes.ts";
import type { MessagesRequest } from "./request.ts";

/** The least `top_p` that a model takes while it thinks. */
const LEAST_THINKING_TOP_P = 0.95;

/**
 * Sampling as the model takes it, by its data: fields that it refuses together, or beside thinking, are left out, and
 * a temperature above its own range is lowered. `thinks` says whether it will think by a budget.
 */
export function changeSampling(
  request: MessagesRequest,
  { id, sampling }: Model,
  thinks: boolean,
  changes: Changes,
): void {
  if (sampling === undefined) return;
  const { temperature, top_p } = request.body;
  const leaveOut = (name: string, why: string): void => {
    if (changes.removes([name])) return;
    changes.remove([name]);
    changes.warn(`${name} was left out: ${id} ${why}`);
  };
  if (thinks && sampling.fixedWhileThinking) {
    if (temperature !== undefined && temperature !== 1)
      leaveOut("temperature", "does not take it while it thinks");
    if (top_p !== undefined && top_p < LEAST_THINKING_TOP_P)
      leaveOut("top_p", "does not take it while it thinks");
    if (request.body.top_k !== undefined) leaveOut("top_k", "does not take it while it thinks");
  }
  if (temperature === undefined || changes.removes(["temperature"])) return;
  const most = sampling.maxTemperature;
  if (most !== undefined && temperature > most) {
    changes.set(["temperature"], most);
    changes.warn(`temperature was lowered to ${most}: ${id} takes no more`);
  }
  if (sampling.eitherTemperatureOrTopP && top_p !== undefined)
    leaveOut("top_p", "does not take it together with temperature");
}
