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
    responseFormat: free,
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

/** What the gateway makes of a tool, by its name: charged by the search, or input and output like any. */
export const TOOLS: Readonly<Record<string, "call" | "search" | "input">> = {
  functionDeclarations: "call",
  computerUse: "call",
  googleSearch: "search",
  googleSearchRetrieval: "search",
  // What these read on the provider's side comes on top of the prompt.
  codeExecution: "input",
  urlContext: "input",
  fileSearch: "input",
};
