import type { BegunPart, ChatEvent, Citation, FinishReason } from "../../src/core/chat.ts";

/** A part of an answer with all that was said of it. */
export interface FoldedPart {
  readonly part: BegunPart;
  text: string;
  signature?: string;
}

/** One choice of an answer. */
export interface FoldedChoice {
  readonly parts: FoldedPart[];
  readonly citations: Citation[];
  finish?: FinishReason;
  refusal?: string;
}

/** An answer as its events tell it. */
export interface FoldedAnswer {
  id?: string;
  readonly choices: Map<number, FoldedChoice>;
}

/** Puts events together. Throws for ones that no answer can be made of: out of order, unclosed, after the end. */
export function foldEvents(events: readonly ChatEvent[]): FoldedAnswer {
  const answer: FoldedAnswer = { choices: new Map() };
  const open = new Map<number, FoldedPart>();
  const broken = (event: ChatEvent): never => {
    throw new Error(`No such event can come here: ${JSON.stringify(event)}`);
  };
  for (const [i, event] of events.entries()) {
    if (event.type === "start") {
      if (i !== 0) broken(event);
      if (event.id !== undefined) answer.id = event.id;
      continue;
    }
    const choice = answer.choices.get(event.choice) ?? { parts: [], citations: [] };
    answer.choices.set(event.choice, choice);
    if (choice.finish !== undefined) broken(event);
    const part = open.get(event.choice);
    if (event.type === "part_start") {
      if (part !== undefined || event.index !== choice.parts.length) broken(event);
      const begun = { part: event.part, text: "" };
      open.set(event.choice, begun);
      choice.parts.push(begun);
    } else if (event.type === "citation") {
      if (choice.parts[event.index]?.part.type !== "text") broken(event);
      choice.citations.push(event.citation);
    } else if (event.type === "finish") {
      if (part !== undefined) broken(event);
      choice.finish = event.reason;
      if (event.refusal !== undefined) choice.refusal = event.refusal;
    } else if (part === undefined || event.index !== choice.parts.length - 1) broken(event);
    else if (event.type === "delta") {
      if (part.signature !== undefined || event.text === "") broken(event);
      part.text += event.text;
    } else if (event.type === "signature") {
      if (part.signature !== undefined) broken(event);
      part.signature = event.signature;
    } else open.delete(event.choice);
  }
  for (const [index, choice] of answer.choices)
    if (choice.finish === undefined) throw new Error(`Choice ${index} has no finish.`);
  return answer;
}
