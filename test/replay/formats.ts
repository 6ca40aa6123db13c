import { chatFormat } from "./chat/format.ts";
import type { ReplayFormat } from "./format.ts";
import { generateFormat } from "./generate/format.ts";
import { messagesFormat } from "./messages/format.ts";
import { responsesFormat } from "./responses/format.ts";

/** Every format that is replayed. */
export const FORMATS: readonly ReplayFormat[] = [chatFormat, messagesFormat, generateFormat, responsesFormat];

/** The format of a recording; undefined where it is one that the gateway does not serve. */
export function formatOf(protocol: string): ReplayFormat | undefined {
  return FORMATS.find((format) => format.protocol === protocol);
}
