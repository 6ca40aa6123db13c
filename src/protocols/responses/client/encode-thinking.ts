import type { ThinkingWish } from "../../../core/chat.ts";
import { filled, type JsonObject, present } from "../../../core/json/json-value.ts";
import { type Effort, EFFORTS } from "../../../core/model.ts";
import type { Losses } from "../../losses.ts";
import type { RelayTarget } from "../../protocol.ts";
import { effortOf, nearestEffort } from "../../thinking.ts";

/**
 * A wish as `reasoning`: an effort that the model has, and a summary for a client that wants to see it. The format
 * shows no thinking by itself. `undefined` where nothing was said, or can be.
 */
export function encodeThinking(
  wish: ThinkingWish | undefined,
  { model: { thinking } }: RelayTarget,
  losses: Losses,
): JsonObject | undefined {
  if (wish === undefined) return undefined;
  const { mode, budgetTokens, effort: word, hidden = false } = wish;
  const efforts = thinking?.efforts;
  if (efforts?.length === 0) {
    losses.note({ place: "thinking", why: mode === "off" ? "no_off" : "no_amount" });
    return undefined;
  }
  if (mode === "off" || word === "none") return offAt(efforts, losses);
  const wanted = word ?? (budgetTokens === undefined ? undefined : effortOf(budgetTokens));
  const isWanted = mode !== undefined || wanted !== undefined;
  return filled(
    present({
      effort: wanted === undefined ? undefined : effortAt(wanted, efforts ?? EFFORTS, losses),
      summary: hidden || !isWanted ? undefined : "auto",
    }),
  );
}

/** Thinking that is switched off, or as little of it as the model can do with. */
function offAt(efforts: readonly Effort[] | undefined, losses: Losses): JsonObject | undefined {
  const [least] = efforts ?? (["none"] as const);
  if (least === undefined || least === "none" || efforts?.includes("none") === true)
    return { effort: "none" };
  losses.note({ place: "thinking", why: "thinks_least", effort: least });
  return { effort: least };
}

/** The nearest effort that the model has, as far as that is known; `undefined` for a word that nobody knows. */
function effortAt(wanted: string, efforts: readonly Effort[], losses: Losses): Effort | undefined {
  // Asked to think, it is not switched off.
  const words = efforts.filter((effort) => effort !== "none");
  const nearest = nearestEffort(wanted, words, "higher");
  if (nearest === undefined) losses.note({ place: "thinking", why: "unknown_effort", effort: wanted });
  else if (nearest !== wanted)
    losses.note({ place: "thinking", why: "nearest_effort", effort: wanted, nearest });
  return nearest;
}
