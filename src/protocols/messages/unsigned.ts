import type { RelayProtocol } from "../protocol.ts";
import { unsignedBody } from "../unsigned.ts";
import { leaveThinking } from "./foreign-thinking.ts";
import type { MessagesInput } from "./schema.ts";

/** Leaves all thinking of earlier answers out. */
export const unsigned: NonNullable<RelayProtocol["unsigned"]> = (body, target) =>
  unsignedBody(body, (value, changes) =>
    // It was checked before it was written.
    leaveThinking(value as unknown as MessagesInput, target, changes, { isLeft: isThinking }),
  );

function isThinking({ type }: { readonly type: string }): boolean {
  return type === "thinking" || type === "redacted_thinking";
}
