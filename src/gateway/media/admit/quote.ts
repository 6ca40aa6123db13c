import { MAX_MICRO_CREDITS, type MicroCredits } from "../../../core/money/credits.ts";
import { GatewayError } from "../../../core/errors.ts";
import type { ImageRequest, MediaRequest, VideoRequest } from "../../../core/media/media.ts";
import { mostSeconds, priceFacts, tokensFor } from "../../../core/media/media-model.ts";
import { costOf, foldUnpriced, type PriceSnapshot } from "../../../core/money/price.ts";
import { estimateTokens, measureText } from "../../../core/money/token-estimate.ts";
import { NO_USAGE, type Usage } from "../../../core/money/usage.ts";
import { inlineSize } from "../../../protocols/media-inputs.ts";
import { mediaTokens } from "../../media-tokens.ts";
import type { MediaModel } from "./model.ts";

/** The most that a request can cost, and what it usually costs. */
export interface MediaQuote {
  readonly snapshot: PriceSnapshot;
  readonly amount: MicroCredits;
  readonly expectedCost: MicroCredits;
}

/** Tokens that vendors put around a prompt. */
const AROUND_PROMPT = 64;

/** Counts of tokens in a model's data are the usual ones; a bound adds this much, in percent. */
const MARGIN = 5;

/** A guess that is this far above the context refuses the input without asking the provider. */
const SURELY_TOO_LONG = 1.5;

/** The price of a request at this moment: a bound, and the usual price. */
export function quoteMedia(model: MediaModel, request: MediaRequest, nowMs: number): MediaQuote {
  const { priceVersion: version, prices } = model;
  const snapshot: PriceSnapshot = { version, prices, pricedAtMs: nowMs, facts: priceFacts(request) };
  const cost = (usage: Usage): MicroCredits => costOf(foldUnpriced(usage, prices), snapshot);
  const most = cost(request.kind === "image" ? mostOfImages(model, request) : mostOfVideo(model, request));
  return {
    snapshot,
    // No balance is larger, so the balance refuses a hold of this amount like any that is too large.
    amount: most > MAX_MICRO_CREDITS ? MAX_MICRO_CREDITS : most,
    expectedCost: cost(usageOfOutputs(model, request, request.kind === "image" ? request.n : 1)),
  };
}

/** The usage of a request whose provider tells only how many images or videos it has made. */
export function usageOfOutputs(model: MediaModel, request: MediaRequest, delivered: number): Usage {
  const tokens = delivered * tokensFor(model.media.outputTokens, priceFacts(request));
  if (request.kind === "video") {
    const { durationSec } = request;
    return { ...NO_USAGE, output: tokens * durationSec, seconds: delivered * durationSec };
  }
  const { text, images } = inputOf(model, request);
  return {
    ...NO_USAGE,
    input: delivered * text.expected,
    imageInput: delivered * images.expected,
    imageOutput: tokens,
    images: delivered,
  };
}

/** Each image is billed as a call of its own, which reads the input again. */
function mostOfImages(model: MediaModel, request: ImageRequest): Usage {
  const { text, images } = inputOf(model, request);
  const { n } = request;
  const { outputTokens, textTokens } = model.media;
  return {
    ...NO_USAGE,
    input: n * text.ceiling,
    imageInput: n * images.ceiling,
    output: n * textTokens,
    imageOutput: withMargin(n * tokensFor(outputTokens, priceFacts(request))),
    images: n,
  };
}

/** The most seconds of a video that can be charged. */
export function mostSecondsOf({ media }: MediaModel, request: VideoRequest): number {
  return mostSeconds(media, request.durationSec, request.referenceVideos.length > 0);
}

function mostOfVideo(model: MediaModel, request: VideoRequest): Usage {
  const seconds = mostSecondsOf(model, request);
  const tokens = withMargin(seconds * tokensFor(model.media.outputTokens, priceFacts(request)));
  return { ...NO_USAGE, output: tokens, seconds };
}

function withMargin(tokens: number): number {
  return Math.ceil((tokens * (100 + MARGIN)) / 100);
}

interface Estimate {
  readonly expected: number;
  readonly ceiling: number;
}

function inputOf(
  model: MediaModel,
  { prompt, images, mask }: ImageRequest,
): { readonly text: Estimate; readonly images: Estimate } {
  const size = { ascii: 0, alphabetic: 0, ideographic: 0 };
  measureText(prompt, size);
  const text = estimateTokens(size);
  const given = [...images, ...(mask === undefined ? [] : [mask])].map((input) => {
    const known = inlineSize(input);
    return known === undefined ? {} : { size: known };
  });
  return {
    text: { expected: text.expected, ceiling: text.ceiling + AROUND_PROMPT },
    images: mediaTokens(model, { media: {}, mediaBytes: 0, images: given }),
  };
}

/** Throws a 400 when the input is surely longer than the model takes. */
export function checkContext(model: MediaModel, request: ImageRequest): void {
  const { text, images } = inputOf(model, request);
  const expected = text.expected + images.expected;
  if (model.totalContext === null || expected <= model.totalContext * SURELY_TOO_LONG) return;
  throw new GatewayError(
    "input_too_large",
    `The input is about ${expected} tokens long; ${model.id} takes ${model.totalContext}.`,
    { param: "prompt" },
  );
}
