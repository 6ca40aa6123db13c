import type { GenerateContentResponse } from "@google/genai";
import { UPSTREAM_KEY } from "../gateway/gateway.ts";
import { strictGenerateContent } from "../upstream/strict-gemini.ts";

// What the tests of Google's SDK ask for, and what they are answered.

export const MODEL = "google/gemini-3.8-flash";
export const IMAGE_MODEL = "google/gemini-3-pro-image";
export const USAGE = { promptTokenCount: 11, candidatesTokenCount: 4, totalTokenCount: 15 };
/** 11 × 0.75 + 4 × 3.75 USD per million, in credits. */
export const CREDIT = 0.2325;
export const contents = "Say hello.";

/** Refuses what Gemini would. */
export const strict = strictGenerateContent({
  keys: [UPSTREAM_KEY],
  models: ["gemini-3.8-flash", "gemini-3-pro-image"],
});

/** All chunks of a stream. */
export async function all(
  stream: AsyncIterable<GenerateContentResponse>,
): Promise<GenerateContentResponse[]> {
  const chunks: GenerateContentResponse[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}
