import { expect, test } from "bun:test";
import { createMadeOnce, isKept, keep } from "../core/json/kept.ts";
import { parseExact } from "./exact-json.ts";
import { openJsonWriter } from "./json-writer.ts";

function written(value: unknown): string {
  const out = openJsonWriter();
  expect(out.value(value)).toBe(new TextEncoder().encode(JSON.stringify(value)).length);
  return new TextDecoder().decode(out.bytes());
}

test("a value is written as JSON.stringify writes it, whatever in it comes again", () => {
  const block = keep({ type: "text", text: 'é "\n\ud800', cache_control: undefined });
  const call = keep({ type: "tool_use", input: parseExact('{"id":1234567890123456789,"x":1.0}') });
  const message = keep({ role: "user", content: [block] });
  for (const value of [
    [],
    [block],
    [message, { role: "assistant", content: [call, { type: "text", text: "b" }], more: undefined, n: null }],
    [1, null, undefined, "a", message, [block], { a: [block, undefined, 2], ü: { b: 1 } }],
    [{ content: [] }, { content: [{ text: "a" }] }],
    { messages: [message] },
    "text",
    7,
    null,
  ])
    // The second time what comes again is known.
    for (const text of [written(value), written(value)]) expect(text).toBe(JSON.stringify(value));
});

test("what is made of an object is kept where the object comes again, and only there", () => {
  const made = createMadeOnce<object, object>();
  const [once, again] = [{}, keep({})];
  const [ofOnce, ofAgain] = [{}, {}];
  expect([made.add(once, ofOnce), made.add(again, ofAgain)]).toEqual([ofOnce, ofAgain]);
  expect([made.get(once), made.get(again)]).toEqual([undefined, ofAgain]);
  expect([isKept(ofOnce), isKept(ofAgain)]).toEqual([false, true]);
});
