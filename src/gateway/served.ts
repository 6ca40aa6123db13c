import { servedIn } from "../catalog/catalog.ts";
import { chatParameterNames } from "../catalog/parameters.ts";
import type { ChatLimits, Model, ProtocolId, ThinkingFacts } from "../core/model.ts";
import { BASIC_FIELDS, type ChatDialect, OPEN_CHAT } from "../protocols/chat-dialect.ts";
import { servedBy } from "../protocols/index.ts";
import type { Provider } from "../providers/provider.ts";

/** The model with the formats that it can be asked in now, and as the server that it is reached at takes them. */
export function servedNow(model: Model, providers: ReadonlyMap<string, Provider>): Model {
  const providerOf = (protocol: ProtocolId): Provider | undefined =>
    model.routes
      .map((route) => providers.get(route.provider))
      .find((provider) => provider !== undefined && servedBy(protocol, provider.protocol) !== undefined);
  const chat = providerOf("compat_chat_completions");
  return servedIn(
    model,
    model.supportedProtocols.filter((protocol) => providerOf(protocol) !== undefined),
    chat === undefined || chat.protocol !== "compat_chat_completions" || chat.dialect.unknownFields === "pass"
      ? undefined
      : chatLimits(model, chat.dialect.chat ?? OPEN_CHAT),
  );
}

/** What `leaveUntaken`, `checkTools` and `checkResponseFormat` of the format do with a request to such a server. */
function chatLimits(model: Model, chat: ChatDialect): ChatLimits {
  const { toolChoice, jsonObject, jsonSchema, thinking } = chat;
  return {
    untaken: chatParameterNames(model).filter((name) =>
      THINKING.has(name) ? !canBeTold(thinking, model.thinking) : !takes(chat, name),
    ),
    toolWords:
      toolChoice === "full" || toolChoice === "words" ? ["none", "auto", "required"] : ["none", "auto"],
    namedTool: toolChoice === "full",
    responseFormats: ["text", ...(jsonObject ? ["json_object"] : []), ...(jsonSchema ? ["json_schema"] : [])],
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
