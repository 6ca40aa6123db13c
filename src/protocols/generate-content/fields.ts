import type { FieldTable } from "../rewrite.ts";
import { fieldName } from "./spelling.ts";

const free = { rule: "free" } as const;

/** Source: GenerateContentRequest of https://ai.google.dev/api/generate-content as of @google/genai 3.1. */
export const REQUEST_FIELDS: FieldTable = {
  format: "generateContent",
  canonical: fieldName,
  fields: {
    contents: free,
    systemInstruction: free,
    generationConfig: free,
    tools: free,
    toolConfig: free,
    safetySettings: free,
    // Its tokens are input that the body does not show; they are held for.
    cachedContent: free,
    labels: free,
    store: free,
    serviceTier: { rule: "priced", freeValues: [null, "standard", "unspecified", "STANDARD", "UNSPECIFIED"] },
  },
};

/** Source: GenerationConfig of the same. What would choose another model (`routingConfig`) is not among them. */
export const CONFIG_FIELDS: FieldTable = {
  format: "generateContent",
  within: "generationConfig",
  canonical: fieldName,
  fields: {
    temperature: free,
    topP: free,
    topK: free,
    candidateCount: free,
    maxOutputTokens: free,
    stopSequences: free,
    presencePenalty: free,
    frequencyPenalty: free,
    seed: free,
    responseMimeType: free,
    responseSchema: free,
    responseJsonSchema: free,
    // It can ask for images, audio and videos beside what responseModalities says.
    responseFormat: { rule: "priced", freeValues: [null] },
    responseModalities: free,
    responseLogprobs: free,
    logprobs: free,
    // What it asks for is output, and output has its bound.
    imageConfig: free,
    speechConfig: free,
    mediaResolution: free,
    thinkingConfig: free,
    audioTimestamp: free,
    enableEnhancedCivicAnswers: free,
    enableAffectiveDialog: free,
    continuationToken: free,
  },
};

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
