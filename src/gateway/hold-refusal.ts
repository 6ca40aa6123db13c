import { creditsText, type MicroCredits } from "../core/money/credits.ts";
import { GatewayError } from "../core/errors.ts";
import type { HoldRefusal } from "../ledger/commands.ts";
import { keyFaultError } from "./auth-error.ts";

/** The amount that could not be held, where there is one, and the smaller request that could be made instead. */
export interface RefusedHold {
  readonly amount: MicroCredits | undefined;
  readonly less: string;
}

/** The error for a request whose hold was refused. */
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
