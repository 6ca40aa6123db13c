import type { Answered } from "./answered.ts";

/** A part of a message, in the form of chat completions. */
export type Part =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string } }
  | { readonly type: "file"; readonly file: { readonly filename: string; readonly file_data: string } };

/** A message, in the form of chat completions. */
export type Message = {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string | readonly Part[] | null;
} & Readonly<Record<string, unknown>>;

/** A file that goes along with a message. */
export interface Attachment {
  readonly name: string;
  readonly part: Part;
}

/** What the reader says, with the files first, as models read them best. */
export function userMessage(text: string, attachments: readonly Attachment[]): Message {
  if (attachments.length === 0) return { role: "user", content: text };
  const parts = attachments.map(({ part }) => part);
  return { role: "user", content: text === "" ? parts : [...parts, { type: "text", text }] };
}

/** An answer as a message of the next request; its thinking goes back as it came. */
export function assistantMessage({ text, thinking, details, calls, images }: Answered): Message {
  return {
    role: "assistant",
    content: text === "" ? null : text,
    ...(details.length > 0 ? { reasoning_details: details } : {}),
    ...(details.length === 0 && thinking !== "" ? { reasoning_content: thinking } : {}),
    ...(calls.length > 0
      ? {
          tool_calls: calls.map(({ id, name, arguments: given }) => ({
            id,
            type: "function",
            function: { name, arguments: given },
          })),
        }
      : {}),
    ...(images.length > 0
      ? { images: images.map((url) => ({ type: "image_url", image_url: { url } })) }
      : {}),
  };
}

/** What a request asks for beside the conversation. */
export interface Wishes {
  readonly system: string;
  readonly tools: readonly unknown[];
  readonly format: Readonly<Record<string, unknown>> | undefined;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** The body of a request in chat completions. */
export function bodyOf(
  model: string,
  messages: readonly Message[],
  { system, tools, format, parameters }: Wishes,
): Readonly<Record<string, unknown>> & { readonly model: string; readonly messages: readonly Message[] } {
  return {
    model,
    messages: system.trim() === "" ? messages : [{ role: "system", content: system }, ...messages],
    stream: true,
    ...parameters,
    ...(tools.length > 0 ? { tools } : {}),
    ...(format === undefined ? {} : { response_format: format }),
  };
}

/** Longer texts in a body are shown by their beginning. */
const SHOWN = 400;

/** A body as it is shown: files in it are cut. */
export function shortened(value: unknown): unknown {
  if (typeof value === "string" && value.startsWith("data:") && value.length > SHOWN)
    return `${value.slice(0, 48)}… (${value.length} characters)`;
  if (Array.isArray(value)) return value.map(shortened);
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shortened(each)]));
  return value;
}

/** The texts of a `warning` header (RFC 7234, section 5.5). */
export function warningsOf(header: string | null): readonly string[] {
  return [...(header ?? "").matchAll(/\d{3} \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = ""]) =>
    text.replaceAll(/\\(.)/g, "$1"),
  );
}
