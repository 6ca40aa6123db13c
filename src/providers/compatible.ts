import { type ChatDialect, COMPATIBLE_CHAT } from "../protocols/chat-dialect.ts";
import type { Dialect, ProtocolDefinition } from "./provider.ts";

/** Chat completions of a vendor that is only compatible: what differs from most of them, and from how they stream. */
export function compatibleChat(
  quirks: Partial<ChatDialect>,
  stream: Partial<Pick<Dialect, "streamUsageOption" | "padding">> = {},
): ProtocolDefinition {
  return {
    id: "compat_chat_completions",
    dialect: {
      kind: "compatible",
      unknownFields: "remove",
      streamUsageOption: true,
      padding: [],
      ...stream,
      chat: { ...COMPATIBLE_CHAT, ...quirks },
    },
  };
}
