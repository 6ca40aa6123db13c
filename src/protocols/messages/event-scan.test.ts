import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { messageEvents } from "../../../test/upstream/messages-bytes.ts";
import { createEventScanner, type EventFacts } from "./event-scan.ts";

const RUNS = {
  seed: Number(process.env.SWITCHYARD_TEST_SEED ?? "1"),
  numRuns: process.env.SWITCHYARD_TEST_LONG === "1" ? 10_000 : 500,
};
const encoder = new TextEncoder();
const scanner = createEventScanner();

/** What the scanner finds in an event that stands in the middle of other bytes. */
function scan(event: unknown): EventFacts {
  const text = typeof event === "string" ? event : JSON.stringify(event);
  const bytes = encoder.encode(`{"type":"error"}${text}]`);
  scanner.scan(bytes, 16, bytes.length - 1);
  return { ...scanner.facts };
}

const delta = (fields: object) => ({ type: "content_block_delta", index: 0, delta: fields });
const start = (content_block: object) => ({ type: "content_block_start", index: 0, content_block });

describe("an event is read in place", () => {
  test("by its type, whatever the order of its members", () => {
    for (const event of messageEvents({})) {
      const turned = Object.fromEntries(Object.entries(event).toReversed());
      const { type } = event as { type: EventFacts["kind"] };
      expect([scan(event).kind, scan(turned).kind, scan(event).valid]).toEqual([type, type, true]);
    }
    expect(scan({ type: "of_tomorrow" }).kind).toBe("other");
    expect(scan({ kind: "ping" }).kind).toBe("other");
    expect(scan({ type: "ping", error: { type: "x" } }).kind).toBe("error");
    expect(scan({ type: "ping", error: null }).kind).toBe("ping");
  });

  const texts: readonly { event: object; ascii: number; wide?: number; content: boolean }[] = [
    { event: delta({ type: "text_delta", text: "abc" }), ascii: 3, content: true },
    { event: delta({ type: "text_delta", text: "é😀" }), ascii: 0, wide: 6, content: true },
    { event: delta({ type: "text_delta", text: "" }), ascii: 0, content: false },
    { event: delta({ type: "thinking_delta", thinking: "ab" }), ascii: 2, content: true },
    { event: delta({ type: "input_json_delta", partial_json: "{1" }), ascii: 2, content: true },
    { event: delta({ type: "signature_delta", signature: "SIG" }), ascii: 0, content: true },
    { event: delta({ type: "citations_delta", citation: { cited_text: "abc" } }), ascii: 0, content: true },
    { event: start({ type: "text", text: "" }), ascii: 0, content: false },
    { event: start({ type: "text", text: "ab" }), ascii: 2, content: true },
    { event: start({ type: "thinking", thinking: "", signature: "" }), ascii: 0, content: false },
    { event: start({ type: "tool_use", id: "t", name: "abcd", input: {} }), ascii: 4, content: true },
    { event: start({ type: "tool_use", id: "t", name: "abcd", input: { a: 1 } }), ascii: 9, content: true },
    { event: start({ type: "redacted_thinking", data: "AAAA" }), ascii: 0, content: true },
    { event: { type: "content_block_stop", index: 0 }, ascii: 0, content: false },
  ];
  for (const { event, ascii, wide = 0, content } of texts) {
    test(`for its text: ${JSON.stringify(event).slice(0, 100)}`, () => {
      const facts = scan(event);
      expect([facts.ascii, facts.wide, facts.hasContent]).toEqual([ascii, wide, content]);
    });
  }

  test("for its reason to stop, its searches and a credit of somebody else", () => {
    const ended = (stop_reason: unknown) =>
      scan({ type: "message_delta", delta: { stop_reason } }).hasStopReason;
    expect([ended("end_turn"), ended(null), ended("")]).toEqual([true, false, false]);
    expect(scan(start({ type: "web_search_tool_result" })).hasSearch).toBe(true);
    expect(scan(start({ type: "server_tool_use" })).hasSearch).toBe(false);
    expect([scan({ type: "ping", credit: 1 }).hasCredit, scan({ type: "ping" }).hasCredit]).toEqual([
      true,
      false,
    ]);
  });

  test("and nothing is left of the event before", () => {
    scan(delta({ type: "text_delta", text: "abc" }));
    const facts = scan({ type: "ping" });
    expect([facts.ascii, facts.hasContent, facts.messageStart, facts.usageStart]).toEqual([0, false, -1, -1]);
  });

  for (const broken of ["", "{", "[]", '"x"', "null", '{"type":"ping"', '{"type":"ping"} x', "{'type':1}"]) {
    test(`${JSON.stringify(broken)} is no event`, () => expect(scan(broken).valid).toBe(false));
  }

  test("whatever JSON comes: valid exactly when it is an object, with the spans of its members", () => {
    const key = fc.constantFrom("type", "delta", "message", "usage", "error", "content_block", "credit", "x");
    fc.assert(
      fc.property(fc.dictionary(key, fc.jsonValue({ maxDepth: 3 })), (event) => {
        const text = JSON.stringify(event, null, 1);
        const facts = scan(text);
        expect(facts.valid).toBe(true);
        const at = (from: number, to: number): unknown =>
          from === -1
            ? undefined
            : JSON.parse(
                new TextDecoder().decode(encoder.encode(`{"type":"error"}${text}]`).slice(from, to)),
              );
        const isObject = (value: unknown): boolean =>
          typeof value === "object" && value !== null && !Array.isArray(value);
        // As the text says it: a number such as -0 is written as another.
        const { message, usage, type } = JSON.parse(text) as typeof event;
        expect(at(facts.messageStart, facts.messageEnd)).toEqual(isObject(message) ? message : undefined);
        expect(at(facts.usageStart, facts.usageEnd)).toEqual(isObject(usage) ? usage : undefined);
        expect(at(facts.typeStart, facts.typeEnd)).toEqual(type);
      }),
      RUNS,
    );
  });
});
