import { creditsText, type MicroCredits } from "../core/credits.ts";
import { GatewayError } from "../core/errors.ts";
import type { HoldRefusal } from "../ledger/commands.ts";
import { keyFaultError } from "./auth-error.ts";

/** What could not be set aside for a request, where that is one amount, and what could be asked for instead. */
export interface RefusedHold {
  readonly amount: MicroCredits | undefined;
  readonly less: string;
}

/** The error of a request that credit could not be set aside for. */
export function holdRefusalError(refusal: HoldRefusal, { amount, less }: RefusedHold): GatewayError {
  const most = `the most this request can cost${amount === undefined ? "" : `, ${creditsText(amount)} credits`}`;
  switch (refusal) {
    case "insufficient_credits":
      return new GatewayError(
        "insufficient_credits",
        `The account has not enough free credit for ${most}. Add credit, or ask for ${less}.`,
      );
    case "budget_exceeded":
      return new GatewayError(
        "insufficient_credits",
        `The budget of this key has not enough left for ${most}. Raise it, or ask for ${less}.`,
      );
    case "key_not_live":
      return keyFaultError("ended");
  }
}
