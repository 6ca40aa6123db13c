import { servedIn } from "../catalog/catalog.ts";
import { type ChatLimits, type Formats, type Model, type ProtocolId, PROTOCOLS } from "../core/model.ts";
import type { TaskKind } from "../core/task.ts";
import { OPEN_CHAT } from "../protocols/chat-dialect.ts";
import { relayedLimits } from "../protocols/chat-completions/server-limits.ts";
import { limitsAt } from "../protocols/index.ts";
import type { MediaProvider, Provider, SpokenProtocol } from "../providers/provider.ts";
import { wayTo } from "../providers/spoken.ts";

/** Providers that can be called, by the names that routes have for them. */
export interface LiveProviders {
  readonly providers: ReadonlyMap<string, Provider>;
  readonly mediaProviders: ReadonlyMap<string, MediaProvider>;
}

/** Whether anything can be asked of a model of `servedNow`. */
export function isServed(model: Model): boolean {
  if (isMediaModel(model) || model.category === "embedding") return model.routes.length > 0;
  return Object.keys(model.formats).length > 0;
}

/** Whether it makes images or videos, as tasks. */
export function isMediaModel(model: Model): model is Model & { readonly category: TaskKind } {
  return model.category === "image" || model.category === "video";
}

/**
 * The model with the formats that it can be asked in now, and as the server that it is reached at takes them. One of
 * images, videos or embeddings has the routes that can be taken now.
 */
export function servedNow(model: Model, { providers, mediaProviders }: LiveProviders): Model {
  if (isMediaModel(model)) {
    const { category, routes } = model;
    return {
      ...model,
      routes: routes.filter((route) => mediaProviders.get(route.provider)?.adapters[category] !== undefined),
    };
  }
  if (model.category === "embedding") {
    const { routes } = model;
    return { ...model, routes: routes.filter(({ provider }) => providers.get(provider)?.embeddings) };
  }
  const spokenIn = (asked: ProtocolId): SpokenProtocol | undefined =>
    model.routes
      .map((route) => wayTo(asked, providers.get(route.provider)?.protocols ?? [], route.protocols))
      .find((way) => way !== undefined)?.spoken;
  const ways = PROTOCOLS.map((asked) => [asked, spokenIn(asked)] as const);
  const formats = ways.flatMap(([asked, spoken]) =>
    spoken === undefined ? [] : [[asked, spoken.id === asked ? "relay" : "translation"]],
  );
  const chat = spokenIn("compat_chat_completions");
  return servedIn(
    model,
    Object.fromEntries(formats) as Formats,
    chat === undefined ? undefined : chatLimits(model, chat),
  );
}

function chatLimits(model: Model, { id, dialect }: SpokenProtocol): ChatLimits | undefined {
  if (id !== "compat_chat_completions") return limitsAt(id, model);
  return dialect.unknownFields === "pass" ? undefined : relayedLimits(model, dialect.chat ?? OPEN_CHAT);
}
