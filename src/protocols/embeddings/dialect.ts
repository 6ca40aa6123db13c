/** How a server of embeddings is asked, and what of a request it takes. */
export interface EmbeddingDialect {
  /** A native server is OpenAI's own: it alone reads OpenAI's tokens. */
  readonly kind: "native" | "compatible";
  /** The form of its requests and answers. */
  readonly form: "openai" | "gemini";
  /** Whether it answers in base64 when asked to. Compatible servers ignore the field, or answer with nothing. */
  readonly base64: boolean;
  /** What it calls the length of vectors. */
  readonly dimensionsField: string;
  /** Whether it takes `user`. */
  readonly user: boolean;
  /** What happens to fields that the interface does not have. */
  readonly unknownFields: "remove" | "pass";
}

/** OpenAI itself: https://platform.openai.com/docs/api-reference/embeddings */
export const OPENAI_EMBEDDINGS: EmbeddingDialect = {
  kind: "native",
  form: "openai",
  base64: true,
  dimensionsField: "dimensions",
  user: true,
  unknownFields: "remove",
};

/** A server that is compatible, as far as most are. */
export const COMPATIBLE_EMBEDDINGS: EmbeddingDialect = {
  ...OPENAI_EMBEDDINGS,
  kind: "compatible",
  base64: false,
  user: false,
};

/** The Gemini API: https://ai.google.dev/api/embeddings#method:-models.batchembedcontents */
export const GEMINI_EMBEDDINGS: EmbeddingDialect = {
  ...COMPATIBLE_EMBEDDINGS,
  form: "gemini",
  dimensionsField: "outputDimensionality",
};
