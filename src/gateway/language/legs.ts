import { GatewayError } from "../../core/errors.ts";
import type { MicroCredits } from "../../core/money/credits.ts";
import type { Hold } from "../../core/money/hold.ts";
import type { ElasticOutput } from "../../ledger/commands.ts";
import type { Admission, Destination } from "./admit.ts";

/** A model that may serve a request: the ways to it in the order to try them, and its terms by the first. */
export interface Leg {
  readonly ways: readonly Destination[];
  readonly admission: Admission;
  /** It serves in place of the model that was asked for. */
  readonly isFallback: boolean;
  /** What the client is told where this model serves: the names that were left out, and of its own; a sentence each. */
  readonly warnings: readonly string[];
}

/** What is held for a request. */
export interface Quote {
  readonly amount: MicroCredits;
  readonly elastic: ElasticOutput | undefined;
}

/**
 * Credit that covers the request whichever of the models serves it. It is the most that one of them needs, and elastic
 * up to the most that one of them can use. Which of it is output is another part for each.
 */
export function dearestQuote(legs: readonly [Leg, ...Leg[]]): Quote {
  return legs.length === 1 ? legs[0].admission : quoteForAll(legs);
}

/** Apart, since nearly every request has one leg, and the closures here would take memory at each call. */
function quoteForAll(legs: readonly Leg[]): Quote {
  const most = (of: (quote: Quote) => bigint): bigint =>
    legs.map(({ admission }) => of(admission)).reduce((a, b) => (a > b ? a : b));
  const amount = most((each) => withOutput(each, each.elastic?.floorTokens));
  const tokenPrice = most(({ elastic }) => elastic?.tokenPrice ?? 0n);
  const more = most((each) => withOutput(each, each.elastic?.maxTokens)) - amount;
  if (more === 0n) return { amount, elastic: undefined };
  const maxTokens = Number((more + tokenPrice - 1n) / tokenPrice);
  return { amount, elastic: { tokenPrice, maxTokens, floorTokens: 0 } };
}

function withOutput({ amount, elastic }: Quote, tokens = 0): MicroCredits {
  return amount + BigInt(tokens) * (elastic?.tokenPrice ?? 0n);
}

/** Room in a hold for a way that it may not have been made for. */
export interface Room {
  /** Output tokens for each choice; absent: as many as were asked for. */
  readonly outputTokens: number | undefined;
}

/** The room that `hold` has by these terms; `undefined` where it does not cover them. */
export function roomIn(hold: Hold, { amount, elastic }: Quote): Room | undefined {
  if (amount > hold.amount) return undefined;
  if (elastic === undefined) return { outputTokens: undefined };
  const { tokenPrice, maxTokens, floorTokens } = elastic;
  const paid = tokenPrice === 0n ? maxTokens : Number((hold.amount - amount) / tokenPrice);
  return paid < floorTokens ? undefined : { outputTokens: Math.min(paid, maxTokens) };
}

/** Whether another model may serve where this one's refusal was `error`: it says what is wrong for this model alone. */
export function isOfModelAlone(error: unknown): error is GatewayError {
  return error instanceof GatewayError && error.status === 400;
}
