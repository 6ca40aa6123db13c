import { servedIn } from "../catalog/catalog.ts";
import { chatParameterNames } from "../catalog/parameters.ts";
import {
  type ChatLimits,
  type Model,
  MOST_CHAT_CHOICES,
  MOST_CHAT_STOPS,
  type ProtocolId,
  type ThinkingFacts,
} from "../core/model.ts";
import type { TaskKind } from "../core/task.ts";
import { BASIC_FIELDS, type ChatDialect, OPEN_CHAT } from "../protocols/chat-dialect.ts";
import { translatedLimits } from "../protocols/index.ts";
import type { MediaProvider, Provider, SpokenProtocol } from "../providers/provider.ts";
import { wayTo } from "../providers/spoken.ts";

/** Providers that can be called, by the names that routes have for them. */
export interface LiveProviders {
  readonly providers: ReadonlyMap<string, Provider>;
  readonly mediaProviders: ReadonlyMap<string, MediaProvider>;
}

/** Whether anything can be asked of a model of `servedNow`. */
export function isServed(model: Model): boolean {
  return model.supportedProtocols.length > 0 || (isMediaModel(model) && model.routes.length > 0);
}

/** Whether it makes images or videos, as tasks. */
export function isMediaModel(model: Model): model is Model & { readonly category: TaskKind } {
  return model.category === "image" || model.category === "video";
}

/**
 * The model with the formats that it can be asked in now, and as the server that it is reached at takes them; one of
 * images or videos with the routes that can be taken now.
 */
export function servedNow(model: Model, { providers, mediaProviders }: LiveProviders): Model {
  if (isMediaModel(model)) {
    const { category, routes } = model;
    return {
      ...model,
      routes: routes.filter((route) => mediaProviders.get(route.provider)?.adapters[category] !== undefined),
    };
  }
  const spokenIn = (asked: ProtocolId): SpokenProtocol | undefined =>
    model.routes
      .map((route) => wayTo(asked, providers.get(route.provider)?.protocols ?? [], route.protocols))
      .find((way) => way !== undefined)?.spoken;
  const chat = spokenIn("compat_chat_completions");
  return servedIn(
    model,
    model.supportedProtocols.filter((protocol) => spokenIn(protocol) !== undefined),
    chat === undefined ? undefined : chatLimits(model, chat),
  );
}

function chatLimits(model: Model, { id, dialect }: SpokenProtocol): ChatLimits | undefined {
  if (id !== "compat_chat_completions") return translatedLimits(id, model);
  return dialect.unknownFields === "pass" ? undefined : relayedLimits(model, dialect.chat ?? OPEN_CHAT);
}

/** What `leaveUntaken`, `checkTools` and `checkResponseFormat` of the format do with a request to such a server. */
function relayedLimits(model: Model, chat: ChatDialect): ChatLimits {
  const { toolChoice, jsonObject, jsonSchema, thinking } = chat;
  return {
    untaken: chatParameterNames(model).filter((name) =>
      // More than one answer is refused, not left out, so that it stays a parameter.
      THINKING.has(name) ? !canBeTold(thinking, model.thinking) : name !== "n" && !takes(chat, name),
    ),
    toolWords:
      toolChoice === "full" || toolChoice === "words" ? ["none", "auto", "required"] : ["none", "auto"],
    namedTool: toolChoice === "full",
    responseFormats: ["text", ...(jsonObject ? ["json_object"] : []), ...(jsonSchema ? ["json_schema"] : [])],
    mostChoices: takes(chat, "n") ? MOST_CHAT_CHOICES : 1,
    mostStops: MOST_CHAT_STOPS,
  };
}

const THINKING: ReadonlySet<string> = new Set(["reasoning", "reasoning_effort", "thinking"]);

function canBeTold(
  { effort, toggle, budget }: ChatDialect["thinking"],
  model: ThinkingFacts | undefined,
): boolean {
  return (
    budget !== undefined ||
    (effort !== undefined && model?.efforts?.length !== 0) ||
    (toggle !== undefined && model?.canBeOff !== false)
  );
}

function takes(chat: ChatDialect, name: string): boolean {
  // It is a field of our own, which only who names it knows.
  if (name === "image_config") return chat.takes?.includes(name) === true;
  if (chat.takes === undefined || name === "stream_options") return true;
  return BASIC_FIELDS.includes(name) || chat.takes.includes(name);
}
