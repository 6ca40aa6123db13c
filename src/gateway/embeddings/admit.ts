import { givesDimensions } from "../../catalog/embedding-facts.ts";
import { GatewayError } from "../../core/errors.ts";
import type { EmbeddingFacts, Model } from "../../core/model.ts";
import type { MicroCredits } from "../../core/money/credits.ts";
import { pricePlan } from "../../core/money/price-plan.ts";
import type { PriceSnapshot } from "../../core/money/price.ts";
import type { EmbeddingFormat } from "../../protocols/embeddings/format.ts";
import { EMBEDDING_FORMATS } from "../../protocols/embeddings/index.ts";
import type { EmbeddingRequest, TextTokens } from "../../protocols/embeddings/request.ts";
import { wrong } from "../../protocols/request-json.ts";
import type { Provider, SpokenEmbeddings } from "../../providers/provider.ts";
import { noLiveProvider } from "../find-model.ts";
import type { CallAdmission } from "../language/prepared-call.ts";
import type { Offer } from "../offer.ts";
import { calledWays, type CalledWay, type CredentialWay } from "../routing/ways.ts";

/** A request for embeddings that may be served: by which model, through which provider, for at most how much. */
export interface EmbeddingAdmission extends CallAdmission<EmbeddingFormat> {
  readonly spoken: SpokenEmbeddings;
  readonly facts: EmbeddingFacts;
  readonly snapshot: PriceSnapshot;
  /** What is held. */
  readonly amount: MicroCredits;
}

/** A way to an embedding model. */
export interface EmbeddingWay extends CalledWay {
  readonly provider: Provider;
  readonly spoken: SpokenEmbeddings;
  readonly upstreamId: string;
}

/** Text that our guess puts this far above a bound is refused without asking the provider; tokens are counted. */
const SURELY_TOO_LONG = 1.5;

/** Bytes of a number as most providers write it. */
const NUMBER_BYTES = 16;

/** Beyond this an answer would be too large to be read. */
const MOST_ANSWER_BYTES = 60 * 1024 * 1024;

/**
 * Decides whether a request is served this way, and the most it can cost. Throws a 400 that names the field, or the text,
 * at fault; asks nothing outside the process.
 */
export function admitEmbeddings(
  model: Model,
  way: EmbeddingWay,
  request: EmbeddingRequest,
  nowMs: number,
): EmbeddingAdmission {
  const { embedding: facts } = model;
  if (facts === undefined) throw new Error(`${model.id} has no facts of an embedding model.`);
  const { spoken } = way;
  checkTexts(model, facts, spoken, request);
  checkDimensions(model, facts, request);
  const { sizes } = request;
  const each = model.totalContext ?? Infinity;
  const expectedInput = sum(sizes, ({ expected }) => Math.min(expected, each));
  const ceiling = sum(sizes, ({ ceiling: most }) => Math.min(most, each));
  const plan = pricePlan(model, nowMs);
  return {
    ...way,
    model,
    facts,
    protocol: EMBEDDING_FORMATS[spoken.dialect.form],
    plan,
    snapshot: plan.snapshot,
    amount: BigInt(ceiling) * plan.dearest(["input"], ceiling),
    choices: 1,
    mostOutput: 0,
    mostReasoning: { tokens: 0, asCounted: false },
    inputReads: sizes.length,
    mostSearches: 0,
    expectedInput,
    namesStored: false,
    admittedAtMs: nowMs,
  };
}

/** The ways to an embedding model, as its routes are listed. Throws a 400 when no provider is live. */
export function embeddingWays({ catalog, providers }: Offer, model: Model): readonly EmbeddingWay[] {
  const ways = model.routes.flatMap((route): readonly EmbeddingWay[] => {
    const provider = providers.get(route.provider);
    const own = provider?.embeddings;
    if (provider === undefined || own === undefined) return [];
    const { upstreamId } = route;
    const to = (called: CredentialWay): EmbeddingWay => ({
      ...called,
      provider,
      spoken: called.credential?.embeddings ?? own,
      upstreamId,
    });
    return calledWays(model, route, provider).map(to);
  });
  if (ways.length === 0) throw noLiveProvider(catalog, model.id, "embedding");
  return ways;
}

function checkTexts(
  { id, totalContext }: Model,
  { readsTokens, mostTexts, mostTokens }: EmbeddingFacts,
  { dialect }: SpokenEmbeddings,
  { texts, sizes, isOne }: EmbeddingRequest,
): void {
  const takesTokens = readsTokens && dialect.kind === "native";
  if (!takesTokens && typeof texts[0] !== "string")
    throw wrong(
      "input",
      `must be text: ${id} does not read OpenAI's tokens here (LangChain sends text with check_embedding_ctx_length=False)`,
    );
  if (texts.length > mostTexts) throw wrong("input", `must have at most ${mostTexts} texts for ${id}`);
  sizes.forEach((size, i) => {
    if (totalContext !== null && isSurelyOver(size.expected, totalContext, texts[i]))
      throw tooLong(isOne ? "input" : `input[${i}]`, id, size.expected, totalContext);
  });
  const all = sum(sizes, ({ expected }) => expected);
  if (mostTokens !== undefined && isSurelyOver(all, mostTokens, texts[0]))
    throw tooLong("input", id, all, mostTokens);
}

function isSurelyOver(tokens: number, most: number, text: unknown): boolean {
  return tokens > (typeof text === "string" ? most * SURELY_TOO_LONG : most);
}

function tooLong(param: string, id: string, tokens: number, most: number): GatewayError {
  const message = `${param} is about ${tokens} tokens long; ${id} takes ${most}.`;
  return new GatewayError("input_too_large", message, { param });
}

function checkDimensions(
  { id }: Model,
  facts: EmbeddingFacts,
  { texts, dimensions, encodingFormat }: EmbeddingRequest,
): void {
  if (dimensions !== undefined && !givesDimensions(facts, dimensions))
    throw wrong("dimensions", `must be ${dimensionWords(facts)} for ${id}`);
  const bytes = texts.length * (dimensions ?? facts.dimensions) * NUMBER_BYTES;
  if (encodingFormat !== "base64" && bytes > MOST_ANSWER_BYTES)
    throw wrong("input", "has too many texts for an answer in numbers: send fewer, or ask for base64");
}

function dimensionWords({ dimensions, otherDimensions: others }: EmbeddingFacts): string {
  if (others === undefined) return `left out or ${dimensions}`;
  if ("from" in others) return `from ${others.from} to ${others.to}`;
  return `one of ${[...new Set([...others, dimensions])].sort((a, b) => a - b).join(", ")}`;
}

function sum(sizes: readonly TextTokens[], of: (size: TextTokens) => number): number {
  return sizes.reduce((total, size) => total + of(size), 0);
}
