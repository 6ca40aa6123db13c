import type { MediaFacts } from "./media/media-model.ts";
import type { Prices } from "./money/price.ts";

/** Model categories of the interface; `language` is shown to people as Text. */
export const CATEGORIES = ["language", "image", "video", "audio", "embedding"] as const;
export type Category = (typeof CATEGORIES)[number];

/** What a format is called in settings and lists, which are all of formats. */
export function formatName(id: ProtocolId): string {
  return id.replace(/^compat_/, "");
}

/** Request formats that models are listed in by `supported_protocols` of the interface. */
export const LISTED_PROTOCOLS = [
  "compat_chat_completions",
  "compat_messages",
  "compat_generate_content",
] as const;

export type ListedProtocolId = (typeof LISTED_PROTOCOLS)[number];

/** Every request format of language models. */
export const PROTOCOLS = [...LISTED_PROTOCOLS, "compat_responses"] as const;
export type ProtocolId = (typeof PROTOCOLS)[number];

/** How a model is served in each format that answers for it. */
export type Formats = Readonly<Partial<Record<ProtocolId, "relay" | "translation">>>;

/** Kinds of input and output. */
export const MODALITIES = ["text", "image", "audio", "video", "pdf"] as const;
export type Modality = (typeof MODALITIES)[number];

/** A way to reach a model: which provider serves it, and under which id. */
export interface Route {
  readonly provider: string;
  /** Of images and videos see `upstreamIdFor`. */
  readonly upstreamId: string;
  /** The formats in which the provider serves this model; absent: all that it speaks. */
  readonly protocols?: readonly ProtocolId[];
  /** Its share of the requests where routes are chosen by weight; absent: 1. */
  readonly weight?: number;
  /** What the provider charges the operator; absent: not known. It never changes what a client is charged. */
  readonly cost?: Prices;
}

/** Ways to choose among a model's routes: as they are listed, by their weights, by least cost, by least latency. */
export const ROUTE_ORDERS = ["order", "weight", "cost", "latency"] as const;
export type RouteOrder = (typeof ROUTE_ORDERS)[number];

/** How requests for a model find their route. */
export interface Routing {
  readonly by: RouteOrder;
  /** Requests that begin alike go the same way for some minutes, so that the provider's prompt cache is used. */
  readonly sticky: boolean;
  /** Ids of models that serve where this one's providers fail, in order. */
  readonly fallback: readonly string[];
}

/**
 * How a model counts an image: the squares that cover it, each at a price in tokens. Vendors call them patches or
 * tiles. They scale down or refuse an image that is too large, so the model's ceiling for images holds.
 */
export interface ImageTokens {
  /** The side of a square in pixels. */
  readonly patch: number;
  /** Tokens of one square. */
  readonly perPatch: number;
  /** Tokens of any image, beside its squares. */
  readonly base: number;
  /** Tokens of an image of `detail: low`, whatever its size; absent where that makes no difference. */
  readonly low?: number;
  /** The most tokens of an image of `detail: high`; absent where the ceiling of images is the most. */
  readonly high?: number;
}

/** Words for how much a model shall think, from least to most. */
export const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type Effort = (typeof EFFORTS)[number];

/** How a model can be told to think at its vendor, whatever field each provider has for that. */
export interface ThinkingFacts {
  /** The efforts that it takes. Empty: it refuses to be told. Absent: not known, so any is passed on. */
  readonly efforts?: readonly Effort[];
  /** Whether it thinks in streams only, so that a plain request must switch it off (open Qwen models). */
  readonly streamedOnly?: boolean;
  /** Whether every earlier answer must carry its reasoning once tools are in play, "" where it had none (DeepSeek V4). */
  readonly reasoningBackAlways?: boolean;
  /** `budget`: by a number of tokens. `adaptive`: by an effort, and the model decides. Not for chat completions. */
  readonly style?: "budget" | "adaptive";
  /** Whether its thinking can be switched off; one where it cannot is not sent a switch either. Absent is yes. */
  readonly canBeOff?: boolean;
}

/** Limits of a model on the sampling fields that it takes. */
export interface SamplingFacts {
  /** The end of its range, if lower than the interface's. */
  readonly maxTemperature?: number;
  /** It takes `temperature` or `top_p`, not both. */
  readonly eitherTemperatureOrTopP: boolean;
  /** While it thinks by a budget its sampling is fixed. */
  readonly fixedWhileThinking: boolean;
}

/** What the server that a model is reached at does not do of chat completions. */
export interface ChatLimits {
  /** Parameters that it does not take: they are left out with a warning, or refused where the answer would be another. */
  readonly untaken: readonly string[];
  /** Words of `tool_choice`. */
  readonly toolWords: readonly string[];
  /** Whether `tool_choice` may name a tool. */
  readonly namedTool: boolean;
  /** Types of `response_format`. */
  readonly responseFormats: readonly string[];
  /** The most answers that may be asked for at once. */
  readonly mostChoices: number;
  /** The most texts of `stop`. */
  readonly mostStops: number;
  /** Set where the request is translated into another format. */
  readonly translated?: TranslatedChat;
}

/** A request of chat completions on its way to a provider that speaks another format. */
export interface TranslatedChat {
  readonly into: Exclude<ProtocolId, "compat_chat_completions">;
  /** Efforts of the model in that format; `none` where its thinking can be switched off. */
  readonly efforts: readonly Effort[];
}

/** Bounds of chat completions itself, for servers that set no lower ones. */
export const MOST_CHAT_CHOICES = 128;
export const MOST_CHAT_STOPS = 16;

/** What an embedding model takes and gives. The most tokens of one text are its `totalContext`. */
export interface EmbeddingFacts {
  /** How long its vectors are where no other length is asked for. */
  readonly dimensions: number;
  /** Other lengths that can be asked for: a range, or these; absent: none. */
  readonly otherDimensions?: { readonly from: number; readonly to: number } | readonly number[];
  /** The most texts of one request. */
  readonly mostTexts: number;
  /** The most tokens of all texts of one request together; absent where nothing bounds them. */
  readonly mostTokens?: number;
  /** Whether it reads OpenAI's tokens, so that texts can come as lists of them. */
  readonly readsTokens: boolean;
  /** Whether its shorter vectors come without length one, so that the gateway gives it to them. */
  readonly normalizeShorter: boolean;
}

/** A model of the catalogue: what the interface shows of it, its prices, and its routes. */
export interface Model {
  readonly id: string;
  /** `<category>/<id>`. */
  readonly uniqueId: string;
  readonly category: Category;
  readonly displayName: string;
  readonly vendor: string;
  /** What it is, in one line; empty when its data does not say. */
  readonly summary: string;
  /** What its users must know beside its parameters and prices, a sentence each. */
  readonly notes: readonly string[];
  readonly supportedProtocols: readonly ListedProtocolId[];
  /** Every format that answers for it, and how: in the provider's own, or put into another one. */
  readonly formats: Formats;
  readonly inputModalities: readonly Modality[];
  readonly outputModalities: readonly Modality[];
  readonly totalContext: number | null;
  readonly maxOutput: number | null;
  /** Fields in the interface's range that this model refuses; they are left out with a warning. */
  readonly ignoredParameters: readonly string[];
  /** Absent where the model does not think, or takes any way of asking that the interface has. */
  readonly thinking?: ThinkingFacts;
  /** Absent where it takes sampling fields as the interface has them. */
  readonly sampling?: SamplingFacts;
  /** Whether it takes system messages amid a conversation. Only in the messages format; absent is no. */
  readonly systemTurns?: boolean;
  /** The field that bounds output upstream. */
  readonly maxTokensField: "max_completion_tokens" | "max_tokens";
  /** The most tokens that one input image, audio, video or document can come to. */
  readonly mediaTokenCeiling: Readonly<Partial<Record<Modality, number>>>;
  /** How images of known size are counted; without it each counts as the ceiling. */
  readonly imageTokens?: ImageTokens;
  readonly prices: Prices;
  /** Names `prices` by content. */
  readonly priceVersion: string;
  readonly routes: readonly Route[];
  /** Absent: in the order of `routes`, and no other model serves in its place. */
  readonly routing?: Routing;
  /** Limits of the server that chat completions go to now; absent where it has none or they are not known. */
  readonly chatLimits?: ChatLimits;
  /** Set on image and video models, and on no other. */
  readonly media?: MediaFacts;
  /** Set on embedding models, and on no other. */
  readonly embedding?: EmbeddingFacts;
}
