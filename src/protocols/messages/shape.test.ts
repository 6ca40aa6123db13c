import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { runsOf } from "../../../test/runs.ts";
import { type Place, scanEvent, textAt } from "../scan.ts";
import { EVENT } from "./shape.ts";

const RUNS = runsOf(500, 10_000);
const encoder = new TextEncoder();

/** What the scanner finds in an event that stands in the middle of other bytes. */
function scan(event: unknown) {
  const text = typeof event === "string" ? event : JSON.stringify(event);
  const bytes = encoder.encode(`{"type":"error"}${text}]`);
  const valid = scanEvent(EVENT, EVENT.root, bytes, 16, bytes.length - 1);
  const told = (at: Place): unknown => (at.start === -1 ? undefined : JSON.parse(textAt(bytes, at)));
  return { valid, told, content: EVENT.content.on, text: { ...EVENT.text } };
}

const delta = (fields: object) => ({ type: "content_block_delta", index: 0, delta: fields });
const start = (content_block: object) => ({ type: "content_block_start", index: 0, content_block });

describe("an event is read in place", () => {
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
    { event: { type: "content_block_stop", index: 0 }, ascii: 0, content: false },
  ];
  for (const { event, ascii, wide = 0, content } of texts) {
    test(`for its text: ${JSON.stringify(event).slice(0, 100)}`, () => {
      expect(scan(event)).toMatchObject({ text: { ascii, wide }, content });
    });
  }

  test("for its reason to stop, and a credit of somebody else", () => {
    const ended = (stop_reason: unknown) => {
      scan({ type: "message_delta", delta: { stop_reason } });
      return EVENT.stopReason.start !== -1;
    };
    expect([ended("end_turn"), ended(null), ended("")]).toEqual([true, false, false]);
    const hasCredit = (event: unknown) => scan(event).told(EVENT.credit) !== undefined;
    expect([hasCredit({ type: "ping", credit: 1 }), hasCredit({ type: "ping" })]).toEqual([true, false]);
  });

  test("and nothing is left of the event before", () => {
    scan(start({ type: "tool_use", name: "abc", input: { a: 1 } }));
    const { text, content, told } = scan({ type: "ping" });
    expect([text.ascii, content]).toEqual([0, false]);
    expect([EVENT.block, EVENT.blockType, EVENT.input, EVENT.message].map(told)).toEqual(
      Array(4).fill(undefined),
    );
  });

  for (const broken of ["", "{", "[]", '"x"', "null", '{"type":"ping"', '{"type":"ping"} x', "{'type':1}"]) {
    test(`${JSON.stringify(broken)} is no event`, () => expect(scan(broken).valid).toBe(false));
  }

  test("whatever JSON comes: valid exactly when it is an object, with the spans of its members", () => {
    const key = fc.constantFrom("type", "delta", "message", "usage", "error", "content_block", "credit", "x");
    fc.assert(
      fc.property(fc.dictionary(key, fc.jsonValue({ maxDepth: 3 })), (event) => {
        const text = JSON.stringify(event, null, 1);
        const { valid, told } = scan(text);
        expect(valid).toBe(true);
        const isObject = (value: unknown): boolean =>
          typeof value === "object" && value !== null && !Array.isArray(value);
        // As the text says it: a number such as -0 is written as another.
        const { message, usage, type } = JSON.parse(text) as typeof event;
        expect(told(EVENT.message)).toEqual(isObject(message) ? message : undefined);
        expect(told(EVENT.usage)).toEqual(isObject(usage) ? usage : undefined);
        expect(told(EVENT.type)).toEqual(type);
      }),
      RUNS,
    );
  });
});
