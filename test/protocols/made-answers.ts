import * as fc from "fast-check";
import type { BegunPart, ChatEvent } from "../../src/core/chat.ts";
import type { Said } from "./chat-events.ts";

// What answers in no format are made of, for the laws of the ends that write them.

type Deltas = fc.Arbitrary<readonly string[]>;

/** Texts in pieces, none of them empty. */
export const words: Deltas = fc.array(fc.string({ minLength: 1, maxLength: 6, unit: "binary" }), {
  maxLength: 4,
});
export const none: Deltas = fc.constant([]);
export const base64 = fc.base64String({ minLength: 4, maxLength: 12 });
export const signed = fc.option(base64, { nil: undefined });
export const unsigned = fc.constant(undefined);

/** JSON text of an object in pieces. */
const json: Deltas = fc
  .tuple(fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }), fc.array(fc.nat(), { maxLength: 3 }))
  .map(([value, cuts]) => {
    const text = JSON.stringify(value);
    const ends = [0, ...cuts.map((cut) => cut % text.length).sort((a, b) => a - b), text.length];
    return ends
      .slice(1)
      .map((end, i) => text.slice(ends[i], end))
      .filter((piece) => piece !== "");
  });

/** What a call is called with: nothing, or an object in pieces. */
export const input: Deltas = fc.oneof(none, json);

/** A part with what comes of it. */
export function said(
  begun: fc.Arbitrary<BegunPart>,
  deltas: Deltas,
  signature: fc.Arbitrary<string | undefined>,
): fc.Arbitrary<Said> {
  return fc
    .tuple(begun, deltas, signature)
    .map(([one, more, by]) => ({ begun: one, deltas: more, ...(by === undefined ? {} : { signature: by }) }));
}

/** Why an answer ends that nobody broke off. */
export const reason = fc.constantFrom("stop" as const, "length" as const, "content_filter" as const);

/** The same answer with every text in its single code units. */
export function apart(whole: readonly ChatEvent[]): ChatEvent[] {
  return whole.flatMap((event): ChatEvent[] => {
    if (event.type !== "delta") return [event];
    const { choice, index } = event;
    return event.text.split("").map((unit) => ({ type: "delta", choice, index, text: unit }));
  });
}
