import type { Json } from "../gateway/gateway.ts";
import type { Case, Format } from "./fault-station.ts";

// In which order the events of a stream come, in the names of the client's format.

const chatName = (event: Json): string => {
  const [choice] = event.choices ?? [];
  if (event.error !== undefined) return "error";
  if (event.credit !== undefined) return "credit";
  if (typeof choice?.finish_reason === "string") return `finish ${choice.finish_reason}`;
  if (choice !== undefined) return TEXT;
  return event.usage === undefined ? NOTHING : "usage";
};
const geminiName = ({ error, candidates: [one] = [] }: Json): string => {
  if (error !== undefined) return "error";
  return one.finishReason === undefined ? TEXT : "finish";
};
const typeName = ({ type, credit }: Json): string =>
  type === "ping" && credit !== undefined ? "credit" : type;

const TEXT = "text";
/** A chunk without a choice or a usage. */
const NOTHING = "nothing";
/** What says nothing of an answer: that a stream has begun, and that it is open still. */
const QUIET: ReadonlySet<string> = new Set([NOTHING, "ping", "response.created", "response.in_progress"]);

/** An event's name; those of the texts themselves, and of how a chat begins, are one. */
const NAMES: Readonly<Record<Exclude<Format, "embeddings">, (event: Json) => string>> = {
  chat_completions: chatName,
  generate_content: geminiName,
  messages: (event) => (event.type === "content_block_delta" ? TEXT : typeName(event)),
  responses: (event) => (event.type === "response.output_text.delta" ? TEXT : typeName(event)),
};

/** How the end of a whole answer looks, and that of one that broke behind its first text. */
export const ENDS: Readonly<
  Record<keyof typeof NAMES, Readonly<Record<"whole" | "broken", readonly string[]>>>
> = {
  chat_completions: {
    whole: ["finish stop", "usage", "credit", "done"],
    broken: ["finish error", "usage", "credit", "error", "done"],
  },
  messages: {
    whole: ["content_block_stop", "message_delta", "credit", "message_stop"],
    broken: ["credit", "error"],
  },
  generate_content: { whole: ["finish"], broken: ["error"] },
  responses: {
    whole: [
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ],
    broken: ["error", "response.failed"],
  },
};

/** The events behind the last of the text, but for those that say nothing. */
export function endOf(format: Format, text: string): readonly string[] {
  const nameOf = NAMES[format as keyof typeof NAMES];
  const data = text.split("\n").filter((line) => line.startsWith("data: "));
  const names = data.map((line) => (line === "data: [DONE]" ? "done" : nameOf(JSON.parse(line.slice(6)))));
  return names.slice(names.lastIndexOf(TEXT) + 1).filter((name) => !QUIET.has(name));
}

/** Whether a stream ends as one does that broke, and in the order of its format. */
export function isBroken({ format }: Pick<Case, "format">, text: string): boolean {
  const { broken } = ENDS[format as keyof typeof ENDS];
  return endOf(format, text).join() === broken.join();
}
