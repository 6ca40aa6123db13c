import { OPEN_CHAT } from "../chat-dialect.ts";
import type { Demand, RelayTarget } from "../protocol.ts";
import type { ChatRequest } from "./request.ts";
import { readWish, sayThinking } from "./thinking.ts";

/** The demand at a vendor whose bound on output may leave reasoning out. */
export function demandAt(request: ChatRequest, target: RelayTarget): Demand {
  const reasoningOnTop = mostReasoning(request, target);
  return reasoningOnTop === 0 ? request.demand : { ...request.demand, reasoningOnTop };
}

/** None where the request switches it off, no more than its own budget where the vendor has one, else without an end. */
function mostReasoning(
  { body, json, stream }: ChatRequest,
  { chat = OPEN_CHAT, model }: RelayTarget,
): number {
  if (chat.boundsReasoning) return 0;
  const { thinking: words } = chat;
  const wish = readWish(body);
  const said = sayThinking(wish, words, model.thinking);
  if (wish?.mode === "off" && Object.keys(said).length > 0) return 0;
  // What is said in the interface's words stands before what was written in the vendor's.
  const sent = (name: string): unknown => said[name] ?? json.value[name];
  if (words.toggle === "enable_thinking") {
    if (sent("enable_thinking") === false) return 0;
    if (model.thinking?.streamedOnly === true && !stream) return 0;
  }
  const budget = words.budget === "thinking_budget" ? sent("thinking_budget") : undefined;
  return typeof budget === "number" && budget >= 0 ? budget : Infinity;
}
