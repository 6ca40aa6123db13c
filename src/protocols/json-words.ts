/** What is said where JSON is asked for: vendors refuse to give any where nobody has named it. */
export const ONE_JSON_OBJECT = "Answer with one JSON object and nothing else.";

/** Whether what a model is told names JSON. */
export function namesJson(told: unknown): boolean {
  return /json/i.test(typeof told === "string" ? told : (JSON.stringify(told) ?? ""));
}
