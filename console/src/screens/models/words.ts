/** Formats of the interface, by their names on the wire. */
export const FORMAT_NAMES: Readonly<Record<string, string>> = {
  compat_chat_completions: "Chat completions",
  compat_messages: "Messages",
  compat_generate_content: "Generate content",
  compat_responses: "Responses",
};

/** A format by the name that readers know. */
export function formatName(id: string): string {
  return FORMAT_NAMES[id] ?? id;
}

/** The page of the playground that tries models of a category. */
export const PLAYGROUNDS = {
  language: "/playground",
  image: "/playground/images",
  video: "/playground/videos",
} as const;
