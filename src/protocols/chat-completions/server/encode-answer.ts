import type { ChatEvent, FinishReason } from "../../../core/chat.ts";
import type { JsonObject } from "../../../core/json/json-value.ts";
import type { AnswerContext, Metered } from "../../protocol.ts";
import { type Delta, openDeltaWriter } from "./encode-deltas.ts";
import { answerId } from "./encode-events.ts";
import { encodeUsage } from "../usage.ts";

/**
 * A whole answer from its events, up to the charge. It is what a client makes of the same events in a stream, because
 * it is made of the same deltas.
 */
export function encodeAnswer(
  events: readonly ChatEvent[],
  metered: Metered,
  context: AnswerContext,
): JsonObject {
  const choices = new Map<number, ReturnType<typeof openChoice>>();
  const write = (index: number, delta: Delta, finish: FinishReason | null): void => {
    const choice = choices.getOrInsertComputed(index, openChoice);
    addDelta(choice.message, delta);
    choice.finish_reason = finish ?? choice.finish_reason;
  };
  const writer = openDeltaWriter({
    write,
    writeLogprobs(index, tokens) {
      const choice = choices.getOrInsertComputed(index, openChoice);
      choice.logprobs = { content: [...(choice.logprobs?.content ?? []), ...tokens], refusal: null };
    },
    writeText: (index, member, text) => write(index, { [member]: text }, null),
  });
  for (const event of events) writer.push(event);
  const start = events.find((event) => event.type === "start");
  return {
    id: answerId(start?.id, context),
    object: "chat.completion",
    created: context.nowSec,
    model: context.model,
    choices: [...choices.values()].sort((a, b) => a.index - b.index),
    usage: encodeUsage(metered.usage),
  };
}

type Message = JsonObject & { tool_calls?: Call[] };
type Call = JsonObject & {
  function?: { readonly name: string; arguments: string };
  custom?: { readonly name: string; input: string };
};

function openChoice(index: number) {
  const message: Message = { role: "assistant", content: null, refusal: null };
  // An answer whose end was not told must not look whole.
  const logprobs = null as { readonly content: readonly JsonObject[]; readonly refusal: null } | null;
  return { index, message, logprobs, finish_reason: "error" as FinishReason };
}

/** Joins a delta to what came before it, as clients do: texts grow, calls grow by index, lists come whole. */
function addDelta(message: Message, { role: _role, tool_calls: fragments = [], ...rest }: Delta): void {
  for (const [name, value] of Object.entries(rest)) {
    if (typeof value !== "string") message[name] = value;
    else if (value !== "") message[name] = `${(message[name] as string | null) ?? ""}${value}`;
  }
  for (const { index, function: called, custom, ...members } of fragments) {
    const calls = (message.tool_calls ??= []);
    const call = (calls[index] ??= {});
    Object.assign(call, members);
    if (called !== undefined)
      (call.function ??= { name: called.name ?? "", arguments: "" }).arguments += called.arguments;
    if (custom !== undefined) (call.custom ??= { name: custom.name ?? "", input: "" }).input += custom.input;
  }
}
