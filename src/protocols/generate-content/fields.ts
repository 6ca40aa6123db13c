import { createFieldTable } from "../rewrite.ts";
import { fieldName } from "./spelling.ts";

const free = { rule: "free" } as const;

/** What other interfaces call the fields of generationConfig, by the field. */
const CONFIG_NAMES = {
  maxOutputTokens: "max_tokens max_completion_tokens max_new_tokens max_tokens_to_sample max_length",
  stopSequences: "stop stop_words",
  candidateCount: "n num_choices num_generations",
  responseJsonSchema: "json_schema output_format",
  responseModalities: "modalities",
  "thinkingConfig.thinkingBudget": "thinking_budget budget_tokens",
  "thinkingConfig.thinkingLevel": "thinking_level reasoning_effort",
  "thinkingConfig.includeThoughts": "include_thoughts",
  thinkingConfig: "thinking reasoning",
  "imageConfig.aspectRatio": "aspect_ratio",
  "imageConfig.imageSize": "image_size",
};

/**
 * Source: GenerationConfig of https://ai.google.dev/api/generate-content as of @google/genai 3.1. What would choose another
 * model (`routingConfig`) is not among them.
 */
export const CONFIG_FIELDS = createFieldTable({
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
  otherNames: {
    ...CONFIG_NAMES,
    "systemInstruction, beside generationConfig": "system_instruction",
    "tools, beside generationConfig": "tools",
    "toolConfig, beside generationConfig": "tool_config",
    "safetySettings, beside generationConfig": "safety_settings",
    "cachedContent, beside generationConfig": "cached_content",
  },
});

/** Source: GenerateContentRequest of the same. */
export const REQUEST_FIELDS = createFieldTable({
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
  otherNames: {
    ...namesWithinConfig(),
    contents: "messages prompt input history conversation",
    systemInstruction: "system system_prompt instructions preamble",
    generationConfig: "config options parameters",
    tools: "functions function_declarations",
    toolConfig: "tool_choice function_call",
  },
});

/**
 * Of a request that is to be counted, as `generateContentRequest` of https://ai.google.dev/api/tokens has it. What
 * `serviceTier` changes is the price of an answer.
 */
export const COUNT_FIELDS = createFieldTable({
  format: "counting tokens",
  canonical: fieldName,
  fields: {
    model: free,
    contents: free,
    systemInstruction: free,
    generationConfig: free,
    tools: free,
    toolConfig: free,
    safetySettings: free,
    cachedContent: free,
  },
});

/** The fields of generationConfig, which stand beside it where a client took them for fields of the request. */
function namesWithinConfig(): Readonly<Record<string, string>> {
  const { responseFormat: _priced, ...own } = CONFIG_FIELDS.fields;
  const names: Record<string, string> = { ...CONFIG_NAMES, responseMimeType: "response_format" };
  for (const field of Object.keys(own)) names[field] = `${field} ${names[field] ?? ""}`;
  return Object.fromEntries(
    Object.entries(names).map(([field, others]) => [`generationConfig.${field}`, others]),
  );
}

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
