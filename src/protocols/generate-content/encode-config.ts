import { MOST_CONTENT_STOPS } from "../../catalog/parameter-tables/generate-content.ts";
import type { ChatRequest } from "../../core/chat.ts";
import { type JsonObject, present } from "../../core/json-value.ts";
import type { Model } from "../../core/model.ts";
import type { Losses } from "../losses.ts";
import type { RelayTarget } from "../protocol.ts";
import { mostCandidates } from "./chat-limits.ts";
import { thinkingConfig } from "./encode-thinking.ts";

/** `generationConfig`; without members where nothing was said. Throws a 400 for more stops or answers than there can be. */
export function encodeConfig(chat: ChatRequest, target: RelayTarget, losses: Losses): JsonObject {
  const { model } = target;
  checkCounts(chat, model, losses);
  return present({
    maxOutputTokens: chat.maxOutputTokens,
    temperature: chat.temperature,
    topP: chat.topP,
    presencePenalty: chat.presencePenalty,
    frequencyPenalty: chat.frequencyPenalty,
    seed: seedOf(chat, losses),
    stopSequences: chat.stop.length === 0 ? undefined : chat.stop,
    candidateCount: chat.choices === 1 ? undefined : chat.choices,
    thinkingConfig: chat.thinking === undefined ? undefined : thinkingConfig(chat.thinking, model, losses),
    ...output(chat, model, losses),
    ...format(chat),
  });
}

function checkCounts({ stop, choices }: ChatRequest, model: Model, losses: Losses): void {
  if (stop.length > MOST_CONTENT_STOPS)
    throw losses.refusal({
      place: "stop",
      why: "too_many_stops",
      count: stop.length,
      most: MOST_CONTENT_STOPS,
    });
  const most = mostCandidates(model);
  if (choices > most)
    throw losses.refusal({ place: "choices", why: "too_many_answers", count: choices, most });
}

function seedOf({ seed }: ChatRequest, losses: Losses): number | undefined {
  if (seed === undefined || (seed === Math.trunc(seed) && Math.abs(seed) < 2 ** 31)) return seed;
  losses.note({ place: "seed", why: "not_32_bits" });
  return undefined;
}

/** What is put out. An image model gives them unless it is told not to, and a chat is text unless it says so. */
function output(chat: ChatRequest, model: Model, losses: Losses): JsonObject {
  const wanted = chat.outputModalities ?? ["text"];
  const makesImages = model.outputModalities.includes("image");
  const images = wanted.includes("image");
  const config = present({ aspectRatio: chat.image?.aspectRatio, imageSize: chat.image?.size });
  const hasConfig = Object.keys(config).length > 0;
  if (hasConfig && !images) losses.note({ place: "image", why: "no_image_asked" });
  return {
    ...(makesImages || images
      ? {
          responseModalities: [...(wanted.includes("text") ? ["TEXT"] : []), ...(images ? ["IMAGE"] : [])],
        }
      : {}),
    ...(hasConfig && images ? { imageConfig: config } : {}),
  };
}

function format({ responseFormat }: ChatRequest): JsonObject {
  if (responseFormat === undefined) return {};
  return {
    responseMimeType: "application/json",
    ...(responseFormat.type === "json_schema" ? { responseJsonSchema: responseFormat.schema } : {}),
  };
}
