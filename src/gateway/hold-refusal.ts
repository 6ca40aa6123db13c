import { GatewayError } from "../core/errors.ts";
import type { HoldRefusal } from "../ledger/commands.ts";

/** The error of a request that credit could not be set aside for; `less` is what could be asked for instead. */
export function holdRefusalError(refusal: HoldRefusal, less: string): GatewayError {
  switch (refusal) {
    case "insufficient_credits":
      return new GatewayError(
        "insufficient_credits",
        `The account has not enough free credit for the most this request can cost. Add credit, or ask for ${less}.`,
      );
    case "budget_exceeded":
      return new GatewayError(
        "insufficient_credits",
        `The budget of this key has not enough left for the most this request can cost. Raise it, or ask for ${less}.`,
      );
    case "key_not_live":
      return new GatewayError("auth_error", "The API key is missing or not valid.");
  }
}
