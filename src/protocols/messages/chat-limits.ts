import type { ChatRequest } from "../../core/chat.ts";
import { type ChatLimits, type Model, MOST_CHAT_STOPS } from "../../core/model.ts";
import { effortsOf } from "./encode-thinking.ts";

/** Answers that the format gives to a request. */
export const ONE_ANSWER = 1;

/** What the format has no field for and only helps, by the caller's field: the value where one was sent. */
export const UNTAKEN: Readonly<Record<string, (chat: ChatRequest) => unknown>> = {
  presence_penalty: ({ presencePenalty }) => presencePenalty,
  frequency_penalty: ({ frequencyPenalty }) => frequencyPenalty,
  seed: ({ seed }) => seed,
  image_config: ({ image }) => image,
  "image_url.detail": (chat) => (usesDetail(chat) ? true : undefined),
};

/** See `ClientEnd`. */
export function chatLimits(model: Model): ChatLimits {
  return {
    untaken: Object.keys(UNTAKEN),
    toolWords: ["none", "auto", "required"],
    namedTool: true,
    responseFormats: ["text", "json_object", "json_schema"],
    mostChoices: ONE_ANSWER,
    mostStops: MOST_CHAT_STOPS,
    translated: {
      into: "compat_messages",
      efforts: [...(model.thinking?.canBeOff === false ? [] : (["none"] as const)), ...effortsOf(model)],
    },
  };
}

function usesDetail({ turns }: ChatRequest): boolean {
  return turns.some(({ parts }) =>
    parts.some((part) => part.type === "image" && (part.detail ?? "auto") !== "auto"),
  );
}
