import type { ChatEvent } from "../../src/core/chat.ts";

/** A part of an answer, put together from its events. */
export interface FoldedPart {
  readonly part: Extract<ChatEvent, { type: "part_start" }>["part"];
  text: string;
  signature?: string;
  readonly citations: object[];
}

/**
 * An answer put together from its events. Throws where they break the order that is promised: parts one after another at
 * indexes that count up, a signature once and last, one finish at the end.
 */
export function foldEvents(events: readonly ChatEvent[]) {
  const parts: FoldedPart[] = [];
  const starts: string[] = [];
  let open = false;
  let finish: Extract<ChatEvent, { type: "finish" }> | undefined;
  for (const event of events) {
    if (finish !== undefined) throw new Error(`${event.type} after the finish`);
    if (event.type === "start") {
      if (parts.length > 0) throw new Error("a start after a part");
      starts.push(event.id ?? "");
      continue;
    }
    if (event.type === "finish") {
      if (open) throw new Error("a finish in a part");
      finish = event;
      continue;
    }
    if (event.type === "part_start") {
      if (open || event.index !== parts.length) throw new Error(`part ${event.index} out of order`);
      open = true;
      parts.push({ part: event.part, text: "", citations: [] });
      continue;
    }
    const part = parts.at(-1);
    if (!open || part === undefined || event.index !== parts.length - 1)
      throw new Error(`${event.type} of a part that is not open`);
    if (event.type === "part_end") open = false;
    else if (event.type === "citation") part.citations.push(event.citation);
    else if (event.type === "signature") {
      if (part.signature !== undefined) throw new Error("a second signature");
      part.signature = event.signature;
    } else {
      if (part.signature !== undefined || event.text === "") throw new Error("a delta that should not be");
      part.text += event.text;
    }
  }
  if (starts.length > 1) throw new Error("a second start");
  return { id: starts[0], parts, finish, isOpen: open };
}
