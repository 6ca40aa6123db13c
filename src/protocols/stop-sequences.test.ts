import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { finish, part, start } from "../../test/protocols/chat-events.ts";
import { foldEvents } from "../../test/protocols/folded-events.ts";
import { runsOf } from "../../test/runs.ts";
import type { ChatEvent } from "../core/chat.ts";
import { noteStops, untilStop } from "./stop-sequences.ts";

const RUNS = runsOf(500);

/** What a client hears of these events, whose request asked for these stops. */
function heard(stops: readonly string[], events: readonly ChatEvent[]): readonly ChatEvent[] {
  const told: ChatEvent[] = [];
  const hear = untilStop(noteStops(undefined, stops), (event) => void told.push(event));
  for (const event of events) hear(event);
  return told;
}

const text = (index: number, ...deltas: readonly string[]): ChatEvent[] =>
  part(index, { begun: { type: "text" }, deltas });
const only = (events: readonly ChatEvent[]) => foldEvents(events).choices.get(0);

/** A text in pieces that begin at these places. */
const cut = (whole: string, places: readonly number[]): readonly string[] => {
  const ends = [0, ...places.map((place) => place % (whole.length + 1)).sort((a, b) => a - b), whole.length];
  return ends
    .slice(1)
    .map((end, i) => whole.slice(ends[i], end))
    .filter((piece) => piece !== "");
};

describe("an answer of a format without stop sequences", () => {
  test("ends before the first of them, however the text is cut", () => {
    const words = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 30 });
    const stops = fc.array(fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 4 }), {
      minLength: 1,
      maxLength: 3,
    });
    fc.assert(
      fc.property(words, stops, fc.array(fc.nat(), { maxLength: 8 }), (whole, asked, places) => {
        const said = only(heard(asked, [start, ...text(0, ...cut(whole, places)), finish("length")]));
        const found = asked.flatMap((stop) => {
          const from = whole.indexOf(stop);
          return from === -1 ? [] : [{ from, to: from + stop.length }];
        });
        const [first] = found.toSorted((a, b) => a.to - b.to || a.from - b.from);
        const end = first?.from ?? whole.length;
        expect(said?.parts[0]?.text).toBe(whole.slice(0, end));
        expect(said?.finish).toBe(found.length === 0 ? "length" : "stop");
      }),
      RUNS,
    );
  });

  test("ends before the one that is whole first, and says which, where one stands in another", () => {
    for (const pieces of [["xabcd"], ["xabc", "d"]]) {
      const events = heard(["abcd", "bc"], [start, ...text(0, ...pieces), finish("length")]);
      expect(only(events)?.parts[0]?.text).toBe("xa");
      expect(events.at(-1)).toEqual({ type: "finish", choice: 0, reason: "stop", stop: "bc" });
    }
  });

  test("says nothing that came behind the stop: no text, no call, no other end", () => {
    const call = part(1, { begun: { type: "tool_call", id: "a", name: "f" }, deltas: ["{}"] });
    const said = only(
      heard(["END"], [start, ...text(0, "One. E", "ND Two."), ...call, finish("tool_calls")]),
    );
    expect(said).toEqual({ parts: [{ part: { type: "text" }, text: "One. " }], finish: "stop" });
  });

  test("is cut in its texts alone: thinking and calls may hold such a text", () => {
    const events = [
      start,
      ...part(0, { begun: { type: "thinking" }, deltas: ["END"] }),
      ...part(1, { begun: { type: "tool_call", id: "a", name: "f" }, deltas: ['{"a":"END"}'] }),
      finish("tool_calls"),
    ];
    expect(heard(["END"], events)).toEqual(events);
  });

  test("has a stop that stands at its beginning, or begins a text that ends as it began", () => {
    expect(only(heard(["a"], [start, ...text(0, "abc"), finish("stop")]))?.parts[0]?.text).toBe("");
    expect(only(heard(["ab"], [start, ...text(0, "ca"), ...text(1, "b"), finish("stop")]))?.parts).toEqual([
      { part: { type: "text" }, text: "ca" },
      { part: { type: "text" }, text: "b" },
    ]);
  });

  test("is handed on as it is where nobody asked for a stop", () => {
    const say = (): void => {};
    expect(untilStop(noteStops(undefined, ["", ""]), say)).toBe(say);
    expect(noteStops({ custom_tools: ["a"] }, ["x"])).toEqual({
      custom_tools: ["a"],
      stop_sequences: ["x"],
    });
  });
});
