import { expect, test } from "bun:test";
import { hasContent, NOTHING, withChunk } from "./answered.ts";

const delta = (content: object, finish: string | null = null): object => ({
  model: "m",
  choices: [{ index: 0, delta: content, finish_reason: finish }],
});
const all = (...chunks: readonly object[]) => chunks.reduce(withChunk, NOTHING);

test("text and thinking grow apart, under both names of thinking", () => {
  const answered = all(
    delta({ role: "assistant", content: "" }),
    delta({ reasoning_content: "a" }),
    delta({ reasoning: "b" }),
    delta({ content: "c" }),
    delta({ content: "d" }, "stop"),
  );
  expect(answered).toMatchObject({ model: "m", thinking: "ab", text: "cd", finish: "stop" });
});

test("calls are put together by their index", () => {
  const answered = all(
    delta({ tool_calls: [{ index: 0, id: "x", function: { name: "f", arguments: "" } }] }),
    delta({ tool_calls: [{ index: 1, id: "y", function: { name: "g", arguments: "{}" } }] }),
    delta({ tool_calls: [{ index: 0, function: { arguments: '{"a":' } }] }),
    delta({ tool_calls: [{ index: 0, function: { arguments: "1}" } }] }),
  );
  expect(answered.calls).toEqual([
    { id: "x", name: "f", arguments: '{"a":1}' },
    { id: "y", name: "g", arguments: "{}" },
  ]);
});

test("details of one index and type become one, with the last signature", () => {
  const answered = all(
    delta({ reasoning_details: [{ type: "thinking", thinking: "a", index: 0 }] }),
    delta({ reasoning_details: [{ type: "thinking", thinking: "b", signature: "s", index: 0 }] }),
    delta({ reasoning_details: [{ type: "redacted", data: "x", index: 1 }] }),
  );
  expect(answered.details).toEqual([
    { type: "thinking", thinking: "ab", signature: "s", index: 0 },
    { type: "redacted", data: "x", index: 1 },
  ]);
});

test("other choices than the first are left out", () => {
  expect(all({ choices: [{ index: 1, delta: { content: "x" } }] }).text).toBe("");
});

test("the last chunks bring tokens and credit", () => {
  const usage = {
    prompt_tokens: 4,
    completion_tokens: 3,
    prompt_tokens_details: { cached_tokens: 2 },
    completion_tokens_details: { reasoning_tokens: 1 },
  };
  const answered = all({ choices: [], usage, credit: 0.5 }, { choices: [], usage: null });
  expect(answered.tokens).toEqual({ input: 4, cached: 2, output: 3, reasoning: 1 });
  expect(answered.credit).toBe(0.5);
});

test("an error in the stream keeps what came before it", () => {
  const answered = all(delta({ content: "a" }), { error: { type: "upstream_error", message: "Gone." } });
  expect(answered).toMatchObject({ text: "a", error: { type: "upstream_error", message: "Gone." } });
});

test("a chunk without content is none", () => {
  expect(hasContent(all(delta({ role: "assistant", content: "" })))).toBe(false);
  expect(hasContent(all(delta({ content: "a" })))).toBe(true);
});
