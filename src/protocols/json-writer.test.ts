import { expect, test } from "bun:test";
import { createMadeOnce, isKept, keep, keepList } from "../core/json/kept.ts";
import { joinBytes } from "../core/bytes/bytes.ts";
import { parseExact } from "./exact-json.ts";
import { openJsonWriter } from "./json-writer.ts";

function written(value: unknown): string {
  const out = openJsonWriter();
  expect(out.value(value)).toBe(new TextEncoder().encode(JSON.stringify(value)).length);
  return new TextDecoder().decode(joinBytes(out.pieces));
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

test("the text of a list that comes again is gone on with, and no longer list changes what was written before", () => {
  const items = Array.from({ length: 60 }, (_, i) => ({ i, text: `é ${"x".repeat(i)}` }));
  const first = items.slice(0, 20);
  keepList(first, undefined);
  const held: { pieces: readonly Uint8Array[]; text: string }[] = [];
  const check = (list: readonly object[]): void => {
    const out = openJsonWriter();
    out.value(list);
    held.push({ pieces: out.pieces, text: JSON.stringify(list) });
    for (const { pieces, text } of held) expect(new TextDecoder().decode(joinBytes(pieces))).toBe(text);
  };
  check(first);
  check(first);
  // Each goes on from the one before, or from the first, which another has gone on from already.
  const goOn = (from: readonly object[], count: number, more: readonly object[]): readonly object[] => {
    const list = [...from.slice(0, count), ...more];
    keepList(list, { list: from, count });
    check(list);
    return list;
  };
  let last: readonly object[] = first;
  for (let at = 20; at < 60; at += 4) last = goOn(last, last.length, items.slice(at, at + 4));
  goOn(first, 20, items.slice(50));
  goOn(last, last.length, []);
  goOn(last, 30, items.slice(0, 2));
});

test("what is made of an object is kept where the object comes again, and only there", () => {
  const made = createMadeOnce<object, object>();
  const [once, again] = [{}, keep({})];
  const [ofOnce, ofAgain] = [{}, {}];
  expect([made.add(once, ofOnce), made.add(again, ofAgain)]).toEqual([ofOnce, ofAgain]);
  expect([made.get(once), made.get(again)]).toEqual([undefined, ofAgain]);
  expect([isKept(ofOnce), isKept(ofAgain)]).toEqual([false, true]);
});
