/** What a tool can add to the price of a request. */
export interface ToolRule {
  /** Input that the provider's side may read for it, at most, beside what the request holds. */
  readonly adds: number;
  /** It is charged by the search. */
  readonly searches?: true;
}

/** More than any context: admission holds for all that the model takes. */
export const WHOLE_CONTEXT = 100_000_000;

/** The tools that are known; recorded additions are 60 to 130 tokens (search, code), 770 (files), 4,600 (addresses). */
export const TOOLS: Readonly<Record<string, ToolRule>> = {
  functionDeclarations: { adds: 0 },
  computerUse: { adds: 0 },
  googleSearch: { adds: 0, searches: true },
  googleSearchRetrieval: { adds: 0, searches: true },
  codeExecution: { adds: 100_000 },
  fileSearch: { adds: 100_000 },
  // Up to twenty addresses of 34 MB each.
  urlContext: { adds: WHOLE_CONTEXT },
};
