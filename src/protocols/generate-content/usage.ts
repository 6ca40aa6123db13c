import { isJsonObject, type JsonObject } from "../../core/json/json-value.ts";
import { inputTokens, NO_USAGE, outputTokens, type TokenUsage, type Usage } from "../../core/money/usage.ts";
import type { Metered } from "../protocol.ts";
import { openUsageCounts } from "../usage-counts.ts";

const COUNTS = [
  "promptTokenCount",
  "candidatesTokenCount",
  "thoughtsTokenCount",
  "toolUsePromptTokenCount",
  "totalTokenCount",
] as const;

/**
 * Turns `usageMetadata` into disjoint buckets. The prompt includes what was cached; what tools read is beside it;
 * thinking is beside the candidates; details by modality are subsets. Counts that are absent are 0; ones that cannot
 * be are clamped, and flagged. `undefined` when it has no count at all.
 */
export function readUsage(value: unknown, webSearches = 0): Metered | undefined {
  if (!isJsonObject(value) || !COUNTS.some((name) => typeof value[name] === "number")) return undefined;
  const { flags, count, take } = openUsageCounts();
  const of = (name: string, modality: keyof typeof MODALITIES): number =>
    detailsOf(value[name])
      .filter((detail) => MODALITIES[modality].has(detail.modality))
      .reduce((sum, detail) => sum + count(detail.tokenCount), 0);

  const prompt = count(value.promptTokenCount);
  const toolUse = count(value.toolUsePromptTokenCount);
  const cacheRead = take(count(value.cachedContentTokenCount), prompt);
  const uncached = (modality: keyof typeof MODALITIES): number =>
    Math.max(0, of("promptTokensDetails", modality) - of("cacheTokensDetails", modality)) +
    of("toolUsePromptTokensDetails", modality);
  const input = prompt - cacheRead + toolUse;
  // Where cached parts are not told by modality, these can be more than what is left: no fault.
  const audioInput = Math.min(uncached("audio"), input);
  const imageInput = Math.min(uncached("image"), input - audioInput);

  const candidates = count(value.candidatesTokenCount);
  const reasoning = count(value.thoughtsTokenCount);
  const audioOutput = take(of("candidatesTokensDetails", "audio"), candidates);
  const imageOutput = take(of("candidatesTokensDetails", "image"), candidates - audioOutput);
  const total = count(value.totalTokenCount);
  const known = prompt + toolUse + candidates + reasoning;
  // Only the total counts it: output that was named nowhere.
  const unnamed = typeof value.totalTokenCount === "number" ? Math.max(0, total - known) : 0;
  if (unnamed > 0) flags.add("inferred");

  const usage: Usage = {
    ...NO_USAGE,
    input: input - audioInput - imageInput,
    cacheRead,
    audioInput,
    imageInput,
    output: candidates - audioOutput - imageOutput + unnamed,
    reasoning,
    audioOutput,
    imageOutput,
    ...(webSearches === 0 ? {} : { webSearches }),
  };
  return { usage, flags: [...flags] };
}

/** Modalities as words, and as the numbers that some servers write for them; video and documents are plain input. */
const MODALITIES = {
  image: new Set<unknown>(["IMAGE", 2]),
  audio: new Set<unknown>(["AUDIO", 4]),
} as const;

function detailsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Usage as it stands on the wire. */
export function encodeUsage(usage: TokenUsage): JsonObject {
  const prompt = inputTokens(usage);
  const { reasoning } = usage;
  const candidates = outputTokens(usage) - reasoning;
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: candidates,
    ...(usage.cacheRead === 0 ? {} : { cachedContentTokenCount: usage.cacheRead }),
    ...(reasoning === 0 ? {} : { thoughtsTokenCount: reasoning }),
    totalTokenCount: prompt + candidates + reasoning,
  };
}

/**
 * The searches that a candidate's grounding names, each once; an empty one was not made. One for images stands
 * apart from one for pages with the same words: https://ai.google.dev/gemini-api/docs/google-search
 */
export function searchesOf(groundingMetadata: unknown): readonly string[] {
  if (!isJsonObject(groundingMetadata)) return [];
  const { webSearchQueries, imageSearchQueries } = groundingMetadata;
  const queries = [
    ...wordsOf(webSearchQueries),
    ...wordsOf(imageSearchQueries).map((words) => `image: ${words}`),
  ];
  return [...new Set(queries)];
}

function wordsOf(queries: unknown): readonly string[] {
  if (!Array.isArray(queries)) return [];
  return queries.filter((query): query is string => typeof query === "string" && query !== "");
}
