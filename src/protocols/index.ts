import type { ChatLimits, Model, ProtocolId } from "../core/model.ts";
import { chatCompletionsClient } from "./chat-completions/client/index.ts";
import { chatCompletions } from "./chat-completions/index.ts";
import { chatCompletionsServer } from "./chat-completions/server/index.ts";
import { translatedLimits } from "./chat-completions/server-limits.ts";
import { generateContentClient } from "./generate-content/client/index.ts";
import { generateContent } from "./generate-content/index.ts";
import { generateContentServer } from "./generate-content/server/index.ts";
import { messagesClient } from "./messages/client/index.ts";
import { messages } from "./messages/index.ts";
import { messagesServer } from "./messages/server/index.ts";
import { generateContentCounter } from "./generate-content/count.ts";
import { messagesCounter } from "./messages/count.ts";
import type { RelayProtocol, RelayTarget, TokenCounter } from "./protocol.ts";
import { compaction } from "./responses/compaction.ts";
import { responsesClient } from "./responses/client/index.ts";
import { responsesCounter } from "./responses/count.ts";
import { responsesRelay } from "./responses-relay.ts";
import { compactionServer } from "./responses/server/compaction-end.ts";
import { responsesServer } from "./responses/server/index.ts";
import { type ClientEnd, type ServerEnd, translate } from "./translate.ts";

/** The formats that providers are called in for clients of another. */
const CLIENTS: Readonly<Record<ProtocolId, ClientEnd>> = {
  compat_chat_completions: chatCompletionsClient,
  compat_messages: messagesClient,
  compat_generate_content: generateContentClient,
  compat_responses: responsesClient,
};

/** The formats that clients of providers of another are answered in. */
const SERVERS: readonly ServerEnd[] = [
  chatCompletionsServer,
  messagesServer,
  generateContentServer,
  responsesServer,
];

/** The formats, each among its own clients and providers. */
export const RELAYS: Readonly<Record<ProtocolId, RelayProtocol>> = {
  compat_chat_completions: chatCompletions,
  compat_messages: messages,
  compat_generate_content: generateContent,
  compat_responses: responsesRelay,
};

/** By the formats of client and provider, in this order. */
const TRANSLATIONS: ReadonlyMap<string, RelayProtocol> = new Map(
  SERVERS.flatMap((server) =>
    Object.values(CLIENTS).map((client) => [
      `${server.protocol.id} ${client.protocol.id}`,
      translate(server, client),
    ]),
  ),
);

/** How providers of each format are asked to make a conversation of Responses shorter: by a summary. */
const SUMMARIES = Object.fromEntries(
  Object.entries(CLIENTS).map(([spoken, client]) => [spoken, translate(compactionServer, client)]),
) as Readonly<Partial<Record<ProtocolId, RelayProtocol>>>;

/** The way to have a conversation of Responses made shorter by a provider that speaks `spoken`. */
export function compactedBy(spoken: ProtocolId, { compacts }: Pick<RelayTarget, "compacts">): RelayProtocol {
  const way = compacts === true ? compaction : SUMMARIES[spoken];
  if (way === undefined) throw new Error(`No conversation is made shorter in ${spoken}.`);
  return way;
}

/** How tokens are counted in the formats that have a call for that. */
export const COUNTERS: Readonly<Partial<Record<ProtocolId, TokenCounter>>> = {
  compat_messages: messagesCounter,
  compat_generate_content: generateContentCounter,
  compat_responses: responsesCounter,
};

/** The way from a client that speaks `asked` to a provider that speaks `spoken`; `undefined` where there is none. */
export function servedBy(asked: ProtocolId, spoken: ProtocolId): RelayProtocol | undefined {
  return asked === spoken ? RELAYS[asked] : TRANSLATIONS.get(`${asked} ${spoken}`);
}

/** What of chat completions a provider that speaks `spoken` is not sent; `undefined` where nothing is translated. */
export function limitsAt(spoken: ProtocolId, model: Model): ChatLimits | undefined {
  const limits = CLIENTS[spoken].limits(model);
  if (spoken === "compat_chat_completions") return undefined;
  return translatedLimits(spoken, limits);
}
