import type { Caller } from "../core/caller.ts";
import type { MicroCredits } from "../core/credits.ts";
import { GatewayError } from "../core/errors.ts";
import type { MediaRequest } from "../core/media.ts";
import type { Model } from "../core/model.ts";
import type { PriceSnapshot } from "../core/price.ts";
import type { Offer } from "./admit.ts";

/** A request for pictures or films that may be served. */
export interface TaskAdmission {
  readonly model: Model;
  readonly request: MediaRequest;
  readonly warnings: readonly string[];
  readonly snapshot: PriceSnapshot;
  readonly amount: MicroCredits;
  readonly expectedCost: MicroCredits;
  readonly timeoutSec: number;
}

export interface ImageAdmission extends TaskAdmission {
  readonly async: boolean;
  readonly base64: boolean;
}

/** Not there yet. */
export function admitImage(
  _offer: Offer,
  _caller: Caller,
  _body: Uint8Array,
  _nowMs: number,
): ImageAdmission {
  throw new GatewayError("invalid_request_error", "No model makes pictures here yet.", { param: "model" });
}

/** Not there yet. */
export function admitVideo(_offer: Offer, _caller: Caller, _body: Uint8Array, _nowMs: number): TaskAdmission {
  throw new GatewayError("invalid_request_error", "No model makes films here yet.", { param: "model" });
}
