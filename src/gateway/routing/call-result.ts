import type { CallEnd } from "./breaker.ts";

/** How a call ended, for the account of whom. */
export type CallResult =
  | GoodCall
  /** It says nothing of the way: the client left, or sent what cannot be served. */
  | { readonly kind: "neutral" }
  /** There was no call: the request could not go that way after all. */
  | { readonly kind: "not_made" }
  | FailedCall;

export interface GoodCall {
  readonly kind: "ok";
  /** Until the first content of a stream, or until a plain answer was whole. */
  readonly tookMs?: number;
  readonly isPlain?: boolean;
}

export interface FailedCall {
  readonly kind: "failed";
  readonly blame: "credential" | "route";
  /** A word of a short list, for the operator. */
  readonly reason: string;
  readonly status?: number;
  /** The pause that the provider asked for, as far as it is heeded. */
  readonly retryAfterMs?: number;
  /** The credential is not accepted. */
  readonly opens?: true;
  /** An earlier call for the same request has failed by the credential. */
  readonly isRepeated?: true;
  /** The provider limits the rate of a model, or does not serve it by this credential: no failure, but a pause is due. */
  readonly cools?: true;
}

/** What a call's end says of its credential. */
export function endOf(result: CallResult): CallEnd {
  if (result.kind === "not_made") return "neutral";
  if (result.kind !== "failed") return result.kind;
  if (result.blame === "route" || result.cools === true) return "neutral";
  if (result.opens === true) return "refused";
  return result.isRepeated === true ? "failed_again" : "failed";
}
