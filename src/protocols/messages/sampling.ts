import type { Model } from "../../core/model.ts";
import type { Rewrite } from "../rewrite.ts";
import type { MessagesRequest } from "./request.ts";

/** The least `top_p` that a model takes while it thinks. */
const LEAST_THINKING_TOP_P = 0.95;

/**
 * Sampling as the model takes it, by its data: fields that it refuses together, or beside thinking, are left out, and
 * a temperature above its own range is lowered. `thinks` says whether it will think by a budget.
 */
export function rewriteSampling(
  request: MessagesRequest,
  { id, sampling }: Model,
  thinks: boolean,
  rewrite: Rewrite,
): void {
  if (sampling === undefined) return;
  const { temperature, top_p } = request.body;
  const at = (name: string) => {
    const found = request.json.byName.get(name);
    return found === undefined || rewrite.remove.has(found) ? undefined : found;
  };
  const leaveOut = (name: string, why: string): void => {
    const found = at(name);
    if (found === undefined) return;
    rewrite.remove.add(found);
    rewrite.warnings.push(`${name} was left out: ${id} ${why}`);
  };
  if (thinks && sampling.fixedWhileThinking) {
    if (temperature !== undefined && temperature !== 1)
      leaveOut("temperature", "does not take it while it thinks");
    if (top_p !== undefined && top_p < LEAST_THINKING_TOP_P)
      leaveOut("top_p", "does not take it while it thinks");
    if (request.body.top_k !== undefined) leaveOut("top_k", "does not take it while it thinks");
  }
  const warm = at("temperature");
  const most = sampling.maxTemperature;
  if (warm !== undefined && temperature !== undefined && most !== undefined && temperature > most) {
    rewrite.replace.set(warm, String(most));
    rewrite.warnings.push(`temperature was lowered to ${most}: ${id} takes no more`);
  }
  if (
    sampling.eitherTemperatureOrTopP &&
    warm !== undefined &&
    temperature !== undefined &&
    top_p !== undefined
  )
    leaveOut("top_p", "does not take it together with temperature");
}
