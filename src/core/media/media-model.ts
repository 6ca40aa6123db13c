import type { MediaRequest } from "./media.ts";
import type { PriceFacts } from "../money/price.ts";
import type { Checker } from "../schema.ts";

/** Facts of an image or video model beside those of any model. */
export interface MediaFacts {
  /**
   * The fields of the interface that it takes, beside those that the gateway handles itself, and how it narrows them.
   */
  readonly parameters: Readonly<Record<string, ParameterLimits>>;
  /** The defaults of the fields that it takes. */
  readonly defaults: Readonly<Record<string, unknown>>;
  /** Checks the fields that the model takes, as it narrows them; other fields are left out. */
  readonly checker: Checker<unknown>;
  /**
   * Output tokens of an image, or of a second of video; the first rule that holds counts. Empty: not sold by tokens.
   */
  readonly outputTokens: readonly TokenRule[];
  /** The most output tokens of one call beside its images: thoughts and text. */
  readonly textTokens: number;
  /** How many images each job makes, where a request cannot ask for a number. */
  readonly imagesPerJob?: number;
  /** Whether the prompt is a command line, in which switches can be set. */
  readonly promptSwitches: boolean;
  /** The most seconds of reference videos that are charged for. */
  readonly inputVideoSec: number;
  /** The most references of all kinds in one request. */
  readonly mostReferences?: number;
  /** The longest video that it makes from references. */
  readonly mostSecWithReferences?: number;
  /** Whether several shots need an expanded prompt, except with references. */
  readonly multiShotExpands: boolean;
  /** Whether the prompt can be expanded where there are reference images or videos. */
  readonly expandsWithReferences: boolean;
  /** Whether reference audio can stand beside reference images and videos, must, or cannot. */
  readonly audioBesideReferences: "may" | "must" | "never";
}

/** How a model narrows a field of the interface. */
export interface ParameterLimits {
  /** Of the interface's values those that it knows; absent: all. */
  readonly values?: readonly string[];
  /** Its own default, where the interface's is no value of it. */
  readonly default?: string;
  readonly maxLength?: number;
  readonly maxItems?: number;
  /** Of each medium that stands in the request itself. */
  readonly maxBytes?: number;
  /** Media come by link: the provider takes no data URI. */
  readonly linksOnly: boolean;
  readonly required: boolean;
}

/** A count of tokens and its conditions; an absent one is not asked. */
export interface TokenRule {
  readonly resolution?: readonly string[];
  readonly size?: readonly string[];
  readonly quality?: readonly string[];
  readonly tokens: number;
}

/** Properties of a request that its price can depend on. */
export function priceFacts(request: MediaRequest): PriceFacts {
  if (request.kind === "video")
    return { resolution: request.resolution, hasVideo: request.referenceVideos.length > 0 };
  const { imageSize, size, quality } = request;
  return {
    ...(imageSize === undefined ? {} : { resolution: imageSize }),
    ...(size === undefined ? {} : { size: `${size.width}*${size.height}` }),
    ...(quality === undefined ? {} : { quality }),
  };
}

/** The most seconds of a video that can be charged: vendors may count reference videos like made ones. */
export function mostSeconds(
  { inputVideoSec }: Pick<MediaFacts, "inputVideoSec">,
  durationSec: number,
  hasVideo: boolean,
): number {
  return durationSec + (hasVideo ? inputVideoSec : 0);
}

/** The tokens that an image or a second of video comes to; 0 where the model's data has none. */
export function tokensFor(rules: readonly TokenRule[], facts: PriceFacts): number {
  const holds = (words: readonly string[] | undefined, asked: string | undefined): boolean =>
    words === undefined || (asked !== undefined && words.includes(asked));
  const rule = rules.find(
    ({ resolution, size, quality }) =>
      holds(resolution, facts.resolution) && holds(size, facts.size) && holds(quality, facts.quality),
  );
  return rule?.tokens ?? 0;
}
