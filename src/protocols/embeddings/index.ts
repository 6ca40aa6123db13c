import type { EmbeddingDialect } from "./dialect.ts";
import type { EmbeddingFormat } from "./format.ts";
import { geminiEmbeddings } from "./gemini.ts";
import { openaiEmbeddings } from "./openai.ts";

/** Every form in which providers are asked for embeddings. */
export const EMBEDDING_FORMATS: Readonly<Record<EmbeddingDialect["form"], EmbeddingFormat>> = {
  openai: openaiEmbeddings,
  gemini: geminiEmbeddings,
};
