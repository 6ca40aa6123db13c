import type { Model } from "../../core/model.ts";
import type { Demand } from "../../protocols/protocol.ts";

/** Input that the results of one web search come to at most. */
const TOKENS_PER_LOOKUP = 20_000;

/** How often the provider may read the input for one answer, each time with what it has found by then. */
export function inputReads(demand: Demand): number {
  return (demand.rereads ?? 0) + 1;
}

/**
 * Input that the same request may come to beyond `input` in another format, where its tools and its schema have other
 * words around them. Measured were 53 requests of agents and libraries, each in four formats. The most was 1,007 tokens
 * for a short one and a twenty-ninth for a long one.
 */
export function mostBeyond(input: number): number {
  return 1_024 + Math.ceil(input / 32);
}

/**
 * The most input that is charged for. At each reading the model reads everything that came before, what was found
 * included, and all readings are billed. Recorded answers with ten searches have 400,000 tokens of it.
 */
export function mostInput(model: Model, demand: Demand, mediaCeiling: number): number {
  const reads = inputReads(demand);
  const sent = (demand.textTokens.ceiling + mediaCeiling) * reads;
  const perLookup = Math.max(TOKENS_PER_LOOKUP, demand.pageTokens ?? 0);
  const found = (perLookup * (reads - 1) * reads) / 2;
  // Any number of searches may be asked for; what is too much for a balance need not be counted out.
  return Math.min(sent + found, (model.totalContext ?? Infinity) * reads, Number.MAX_SAFE_INTEGER);
}
