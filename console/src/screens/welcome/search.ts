/** Who a first call is written for. */
export const SNIPPETS = [
  { id: "curl", name: "curl", vendor: "openai" },
  { id: "openai", name: "OpenAI SDK", vendor: "openai" },
  { id: "anthropic", name: "Anthropic SDK", vendor: "anthropic" },
  { id: "google", name: "Google SDK", vendor: "google" },
] as const;

/** A snippet by its name in the address. */
export type SnippetId = (typeof SNIPPETS)[number]["id"];

/** Languages that snippets of the SDKs are written in. */
export const LANGUAGES = ["typescript", "python"] as const;

/** A language by its name in the address. */
export type Language = (typeof LANGUAGES)[number];

/** Which first call the address shows; absent: the first of each. */
export interface WelcomeSearch {
  readonly call?: SnippetId | undefined;
  readonly language?: Language | undefined;
  readonly model?: string | undefined;
}

/** Reads it out of an address. */
export function readWelcome({ call, language, model }: Readonly<Record<string, unknown>>): WelcomeSearch {
  return {
    call: SNIPPETS.find(({ id }) => id === call)?.id,
    language: LANGUAGES.find((known) => known === language),
    model: typeof model === "string" ? model : undefined,
  };
}
