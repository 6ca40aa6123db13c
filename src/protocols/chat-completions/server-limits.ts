import { CHAT } from "../../catalog/parameter-tables/chat-completions.ts";
import { fieldOf, fieldsAt } from "../../catalog/parameter-tables/field.ts";
import {
  type ChatLimits,
  type Model,
  MOST_CHAT_CHOICES,
  MOST_CHAT_STOPS,
  type TranslatedChat,
} from "../../core/model.ts";
import { type ChatDialect, OPEN_CHAT } from "../chat-dialect.ts";
import type { ClientLimits } from "../translate.ts";
import { sayThinking, THINKING_FIELDS } from "./thinking.ts";

/** Whether a server takes a field of the format. A field of our own it takes only where it names it. */
export function takesField({ takes }: ChatDialect, name: string): boolean {
  const field = fieldOf(CHAT, name);
  if (takes?.includes(name) === true) return true;
  return field?.rule !== "gateway" && (takes === undefined || field?.basic === true);
}

/** The words of `tool_choice` that a server can do. */
export function toolWords({ toolChoice }: ChatDialect): readonly string[] {
  const canForce = toolChoice === "full" || toolChoice === "words";
  return ["none", "auto", ...(canForce ? ["required"] : [])];
}

/** What `response_format` can be at a server. */
export function responseFormats({ jsonObject, jsonSchema }: ChatDialect): readonly string[] {
  return ["text", ...(jsonObject ? ["json_object"] : []), ...(jsonSchema ? ["json_schema"] : [])];
}

/** What of chat completions a server takes. */
export function relayedLimits(model: Model, chat: ChatDialect): ChatLimits {
  return {
    untaken: Object.keys(CHAT).filter((name) =>
      // More than one answer is refused, not left out, so that it stays a parameter.
      THINKING_FIELDS.includes(name) ? !canBeTold(chat, model) : name !== "n" && !takesField(chat, name),
    ),
    toolWords: toolWords(chat),
    namedTool: chat.toolChoice === "full",
    responseFormats: responseFormats(chat),
    mostChoices: chat.manyChoices && takesField(chat, "n") ? MOST_CHAT_CHOICES : 1,
    mostStops: chat.mostStops,
  };
}

/** What of chat completions a client end of another format takes. */
export function translatedLimits(
  into: TranslatedChat["into"],
  { untaken, mostChoices, mostStops = MOST_CHAT_STOPS, efforts }: ClientLimits,
): ChatLimits {
  return {
    untaken: untaken.flatMap((place) => fieldsAt(CHAT, place)),
    toolWords: toolWords(OPEN_CHAT),
    namedTool: true,
    responseFormats: responseFormats(OPEN_CHAT),
    mostChoices,
    mostStops,
    translated: { into, efforts },
  };
}

/** Whether a server can be told of thinking at all, in words that the model has. */
function canBeTold({ thinking: words }: ChatDialect, { thinking: facts }: Model): boolean {
  const wish = { mode: "on", effort: "high", budgetTokens: 1 } as const;
  return Object.keys(sayThinking(wish, words, facts)).length > 0;
}
