import type { ProtocolId } from "../core/model.ts";

/** The version of the messages format that is asked for: https://platform.claude.com/docs/en/api/versioning */
const MESSAGES_VERSION = "2023-06-01";

/** Headers by which the servers of a format know who asks; without a key only what the format itself needs. */
export function credentialHeaders(
  protocol: ProtocolId,
  apiKey: string | undefined,
): Readonly<Record<string, string>> {
  switch (protocol) {
    case "compat_chat_completions":
      return apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
    case "compat_messages":
      return {
        "anthropic-version": MESSAGES_VERSION,
        ...(apiKey === undefined ? {} : { "x-api-key": apiKey }),
      };
    case "compat_generate_content":
      return apiKey === undefined ? {} : { "x-goog-api-key": apiKey };
  }
}
