/** The model that examples of a first call name where it may be used: one of the cheapest. The README names it as well. */
export const EXAMPLE_MODEL = "openai/gpt-5.6-luna";
