import { MOST_CONTENT_STOPS } from "../../catalog/parameter-tables/generate-content.ts";
import type { ChatRequest } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json-value.ts";
import type { Model } from "../../core/model.ts";
import type { RelayTarget } from "../protocol.ts";
import { invalid } from "../request-json.ts";
import { mostCandidates } from "./chat-limits.ts";
import { thinkingConfig } from "./encode-thinking.ts";
import type { Warn } from "./warn.ts";

/** `generationConfig`; without members where nothing was said. Throws a 400 for more stops or answers than there can be. */
export function encodeConfig(chat: ChatRequest, target: RelayTarget, warn: Warn): JsonObject {
  const { model } = target;
  checkCounts(chat, model);
  return defined({
    maxOutputTokens: boundOf(chat, model, warn),
    temperature: chat.temperature,
    topP: chat.topP,
    presencePenalty: chat.presencePenalty,
    frequencyPenalty: chat.frequencyPenalty,
    seed: seedOf(chat, warn),
    stopSequences: chat.stop.length === 0 ? undefined : chat.stop,
    candidateCount: chat.choices === 1 ? undefined : chat.choices,
    thinkingConfig: chat.thinking === undefined ? undefined : thinkingConfig(chat.thinking, model, warn),
    ...output(chat, model, warn),
    ...format(chat),
  });
}

function checkCounts(chat: ChatRequest, model: Model): void {
  if (chat.stop.length > MOST_CONTENT_STOPS)
    throw invalid(
      `stop has ${chat.stop.length} sequences, and ${model.id} takes at most ${MOST_CONTENT_STOPS}.`,
      "stop",
    );
  const most = mostCandidates(model);
  if (chat.choices > most)
    throw invalid(`n is ${chat.choices}, and ${model.id} gives at most ${most} at once.`, "n");
}

function boundOf({ maxOutputTokens: asked }: ChatRequest, model: Model, warn: Warn): number | undefined {
  if (asked === undefined || model.maxOutput === null || asked <= model.maxOutput) return asked;
  warn(`max_tokens was lowered to ${model.maxOutput}: ${model.id} puts out no more`);
  return model.maxOutput;
}

function seedOf({ seed }: ChatRequest, warn: Warn): number | undefined {
  if (seed === undefined || (seed === Math.trunc(seed) && Math.abs(seed) < 2 ** 31)) return seed;
  warn("seed was left out: this model takes an integer of 32 bits");
  return undefined;
}

/** What is put out. An image model gives them unless it is told not to, and a chat is text unless it says so. */
function output(chat: ChatRequest, model: Model, warn: Warn): JsonObject {
  const wanted = chat.outputModalities ?? ["text"];
  const makesImages = model.outputModalities.includes("image");
  const images = wanted.includes("image");
  const config = defined({ aspectRatio: chat.image?.aspectRatio, imageSize: chat.image?.size });
  const hasConfig = Object.keys(config).length > 0;
  if (hasConfig && !images) warn("image_config was left out: modalities do not ask for an image");
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

/** The members that say something. */
function defined(fields: Readonly<Record<string, unknown>>): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
