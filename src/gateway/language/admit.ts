import { FORMATS } from "../../catalog/formats.ts";
import { MAX_MICRO_CREDITS, type MicroCredits } from "../../core/money/credits.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Modality, Model, ProtocolId } from "../../core/model.ts";
import { type PriceBucket, type PriceSnapshot, rulesFor } from "../../core/money/price.ts";
import { type PricePlan, pricePlan } from "../../core/money/price-plan.ts";
import type { Caller } from "../../core/caller.ts";
import type { ElasticOutput } from "../../ledger/commands.ts";
import type { Demand, RelayTarget } from "../../protocols/protocol.ts";
import type { Provider, SpokenProtocol } from "../../providers/provider.ts";
import { type SpokenWay, wayTo } from "../../providers/spoken.ts";
import { findModel, noLiveProvider } from "../find-model.ts";
import type { Offer } from "../offer.ts";
import { calledWays, type CalledWay, type CredentialWay } from "../routing/ways.ts";
import { inputReads, mostBeyond, mostInput } from "./admit-input.ts";
import { mediaTokens } from "../media-tokens.ts";

/** How a model is reached: by a route of it, with one of the provider's credentials. */
interface Way extends SpokenWay<SpokenProtocol>, CalledWay {
  readonly provider: Provider;
  readonly upstreamId: string;
}

/** Where a request goes: the model that its name means, and a way there. */
export interface Destination extends Way {
  readonly model: Model;
  readonly target: RelayTarget;
}

/** The model that a name means, and all ways there, as the model's routes are listed. */
export interface Destinations {
  readonly model: Model;
  /** What the client is told of the model's name, a sentence each. */
  readonly warnings: readonly string[];
  readonly ways: readonly Destination[];
}

/** A request that may be served: by which model, through which provider, for at most how much. */
export interface Admission extends Destination {
  readonly plan: PricePlan;
  readonly snapshot: PriceSnapshot;
  /** What is held in any case. */
  readonly amount: MicroCredits;
  readonly elastic: ElasticOutput | undefined;
  readonly choices: number;
  /** More output than this cannot have been asked for; absent when the hold decides it. */
  readonly mostOutput: number | undefined;
  /** Reasoning that may come on top of that, or of what the hold has room for. */
  readonly mostReasoning: MostReasoning;
  /** How often the provider may read the input for one answer: anew after each of its own searches. */
  readonly inputReads: number;
  /** Web searches that the provider was allowed. */
  readonly mostSearches: number;
  /** Input tokens that we would charge if upstream never told. */
  readonly expectedInput: number;
  /** See `Demand`. */
  readonly namesStored: boolean;
  readonly admittedAtMs: number;
}

/** Reasoning beyond a bound on output. */
interface MostReasoning {
  readonly tokens: number;
  /** Believed only as far as the provider counts it as reasoning: it does not say that its bound leaves it out. */
  readonly asCounted: boolean;
}

/** What a model is taken to put out at most when its data does not say. */
const DEFAULT_MAX_OUTPUT = 32_768;

/** A caller who sets no bound gets room for this much output, or a 402. */
const FLOOR_OUTPUT = 1_024;

/** Input that our guess puts this far above the context is refused without asking the provider. */
const SURELY_TOO_LONG = 1.5;

/** Finds the model that `name` means for the caller. Throws a 400 that says what is wrong with the name. */
export function findDestinations(
  offer: Offer,
  caller: Caller,
  protocol: ProtocolId,
  name: string,
): Destinations {
  const { model, warnings } = findModel(offer.catalog, caller, name, protocol);
  return { model, warnings, ways: waysTo(offer, model, protocol) };
}

/** The destinations of each offer that were asked for, by model and format: they are the same for all requests. */
const known = new WeakMap<Offer, Map<Model, Partial<Record<ProtocolId, readonly Destination[]>>>>();

/** All ways to the model for clients of the format. Throws a 400 when no provider is live. */
export function waysTo(offer: Offer, model: Model, protocol: ProtocolId): readonly Destination[] {
  const ofOffer = known.get(offer) ?? new Map<Model, Partial<Record<ProtocolId, readonly Destination[]>>>();
  known.set(offer, ofOffer);
  const ofModel = ofOffer.get(model) ?? {};
  ofOffer.set(model, ofModel);
  return (ofModel[protocol] ??= newDestinations(offer, model, protocol));
}

function newDestinations(
  { catalog, providers }: Offer,
  model: Model,
  protocol: ProtocolId,
): readonly Destination[] {
  const ways = model.routes.flatMap((route): readonly Destination[] => {
    const provider = providers.get(route.provider);
    const way = provider && wayTo(protocol, provider.protocols, route.protocols);
    if (provider === undefined || way === undefined) return [];
    const { upstreamId } = route;
    const target = targetOf(model, { spoken: way.spoken, upstreamId });
    const to = (called: CredentialWay): Destination => ({
      ...called,
      model,
      target,
      provider,
      upstreamId,
      protocol: way.protocol,
      spoken: called.credential?.protocols.find(({ id }) => id === way.spoken.id) ?? way.spoken,
    });
    return calledWays(model, route, provider).map(to);
  });
  if (ways.length === 0) throw noLiveProvider(catalog, model.id, protocol);
  return ways;
}

/**
 * Decides whether a request of that demand is served there, and the most it can cost. Throws a 400 that says what is
 * wrong with what is asked of the model; never asks anything outside the process. Where the model has ways of
 * `hasOtherFormats`, the amount has room for the request in their words.
 */
export function admit(
  destination: Destination,
  protocol: ProtocolId,
  demand: Demand,
  nowMs: number,
  hasOtherFormats = false,
): Admission {
  const { model, spoken, target, provider, upstreamId, key, route, bounds, failsAsAsked } = destination;
  checkInputs(model, demand, protocol);
  checkOutputs(model, demand, protocol);
  const media = mediaTokens(model, demand);
  checkContext(model, demand.textTokens.expected, protocol);
  const plan = pricePlan(model, nowMs);
  const { amount, elastic } = quote(model, demand, plan, {
    mediaCeiling: media.ceiling,
    hasOtherFormats,
  });
  // Written out, not spread: this is made for each request.
  return {
    model,
    key,
    route,
    bounds,
    failsAsAsked,
    target,
    provider,
    spoken,
    protocol: destination.protocol,
    upstreamId,
    plan,
    snapshot: plan.snapshot,
    amount,
    elastic,
    choices: demand.choices,
    mostOutput: demand.maxOutputTokens === undefined ? undefined : demand.maxOutputTokens * demand.choices,
    mostReasoning: mostReasoning(model, spoken, demand),
    inputReads: inputReads(demand),
    mostSearches: demand.webSearches,
    expectedInput: demand.textTokens.expected + media.expected,
    namesStored: demand.namesStored === true,
    admittedAtMs: nowMs,
  };
}

/** Where a request for the model goes. */
export function targetOf(
  model: Model,
  {
    spoken: { dialect },
    upstreamId,
  }: { readonly spoken: Pick<SpokenProtocol, "dialect">; readonly upstreamId: string },
): RelayTarget {
  return {
    model,
    upstreamId,
    unknownFields: dialect.unknownFields,
    native: dialect.kind === "native",
    streamUsageOption: dialect.streamUsageOption,
    ...(dialect.chat === undefined ? {} : { chat: dialect.chat }),
    ...(dialect.compacts === undefined ? {} : { compacts: dialect.compacts }),
    ...(dialect.functionsOnly === undefined ? {} : { functionsOnly: dialect.functionsOnly }),
  };
}

/** Refuses kinds of input that the model does not take. */
export function checkInputs(model: Model, demand: Demand, protocol: ProtocolId): void {
  for (const kind of Object.keys(demand.media) as Modality[]) {
    if (model.inputModalities.includes(kind)) continue;
    throw new GatewayError(
      "invalid_request_error",
      `${model.id} takes ${model.inputModalities.join(", ")} as input, not ${kind}.`,
      { param: FORMATS[protocol].inputField },
    );
  }
}

function checkOutputs(model: Model, demand: Demand, protocol: ProtocolId): void {
  for (const kind of demand.outputModalities ?? []) {
    if (model.outputModalities.includes(kind)) continue;
    throw new GatewayError(
      "invalid_request_error",
      `${model.id} puts out ${model.outputModalities.join(", ")}, not ${kind}.`,
      {
        param: FORMATS[protocol].outputField,
      },
    );
  }
  for (const bucket of demand.buckets) {
    if (rulesFor(model.prices, bucket) !== undefined) continue;
    throw new GatewayError(
      "invalid_request_error",
      `${model.id} has no price for ${bucket.replaceAll("_", " ")}, so it cannot be used.`,
    );
  }
}

function checkContext(model: Model, expected: number, protocol: ProtocolId): void {
  if (model.totalContext === null || expected <= model.totalContext * SURELY_TOO_LONG) return;
  throw new GatewayError(
    "input_too_large",
    `The input is about ${expected} tokens long; ${model.id} takes ${model.totalContext}.`,
    { param: FORMATS[protocol].inputField },
  );
}

/** The most that the request can cost. */
function quote(
  model: Model,
  demand: Demand,
  plan: PricePlan,
  { mediaCeiling, hasOtherFormats }: { readonly mediaCeiling: number; readonly hasOtherFormats: boolean },
): Pick<Admission, "amount" | "elastic"> {
  const sent = mostInput(model, demand, mediaCeiling);
  const input = hasOtherFormats ? sent + mostBeyond(sent) : sent;
  const inputCost =
    BigInt(input) * plan.dearest(inputBuckets(demand), input) +
    (demand.webSearches === 0 ? 0n : BigInt(demand.webSearches) * plan.dearest(["web_search"], input));
  const perToken = plan.dearest(outputBuckets(model, demand), input) * BigInt(demand.choices);
  const most = mostOutput(model);
  // A model without a known maximum is asked for what the caller said: all of that is held.
  const bound = Math.min(demand.maxOutputTokens ?? 0, model.maxOutput ?? Infinity);
  const amount = atMost(inputCost + BigInt(bound) * perToken);
  // What nothing bounds goes by the balance: output without a bound, and reasoning that is on top of one.
  const open = (demand.maxOutputTokens === undefined ? most : 0) + Math.min(demand.reasoningOnTop ?? 0, most);
  const maxTokens = Math.max(0, Math.min(open, Math.max(most, model.totalContext ?? Infinity) - bound));
  if (maxTokens === 0) return { amount, elastic: undefined };
  const floorTokens = Math.min(FLOOR_OUTPUT, maxTokens);
  return { amount, elastic: { tokenPrice: perToken, maxTokens, floorTokens } };
}

const PLAIN_INPUTS: readonly PriceBucket[] = ["input", "cache_write_5m", "image_input"];
const PLAIN_OUTPUTS: readonly PriceBucket[] = ["output", "reasoning"];

/** What the input may be charged as. */
function inputBuckets({ buckets, media }: Demand): readonly PriceBucket[] {
  if (buckets.length === 0 && media.video === undefined) return PLAIN_INPUTS;
  // A video may have audio, and its tokens are counted as such.
  const audio = buckets.includes("audio_input") || media.video !== undefined;
  return [
    ...PLAIN_INPUTS,
    ...(audio ? (["audio_input"] as const) : []),
    ...buckets.filter((bucket) => bucket === "cache_write_1h"),
  ];
}

/** What the output may be charged as: any kind of the model's that has a price of its own, where it is left to it. */
function outputBuckets(model: Model, { buckets, outputModalities }: Demand): readonly PriceBucket[] {
  const kinds = outputModalities ?? model.outputModalities;
  const dear = DEAR_OUTPUTS.filter(([kind, bucket]) => kinds.includes(kind) || buckets.includes(bucket));
  return dear.length === 0 ? PLAIN_OUTPUTS : [...PLAIN_OUTPUTS, ...dear.map(([, bucket]) => bucket)];
}

const DEAR_OUTPUTS = [
  ["audio", "audio_output"],
  ["image", "image_output"],
] as const;

/** The most that a model puts out for one choice. */
export function mostOutput(model: Model): number {
  return model.maxOutput ?? DEFAULT_MAX_OUTPUT;
}

/**
 * A vendor that is only compatible may leave reasoning out of the bound on output. Its dialect says so, or else its
 * counts do. A native one never leaves it out.
 */
function mostReasoning(model: Model, { dialect }: SpokenProtocol, demand: Demand): MostReasoning {
  const most = mostOutput(model) * demand.choices;
  if (demand.reasoningOnTop !== undefined)
    return { tokens: Math.min(demand.reasoningOnTop * demand.choices, most), asCounted: false };
  return { tokens: dialect.kind === "native" ? 0 : most, asCounted: true };
}

/** No balance is larger, so a hold of this much is refused by the balance like any that is too large. */
function atMost(amount: MicroCredits): MicroCredits {
  return amount > MAX_MICRO_CREDITS ? MAX_MICRO_CREDITS : amount;
}
