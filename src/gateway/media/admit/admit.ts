import type { ImageFields } from "../../../catalog/parameter-tables/images.ts";
import type { Caller } from "../../../core/caller.ts";
import type { MicroCredits } from "../../../core/money/credits.ts";
import type { MediaRequest } from "../../../core/media/media.ts";
import type { PriceSnapshot } from "../../../core/money/price.ts";
import type { MediaBody } from "../../../protocols/media-request.ts";
import type { VideoBody } from "../../../protocols/videos/index.ts";
import type { Offer } from "../../offer.ts";
import { imageRequestOf } from "./image-request.ts";
import { checkLinks } from "./links.ts";
import { findMediaModel, type MediaModel } from "./model.ts";
import { checkContext, quoteMedia } from "./quote.ts";
import { videoRequestOf } from "./video-request.ts";

/** The caller of a request for something new, and what decides on it. */
export interface AdmissionRequest {
  readonly offer: Offer;
  readonly caller: Caller;
  readonly nowMs: number;
  /** Hosts of the operator that links may lead to though they are not public. */
  readonly allowedHosts: readonly string[];
}

/** An admitted request for images or a video. */
export interface TaskAdmission {
  readonly model: MediaModel;
  readonly request: MediaRequest;
  /** Fields that were left out or replaced, a sentence each in ASCII, which names the field. */
  readonly warnings: readonly string[];
  /** The prices of this moment, and the request's properties that they depend on. */
  readonly snapshot: PriceSnapshot;
  /** The most that it can cost. */
  readonly amount: MicroCredits;
  /** What it usually costs. */
  readonly expectedCost: MicroCredits;
  readonly timeoutSec: number;
  /** Whether the answer waits for the task's end; else the client polls the task. */
  readonly awaited: boolean;
  /** Whether the client asked for the bytes of the result beside its links. */
  readonly base64: boolean;
}

const IMAGE_TIMEOUT_SEC = 300;
const VIDEO_TIMEOUT_SEC = 600;

/**
 * Decides whether a request for images is served, and the most it can cost. Throws a 400 that names the field at fault;
 * asks nothing outside the process.
 */
export function admitImage(
  { offer, caller, nowMs, allowedHosts }: AdmissionRequest,
  { fields: sent, warnings }: MediaBody<ImageFields>,
): TaskAdmission {
  const { model, warnings: ofName } = findMediaModel(offer, caller, sent.model, "image");
  const fields = { ...sent, model: model.id };
  const request = imageRequestOf(model, fields);
  checkLinks(request, allowedHosts);
  checkContext(model, request);
  return {
    model,
    request,
    warnings: [...ofName, ...warnings],
    ...quoteMedia(model, request, nowMs),
    timeoutSec: fields.timeout ?? IMAGE_TIMEOUT_SEC,
    awaited: fields.async !== true,
    base64: fields.response_format === "b64_json",
  };
}

/** The same for a request for a video, whose answer never waits. */
export function admitVideo(
  { offer, caller, nowMs, allowedHosts }: AdmissionRequest,
  { fields: sent, warnings }: MediaBody<VideoBody>,
): TaskAdmission {
  const { model, warnings: ofName } = findMediaModel(offer, caller, sent.model, "video");
  const fields = { ...sent, model: model.id };
  const taken = videoRequestOf(model, fields);
  checkLinks(taken.request, allowedHosts);
  return {
    model,
    request: taken.request,
    warnings: [...ofName, ...warnings, ...taken.warnings],
    ...quoteMedia(model, taken.request, nowMs),
    timeoutSec: fields.timeout ?? VIDEO_TIMEOUT_SEC,
    awaited: false,
    base64: false,
  };
}
