import { createSeenLists } from "../../core/json/kept.ts";
import { isCarrier } from "../carrier.ts";
import type { Changes } from "../changes.ts";
import type { RelayTarget } from "../protocol.ts";
import type { CountRequest } from "./request.ts";
import type { ContentBlock, MessagesInput } from "./schema.ts";

type Message = MessagesInput["messages"][number];

const LEFT = "thinking blocks of earlier answers were left out: only the model that wrote them can read them";
const SWITCHED_OFF =
  "thinking was left out: the answer that called tools came back without thinking that this model can read";

/** Lists of messages in which nothing had to be left out, apart by whether the provider is the format's own vendor. */
const clean = { native: createSeenLists(), compatible: createSeenLists() };

/**
 * Leaves thinking out of a conversation that the target's vendor did not sign. That is what carries another vendor's.
 * At the format's own vendor it is also what others have signed with nothing: the vendor refuses the whole request for
 * that. A message of which nothing is left goes too.
 */
export function leaveForeignThinking({ body }: CountRequest, target: RelayTarget, changes: Changes): void {
  const seen = clean[target.native ? "native" : "compatible"];
  const from = seen.count(body.messages);
  const isLeft = (block: ContentBlock): boolean => isForeign(block, target.native);
  if (!leaveThinking(body, target, changes, { isLeft, from, says: LEFT })) seen.add(body.messages);
}

/** Which blocks are left out. */
interface Leaving {
  readonly isLeft: (block: ContentBlock) => boolean;
  /** The first message in which there may be any. */
  readonly from?: number;
  /** What the caller is told. */
  readonly says?: string;
}

/**
 * Leaves blocks out of messages, and what is asked of thinking where the answer that goes
 * on begins without any then. Tells whether there were any.
 */
export function leaveThinking(
  { messages, thinking }: MessagesInput,
  target: RelayTarget,
  changes: Changes,
  { isLeft, from = 0, says }: Leaving,
): boolean {
  let found = false;
  for (let i = from; i < messages.length; i += 1) {
    const left = leftIn(messages[i] as Message, isLeft);
    if (left.length === 0) continue;
    found = true;
    if (left.length === messages[i]?.content.length) changes.remove(["messages", i]);
    else for (const at of left) changes.remove(["messages", i, "content", at]);
  }
  if (found && says !== undefined) changes.warn(says);
  // A model that measures out its thinking wants that of the run of calls which goes on; another goes on without.
  const isAsked = thinking !== undefined && thinking.type !== "disabled";
  if (found && isAsked && target.model.thinking?.style !== "adaptive" && beginsUnthought(messages, isLeft)) {
    changes.remove(["thinking"]);
    changes.warn(SWITCHED_OFF);
  }
  return found;
}

/** The places of the blocks of an answer that are left out. */
function leftIn({ role, content }: Message, isLeft: (block: ContentBlock) => boolean): readonly number[] {
  if (role !== "assistant" || typeof content === "string") return [];
  return content.flatMap((block, i) => (isLeft(block) ? [i] : []));
}

function isForeign({ type, signature, data }: ContentBlock, native: boolean): boolean {
  if (type === "redacted_thinking") return isCarrier(data ?? "");
  if (type !== "thinking") return false;
  return isCarrier(signature ?? "") || (native && signature === "");
}

/** Whether calls are being answered, and the first of those answers since the user's own words begins without thinking. */
function beginsUnthought(messages: readonly Message[], isLeft: (block: ContentBlock) => boolean): boolean {
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  if (!hasBlock(messages[last], "tool_use")) return false;
  const asked = messages
    .slice(0, last)
    .findLastIndex(
      ({ role, content }) =>
        role === "user" &&
        (typeof content === "string" || content.some(({ type }) => type !== "tool_result")),
    );
  const answer = messages.slice(asked + 1).find(({ role }) => role === "assistant")?.content;
  const first = typeof answer === "string" ? undefined : answer?.find((block) => !isLeft(block));
  return first?.type !== "thinking" && first?.type !== "redacted_thinking";
}

function hasBlock(message: Message | undefined, type: string): boolean {
  return typeof message?.content === "object" && message.content.some((block) => block.type === type);
}
