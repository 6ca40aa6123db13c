import type { ProtocolId } from "../core/model.ts";
import { chatCompletions } from "./chat-completions/index.ts";
import { chatCompletionsServer } from "./chat-completions/server.ts";
import { generateContentClient } from "./generate-content/client.ts";
import { generateContent } from "./generate-content/index.ts";
import { messagesClient } from "./messages/client.ts";
import { messages } from "./messages/index.ts";
import type { RelayProtocol } from "./protocol.ts";
import { translate } from "./translate.ts";

/** How a format is served by a provider that speaks `spoken`: relayed where it is the same, else translated. */
const SERVED: Readonly<Record<ProtocolId, Readonly<Partial<Record<ProtocolId, RelayProtocol>>>>> = {
  compat_chat_completions: {
    compat_chat_completions: chatCompletions,
    compat_messages: translate(chatCompletionsServer, messagesClient),
    compat_generate_content: translate(chatCompletionsServer, generateContentClient),
  },
  compat_messages: { compat_messages: messages },
  compat_generate_content: { compat_generate_content: generateContent },
};

/** The way from a client that speaks `asked` to a provider that speaks `spoken`; `undefined` where there is none. */
export function servedBy(asked: ProtocolId, spoken: ProtocolId): RelayProtocol | undefined {
  return SERVED[asked][spoken];
}
