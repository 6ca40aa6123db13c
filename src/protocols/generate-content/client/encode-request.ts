import { MOST_CANDIDATES, MOST_CONTENT_STOPS } from "../../../catalog/parameter-tables/generate-content.ts";
import { givesImages } from "../../../catalog/parameter-tables/parameter.ts";
import type { ChatRequest } from "../../../core/chat.ts";
import { filled, type JsonObject, present } from "../../../core/json/json-value.ts";
import type { Model } from "../../../core/model.ts";
import type { Losses } from "../../losses.ts";
import type { RelayTarget } from "../../protocol.ts";
import { thinkingConfig } from "./encode-thinking.ts";
import { encodeTools } from "./encode-tools.ts";
import { encodeTurns } from "./encode-turns.ts";

/** What the format has no field for and only helps. */
export const UNTAKEN = ["user", "verbosity", "cacheKey"] as const;

/** A request as a client of generateContent writes it; see `ClientEnd`. */
export function encodeRequest(chat: ChatRequest, target: RelayTarget, losses: Losses): JsonObject {
  const { systemInstruction, contents } = encodeTurns(chat.turns, target, losses);
  const tools = encodeTools(chat, losses);
  const generationConfig = filled(encodeConfig(chat, target.model, losses));
  for (const place of UNTAKEN) if (chat[place] !== undefined) losses.note({ place, why: "no_field" });
  return present({ systemInstruction, contents, ...tools, generationConfig });
}

/** Answers to one request. */
export function mostCandidates(model: Model): number {
  return givesImages(model) ? 1 : MOST_CANDIDATES;
}

/** `generationConfig`; without members where nothing was said. Throws a 400 for more stops or answers than there can be. */
function encodeConfig(chat: ChatRequest, model: Model, losses: Losses): JsonObject {
  checkCounts(chat, model, losses);
  return present({
    maxOutputTokens: chat.maxOutputTokens,
    temperature: chat.temperature,
    topP: chat.topP,
    topK: chat.topK,
    presencePenalty: chat.presencePenalty,
    frequencyPenalty: chat.frequencyPenalty,
    seed: seedOf(chat, losses),
    stopSequences: filled(chat.stop),
    candidateCount: chat.choices === 1 ? undefined : chat.choices,
    thinkingConfig: chat.thinking === undefined ? undefined : thinkingConfig(chat.thinking, model, losses),
    responseLogprobs: chat.logprobs && true,
    logprobs: chat.logprobs?.top || undefined,
    ...output(chat, model, losses),
    ...format(chat),
  });
}

function checkCounts({ stop, choices }: ChatRequest, model: Model, losses: Losses): void {
  if (stop.length > MOST_CONTENT_STOPS) {
    const counted = { count: stop.length, most: MOST_CONTENT_STOPS };
    throw losses.refusal({ place: "stop", why: "too_many_stops", ...counted });
  }
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
  const images = wanted.includes("image");
  const { aspectRatio, size } = chat.image ?? {};
  const imageConfig = filled(present({ aspectRatio, imageSize: size }));
  if (imageConfig !== undefined && !images) losses.note({ place: "image", why: "no_image_asked" });
  const kinds = (["text", "image"] as const).filter((kind) => wanted.includes(kind));
  return {
    responseModalities: givesImages(model) || images ? kinds.map((kind) => kind.toUpperCase()) : undefined,
    imageConfig: images ? imageConfig : undefined,
  };
}

function format({ responseFormat }: ChatRequest): JsonObject {
  if (responseFormat === undefined) return {};
  const responseJsonSchema = responseFormat.type === "json_schema" ? responseFormat.schema : undefined;
  return { responseMimeType: "application/json", responseJsonSchema };
}
