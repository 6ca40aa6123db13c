import type { ChatRequest } from "../../core/chat.ts";
import type { Model } from "../../core/model.ts";
import type { Place } from "../protocol.ts";
import type { ClientLimits } from "../translate.ts";
import { effortsOf } from "./encode-thinking.ts";

/** Answers that the format gives to a request. */
export const ONE_ANSWER = 1;

/** What the format has no field for and only helps. */
const UNTAKEN = ["presencePenalty", "frequencyPenalty", "seed", "image"] as const;

/** What a request has of it. */
export function untakenOf(chat: ChatRequest): readonly Place[] {
  const said = UNTAKEN.filter((place) => chat[place] !== undefined && chat[place] !== 0);
  return usesDetail(chat) ? [...said, "detail"] : said;
}

/** See `ClientEnd`. */
export function limits(model: Model): ClientLimits {
  return {
    untaken: UNTAKEN,
    mostChoices: ONE_ANSWER,
    efforts: [...(model.thinking?.canBeOff === false ? [] : (["none"] as const)), ...effortsOf(model)],
  };
}

function usesDetail({ turns }: ChatRequest): boolean {
  return turns.some(({ parts }) =>
    parts.some((part) => part.type === "image" && (part.detail ?? "auto") !== "auto"),
  );
}
