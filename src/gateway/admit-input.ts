import type { Model } from "../core/model.ts";
import type { Demand } from "../protocols/protocol.ts";

/** Input that the results of one web search, or a fetched page, come to at most. */
const TOKENS_PER_LOOKUP = 20_000;

/** How often the provider may read the input for one answer: anew after each search and each page of its own. */
export function inputReads(demand: Demand): number {
  return demand.webSearches + (demand.webFetches ?? 0) + 1;
}

/**
 * The most input that is charged for. At each reading everything is read that came before, what was found included,
 * and all readings are billed: recorded answers with ten searches have 400,000 tokens of it.
 */
export function mostInput(model: Model, demand: Demand, mediaCeiling: number): number {
  const reads = inputReads(demand);
  const sent = (demand.textTokens.ceiling + mediaCeiling) * reads;
  const found = (TOKENS_PER_LOOKUP * (reads - 1) * reads) / 2;
  return Math.min(sent + found, (model.totalContext ?? Infinity) * reads);
}
