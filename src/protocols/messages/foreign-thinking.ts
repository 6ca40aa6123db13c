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
 * Leaves thinking out of a conversation that the target's vendor did not sign: what carries another vendor's, and at the
 * format's own vendor what others have signed with nothing, which it refuses the whole request for. A message of which nothing is left
 * goes too.
 */
export function leaveForeignThinking({ body }: CountRequest, target: RelayTarget, changes: Changes): void {
  const { messages } = body;
  const seen = clean[target.native ? "native" : "compatible"];
  let found = -1;
  for (let i = seen.count(messages); i < messages.length; i += 1) {
    const foreign = foreignIn(messages[i] as Message, target.native);
    if (foreign.length === 0) continue;
    found = i;
    if (foreign.length === messages[i]?.content.length) changes.remove(["messages", i]);
    else for (const at of foreign) changes.remove(["messages", i, "content", at]);
  }
  if (found === -1) return seen.add(messages);
  changes.warn(LEFT);
  // A model that measures out its thinking wants that of the run of calls which goes on; another goes on without.
  const isAsked = body.thinking !== undefined && body.thinking.type !== "disabled";
  if (!isAsked || target.model.thinking?.style === "adaptive") return;
  if (!beginsUnthought(messages, target.native)) return;
  changes.remove(["thinking"]);
  changes.warn(SWITCHED_OFF);
}

/** The places of the blocks of an answer that cannot be read there. */
function foreignIn({ role, content }: Message, native: boolean): readonly number[] {
  if (role !== "assistant" || typeof content === "string") return [];
  return content.flatMap((block, i) => (isForeign(block, native) ? [i] : []));
}

function isForeign({ type, signature, data }: ContentBlock, native: boolean): boolean {
  if (type === "redacted_thinking") return isCarrier(data ?? "");
  if (type !== "thinking") return false;
  return isCarrier(signature ?? "") || (native && signature === "");
}

/** Whether calls are being answered, and the first of those answers since the user's own words begins without thinking. */
function beginsUnthought(messages: readonly Message[], native: boolean): boolean {
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
  const first = typeof answer === "string" ? undefined : answer?.find((block) => !isForeign(block, native));
  return first?.type !== "thinking" && first?.type !== "redacted_thinking";
}

function hasBlock(message: Message | undefined, type: string): boolean {
  return typeof message?.content === "object" && message.content.some((block) => block.type === type);
}
