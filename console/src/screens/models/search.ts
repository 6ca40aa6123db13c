/** Members of the address of the page Models. */
export const MODELS_SEARCH = [
  "text",
  "category",
  "takes",
  "gives",
  "format",
  "context",
  "price",
  "sort",
] as const;

/** Members of the address of a model's page. */
export const MODEL_SEARCH = ["category", "example"] as const;
