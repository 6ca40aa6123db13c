import type { BegunPart, ChatEvent, Citation, FinishReason, TokenLogprob } from "../../src/core/chat.ts";

/** A part of an answer with all that was said of it. */
export interface FoldedPart {
  readonly part: BegunPart;
  text: string;
  signature?: string;
  /** Absent where there is none. */
  citations?: Citation[];
}

/** One choice of an answer. */
export interface FoldedChoice {
  readonly parts: FoldedPart[];
  finish?: FinishReason;
  refusal?: string;
  logprobs?: readonly TokenLogprob[];
}

/** An answer as its events tell it. */
export interface FoldedAnswer {
  id?: string;
  readonly choices: ReadonlyMap<number, FoldedChoice>;
}

/**
 * Puts events together. Throws for ones that no answer can be made of: out of order, after the end. Whether every choice
 * has come to its end is for the caller to ask.
 */
export function foldEvents(events: readonly ChatEvent[]): FoldedAnswer {
  const choices = new Map<number, FoldedChoice>();
  const open = new Set<FoldedChoice>();
  const answer: FoldedAnswer = { choices };
  for (const [i, event] of events.entries()) {
    if (event.type === "start") {
      if (i !== 0) throw broken(event);
      if (event.id !== undefined) answer.id = event.id;
      continue;
    }
    const choice = choices.get(event.choice) ?? { parts: [] };
    choices.set(event.choice, choice);
    if (choice.finish !== undefined) throw broken(event);
    take(choice, event, open);
  }
  return answer;
}

/** `open` are the choices with a part that has begun and not ended. */
function take(
  choice: FoldedChoice,
  event: Exclude<ChatEvent, { type: "start" }>,
  open: Set<FoldedChoice>,
): void {
  if (event.type === "finish") {
    if (open.has(choice)) throw broken(event);
    choice.finish = event.reason;
    if (event.refusal !== undefined) choice.refusal = event.refusal;
    return;
  }
  if (event.type === "logprobs") {
    choice.logprobs = [...(choice.logprobs ?? []), ...event.tokens];
    return;
  }
  if (event.type === "part_start") {
    if (open.has(choice) || event.index !== choice.parts.length) throw broken(event);
    open.add(choice);
    choice.parts.push({ part: event.part, text: "" });
    return;
  }
  const part = choice.parts[event.index];
  if (part === undefined) throw broken(event);
  if (event.type === "citation") {
    // Some come when the text that they are of has ended.
    if (part.part.type !== "text") throw broken(event);
    part.citations = [...(part.citations ?? []), event.citation];
    return;
  }
  if (!open.has(choice) || event.index !== choice.parts.length - 1) throw broken(event);
  if (event.type === "part_end") open.delete(choice);
  else if (part.signature !== undefined) throw broken(event);
  else if (event.type === "signature") part.signature = event.signature;
  else if (event.text === "") throw broken(event);
  else part.text += event.text;
}

function broken(event: ChatEvent): Error {
  return new Error(`No such event can come here: ${JSON.stringify(event)}`);
}
