import { COMPATIBLE_CHAT, OPEN_CHAT } from "../protocols/chat-dialect.ts";
import type { Dialect, ProviderDefinition } from "./provider.ts";

/** A server of chat completions of which nothing is known but that it is compatible. */
const UNKNOWN_SERVER: Dialect = {
  kind: "compatible",
  unknownFields: "remove",
  streamUsageOption: true,
  padding: [],
  chat: { ...OPEN_CHAT, imageSignatures: false },
};

/** Kinds of servers that people run themselves. */
const LOCAL_SERVERS: Readonly<Record<string, Dialect>> = {
  // https://github.com/ollama/ollama/blob/main/docs/openai.md
  ollama: {
    ...UNKNOWN_SERVER,
    chat: {
      ...COMPATIBLE_CHAT,
      takes: [...COMPATIBLE_CHAT.takes, "seed", "logprobs", "top_logprobs", "reasoning_effort"],
      reasoningBack: ["reasoning"],
      thinking: { effort: "reasoning_effort" },
    },
  },
  // https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html
  vllm: {
    ...UNKNOWN_SERVER,
    chat: {
      ...COMPATIBLE_CHAT,
      takes: [
        ...COMPATIBLE_CHAT.takes,
        "n",
        "seed",
        "user",
        "logit_bias",
        "logprobs",
        "top_logprobs",
        "top_k",
        "min_p",
        "repetition_penalty",
        "chat_template_kwargs",
        "reasoning_effort",
      ],
      reasoningBack: ["reasoning_content", "reasoning"],
      thinking: { effort: "reasoning_effort" },
    },
  },
  // https://github.com/ggml-org/llama.cpp/tree/master/tools/server
  "llama-cpp": {
    ...UNKNOWN_SERVER,
    chat: {
      ...COMPATIBLE_CHAT,
      takes: [
        ...COMPATIBLE_CHAT.takes,
        "n",
        "seed",
        "logit_bias",
        "logprobs",
        "top_logprobs",
        "top_k",
        "min_p",
        "repeat_penalty",
        "cache_prompt",
        "grammar",
        "chat_template_kwargs",
        "reasoning_format",
      ],
      reasoningBack: ["reasoning_content"],
    },
  },
  // https://lmstudio.ai/docs/developer/openai-compat; it says "'response_format.type' must be 'json_schema' or 'text'"
  // and "Invalid tool_choice type: 'object'. Supported string values: none, auto, required".
  "lm-studio": {
    ...UNKNOWN_SERVER,
    chat: {
      ...COMPATIBLE_CHAT,
      takes: [...COMPATIBLE_CHAT.takes, "seed", "logit_bias", "top_k", "repeat_penalty", "reasoning_effort"],
      reasoningBack: ["reasoning_content"],
      thinking: { effort: "reasoning_effort" },
      toolChoice: "words",
      jsonObject: false,
    },
  },
};

/** The dialect of a server that is like the named vendor or kind; of one of which nothing is known without a name. */
export function dialectLike(
  name: string | undefined,
  definitions: readonly ProviderDefinition[],
): Dialect | undefined {
  if (name === undefined) return UNKNOWN_SERVER;
  if (Object.hasOwn(LOCAL_SERVERS, name)) return LOCAL_SERVERS[name];
  return chatProtocols(definitions).find(({ provider }) => provider === name)?.dialect;
}

/** The names that `dialectLike` knows. */
export function likenesses(definitions: readonly ProviderDefinition[]): readonly string[] {
  return [...Object.keys(LOCAL_SERVERS), ...chatProtocols(definitions).map(({ provider }) => provider)];
}

interface ChatProtocol {
  readonly provider: string;
  readonly dialect: Dialect;
}

function chatProtocols(definitions: readonly ProviderDefinition[]): readonly ChatProtocol[] {
  return definitions.flatMap(({ id: provider, protocols }) =>
    protocols.flatMap(({ id, dialect }) => (id === "compat_chat_completions" ? [{ provider, dialect }] : [])),
  );
}
