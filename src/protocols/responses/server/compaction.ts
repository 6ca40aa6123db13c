import type { ChatRequest, Turn } from "../../../core/chat.ts";
import type { JsonObject } from "../../../core/json/json-value.ts";

/** Whether the input ends by asking for a summary in place of an answer. */
export function asksToCompact(items: readonly JsonObject[]): boolean {
  return items.at(-1)?.type === "compaction_trigger";
}

const HAND_OVER: Turn = {
  role: "user",
  parts: [
    {
      type: "text",
      text: [
        "Stop here and write a hand-over. Another model will go on with this conversation and will see nothing of it but",
        "your words, so write all that it needs to go on as if it had been there, and nothing else:",
        "- what the user wants, in the user's own terms, with every rule and wish that still holds;",
        "- what was done, decided and found out, with exact names of files, commands, identifiers, values and errors;",
        "- what was tried and did not work, and why;",
        "- what is still to be done, and the next step.",
        "Call no tools. Write plain text, addressed to that model.",
      ].join("\n"),
    },
  ],
};

/** The same conversation, asked for a hand-over summary: an ordinary call of the same model. */
export function askForSummary(chat: ChatRequest): ChatRequest {
  const { responseFormat: _form, allowedTools: _some, webSearch: _search, ...rest } = chat;
  return {
    ...rest,
    turns: [...chat.turns, HAND_OVER],
    // They stay told: the conversation has calls of them, and the provider's cache begins with them.
    ...(chat.tools.length === 0 ? {} : { toolChoice: { type: "none" } as const }),
  };
}
