import type { MicroCredits } from "../../../core/money/credits.ts";
import type { MediaRequest } from "../../../core/media/media.ts";
import { operatorCost } from "../../../core/money/operator-cost.ts";
import {
  costOf,
  foldUnpriced,
  type Prices,
  type PriceSnapshot,
  ratesAt,
  rulesFor,
} from "../../../core/money/price.ts";
import type { TaskUsage } from "../../../core/task.ts";
import {
  inputTokens,
  NO_USAGE,
  outputTokens,
  type TokenUsage,
  type Usage,
  type UsageFlag,
} from "../../../core/money/usage.ts";
import { openUsageCounts } from "../../../protocols/usage-counts.ts";
import type { MediaModel } from "../admit/model.ts";
import { mostSecondsOf, usageOfOutputs } from "../admit/quote.ts";

/** A delivery, and what is known of its count. */
export interface Delivery {
  readonly model: MediaModel;
  readonly request: MediaRequest;
  readonly snapshot: PriceSnapshot;
  /** The hold: the most that was agreed to. */
  readonly most: MicroCredits;
  /** The provider's own count; may be anything. */
  readonly reported: Usage | undefined;
  /** Outputs that the provider gave. */
  readonly given: number;
  /** How many of them the client gets; at least one. */
  readonly kept: number;
}

/** The charge of a delivery. */
export interface MediaCharge {
  readonly usage: Usage;
  readonly used: MicroCredits;
  /** What each token or unit of it costs: see `Charge`. */
  readonly rates: readonly number[];
  readonly flags: readonly UsageFlag[];
  /** Tokens to show the client; where the model is sold by them. */
  readonly told?: TaskUsage;
}

/** A provider's own count above the hold by more than this is taken for a fault. */
const SLACK = { times: 5n, of: 4n };

/**
 * The charge of a delivery. Images are charged by their number. Videos are charged by the seconds that the provider
 * bills, else by those that were asked for. Tokens are charged as the provider counted them, else by our estimate. An
 * impossible count is lowered to the hold, and flagged.
 */
export function chargeFor(delivery: Delivery): MediaCharge {
  const { request, snapshot, most, kept } = delivery;
  const flags = new Set<UsageFlag>();
  const byTokens = isSoldByTokens(snapshot, request.kind);
  const counted: Usage = {
    ...(byTokens ? tokensOf(delivery, flags) : NO_USAGE),
    ...(request.kind === "image" ? { images: kept } : { seconds: secondsOf(delivery, flags) }),
  };
  const usage = foldUnpriced(counted, snapshot.prices);
  const cost = costOf(usage, snapshot);
  if (cost * SLACK.of > most * SLACK.times) flags.add("clamped");
  return {
    usage,
    rates: ratesAt(snapshot, inputTokens(usage)),
    used: flags.has("clamped") && cost > most ? most : cost,
    flags: [...flags],
    ...(byTokens ? { told: { inputTokens: inputTokens(usage), outputTokens: outputTokens(usage) } } : {}),
  };
}

/**
 * What the operator owes the provider for a delivery, by the cost of its route. It is for all that was given, whatever
 * of it the client gets. `undefined` where that is not known.
 */
export function owedFor(delivery: Delivery, cost: Prices | undefined): MicroCredits | undefined {
  if (cost === undefined) return undefined;
  const { request, snapshot, given } = delivery;
  const all = { ...delivery, kept: given };
  const flags = new Set<UsageFlag>();
  const usage: Usage = {
    ...tokensOf(all, flags),
    ...(request.kind === "image" ? { images: given } : { seconds: secondsOf(all, flags) }),
  };
  // Nothing says how many tokens it was.
  if (outputTokens(usage) === 0 && isSoldByTokens({ prices: cost }, request.kind)) return undefined;
  return operatorCost(cost, usage, snapshot);
}

function isSoldByTokens({ prices }: Pick<PriceSnapshot, "prices">, kind: MediaRequest["kind"]): boolean {
  return rulesFor(prices, kind === "image" ? "image" : "second") === undefined;
}

/** Whole seconds of all delivered videos. */
function secondsOf(delivery: Delivery, flags: Set<UsageFlag>): number {
  const { reported, given, kept } = delivery;
  const { asked, most } = secondsAsked(delivery);
  const told = reported?.seconds;
  if (told === undefined) return asked;
  if (!Number.isFinite(told) || told <= 0) {
    flags.add("clamped");
    return asked;
  }
  const billed = Math.ceil(share(told, kept, given));
  if (billed > most) flags.add("clamped");
  return Math.min(billed, most);
}

/** Seconds of video that were asked for, with those of given videos that may be billed. */
function secondsAsked({ model, request, kept }: Delivery): { readonly asked: number; readonly most: number } {
  if (request.kind === "image") return { asked: 0, most: 0 };
  return { asked: request.durationSec * kept, most: mostSecondsOf(model, request) * kept };
}

function tokensOf(delivery: Delivery, flags: Set<UsageFlag>): TokenUsage {
  const { model, request, reported, given, kept } = delivery;
  const counts = openUsageCounts();
  const told = reported === undefined ? NO_USAGE : mapTokens(reported, (count) => counts.count(count));
  for (const flag of counts.flags) flags.add(flag);
  if (outputTokens(told) === 0) {
    flags.add("estimated");
    return usageOfOutputs(model, request, kept);
  }
  if (kept >= given) return told;
  // The provider also counted outputs that the client does not get.
  flags.add("partial");
  return mapTokens(told, (count, isInput) => (isInput ? count : Math.ceil(share(count, kept, given))));
}

function share(count: number, kept: number, given: number): number {
  return (count * Math.min(kept, given)) / given;
}

const INPUTS: ReadonlySet<string> = new Set([
  "input",
  "cacheRead",
  "cacheWrite5m",
  "cacheWrite1h",
  "imageInput",
  "audioInput",
] satisfies (keyof TokenUsage)[]);

function mapTokens(usage: TokenUsage, change: (count: number, isInput: boolean) => number): TokenUsage {
  const at = (bucket: keyof TokenUsage): number => change(usage[bucket], INPUTS.has(bucket));
  return {
    input: at("input"),
    cacheRead: at("cacheRead"),
    cacheWrite5m: at("cacheWrite5m"),
    cacheWrite1h: at("cacheWrite1h"),
    imageInput: at("imageInput"),
    audioInput: at("audioInput"),
    output: at("output"),
    reasoning: at("reasoning"),
    imageOutput: at("imageOutput"),
    audioOutput: at("audioOutput"),
  };
}
