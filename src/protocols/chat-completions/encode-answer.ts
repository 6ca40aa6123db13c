import type { ChatEvent, FinishReason } from "../../core/chat.ts";
import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import type { AnswerContext, Metered } from "../protocol.ts";
import { type ChoiceDelta, openDeltaWriter } from "./encode-deltas.ts";
import { answerId } from "./encode-events.ts";
import { encodeUsage } from "./usage.ts";

/**
 * A whole answer from its events, up to the charge. It is what a client makes of the same events in a stream, because
 * it is made of the same deltas.
 */
export function encodeAnswer(
  events: readonly ChatEvent[],
  metered: Metered,
  context: AnswerContext,
): JsonObject {
  const deltas: ChoiceDelta[] = [];
  const writer = openDeltaWriter((delta) => void deltas.push(delta));
  for (const event of events) writer.push(event);
  const start = events.find((event) => event.type === "start");
  return {
    id: answerId(start?.id, context),
    object: "chat.completion",
    created: context.nowSec,
    model: context.model,
    choices: foldDeltas(deltas),
    usage: encodeUsage(metered.usage),
  };
}

interface Folded {
  readonly text: Record<(typeof TEXTS)[number], string>;
  readonly calls: FoldedCall[];
  readonly lists: JsonObject;
  finish: FinishReason | null;
}

interface FoldedCall {
  readonly members: JsonObject;
  name: string;
  arguments: string;
}

const TEXTS = ["content", "refusal", "reasoning_content"] as const;

/** Deltas joined into choices, as clients join them: texts grow, calls grow by index, lists come whole. */
export function foldDeltas(deltas: readonly ChoiceDelta[]): JsonObject[] {
  const choices = new Map<number, Folded>();
  for (const { choice, delta, finish } of deltas) {
    const folded = choices.get(choice) ?? {
      text: { content: "", refusal: "", reasoning_content: "" },
      calls: [],
      lists: {},
      finish: null,
    };
    choices.set(choice, folded);
    fold(folded, delta);
    folded.finish = finish ?? folded.finish;
  }
  return [...choices].sort(([a], [b]) => a - b).map(([index, folded]) => choiceOf(index, folded));
}

function fold(folded: Folded, delta: JsonObject): void {
  const { role: _role, tool_calls: fragments, ...rest } = delta;
  for (const [name, value] of Object.entries(rest)) {
    const text = TEXTS.find((known) => known === name);
    if (text === undefined) folded.lists[name] = value;
    else if (typeof value === "string") folded.text[text] += value;
  }
  for (const given of Array.isArray(fragments) ? fragments.filter(isJsonObject) : []) {
    const { index, function: called, ...members } = given;
    const { name, arguments: input } = isJsonObject(called) ? called : {};
    const at = Number(index);
    const call = folded.calls[at];
    const more = typeof input === "string" ? input : "";
    if (call === undefined) folded.calls[at] = { members, name: String(name), arguments: more };
    else {
      call.arguments += more;
      Object.assign(call.members, members);
    }
  }
}

function choiceOf(index: number, { text, calls, lists, finish }: Folded): JsonObject {
  const toolCalls = calls.map(({ members, name, arguments: input }) => ({
    ...members,
    function: { name, arguments: input },
  }));
  return {
    index,
    message: {
      role: "assistant",
      content: text.content === "" ? null : text.content,
      refusal: text.refusal === "" ? null : text.refusal,
      ...(text.reasoning_content === "" ? {} : { reasoning_content: text.reasoning_content }),
      ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
      ...lists,
    },
    logprobs: null,
    // An answer whose end was not told must not look whole.
    finish_reason: finish ?? "error",
  };
}
