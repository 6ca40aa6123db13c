import { describe, expect, test } from "bun:test";
import { part, start } from "../../test/protocols/chat-events.ts";
import type { ChatEvent, ChatRequest, Part, Turn } from "../core/chat.ts";
import { callKey, callsWithoutThinking, openThinkingListener, withThinking } from "./recalled-thinking.ts";

const call = (id: string, input = "{}"): Extract<Part, { type: "tool_call" }> => ({
  type: "tool_call",
  id,
  name: "look_up",
  input,
});
const chatOf = (...parts: readonly Part[]): ChatRequest => ({
  turns: [
    { role: "user", parts: [{ type: "text", text: "hi" }] },
    { role: "assistant", parts },
  ],
  tools: [],
  stop: [],
  choices: 1,
});
const thought = { type: "thinking", text: "Hm.", signature: "S", issuer: "anthropic" } as const;
const partsOf = ({ turns }: ChatRequest): Turn["parts"] => turns[1]?.parts ?? [];

function heard(...events: readonly ChatEvent[]) {
  const listener = openThinkingListener();
  for (const event of [start, ...events]) listener.hear(event);
  return listener.calls;
}

describe("the key of a call", () => {
  test("is that of its id, its tool and the value of its input", () => {
    const key = callKey(call("a", '{"b":1,"c":"x"}'));
    expect(callKey(call("a", ' { "b": 1, "c":"x" } '))).toBe(key);
    const others = [
      call("b", '{"b":1,"c":"x"}'),
      call("a", '{"b":2,"c":"x"}'),
      call("a", "{"),
      { ...call("a"), name: "f" },
    ];
    for (const other of others) expect(callKey(other)).not.toBe(key);
  });

  test("keeps numbers apart that a double cannot", () => {
    expect(callKey(call("a", '{"n":9007199254740993}'))).not.toBe(
      callKey(call("a", '{"n":9007199254740992}')),
    );
  });
});

describe("what was thought before calls", () => {
  const thinking = part(0, {
    begun: { type: "thinking", issuer: "anthropic" },
    deltas: ["H", "m."],
    signature: "S",
  });
  const begun = { type: "tool_call", id: "a", name: "look_up" } as const;

  test("is heard with the call that follows it, and comes back before it", () => {
    const calls = heard(
      ...thinking,
      ...part(1, { begun: { type: "text" }, deltas: ["I look."] }),
      ...part(2, { begun, deltas: ['{"x"', ":1}"] }),
      ...part(3, { begun: { type: "redacted_thinking", data: "D", issuer: "anthropic" } }),
      ...part(4, { begun: { ...begun, id: "b" }, deltas: ["{}"] }),
    );
    const known = Object.fromEntries(calls.map(({ key, thinking: before }) => [key, before]));
    const text = { type: "text", text: "I look." } as const;
    const calling = [call("a", '{"x": 1}'), call("b")] as const;
    expect(partsOf(withThinking(chatOf(text, ...calling), known))).toEqual([
      thought,
      text,
      calling[0],
      { type: "redacted_thinking", data: "D", issuer: "anthropic" },
      calling[1],
    ]);
  });

  test("is the signature of a text alone, which comes back on the last words that have none", () => {
    const said = (...deltas: string[]) => part(0, { begun: { type: "text" }, deltas });
    const mark = part(1, { begun: { type: "thinking", issuer: "google" }, signature: "S" });
    const calls = heard(...said("So: "), ...mark, ...said("It is", " done."), ...mark);
    const known = Object.fromEntries(calls.map(({ key, thinking: signed }) => [key, signed]));
    expect(calls.length).toBe(1);
    expect(heard(...said("a"), ...mark, ...part(2, { begun, deltas: ["{}"] })).length).toBe(1);
    expect(heard(...thinking, ...mark)).toEqual([]);
    const words = { type: "text", text: "It is done." } as const;
    const backOf = (...parts: readonly Part[]) => {
      const chat = chatOf(...parts);
      expect(callsWithoutThinking(chat).length).toBe(1);
      return partsOf(withThinking(chat, known));
    };
    const unsigned = { type: "thinking", text: "Hm.", issuer: "google" } as const;
    expect(backOf(unsigned, words)).toEqual([
      unsigned,
      words,
      { type: "thinking", issuer: "google", text: "", signature: "S" },
    ]);
    expect(backOf({ ...words, text: "It is done!" })).toEqual([{ ...words, text: "It is done!" }]);
    expect(callsWithoutThinking(chatOf({ ...words, signature: "X" }))).toEqual([]);
    const user: Turn = { role: "user", parts: [words] };
    expect(callsWithoutThinking({ ...chatOf(), turns: [user] })).toEqual([]);
  });

  test("is nothing where nothing was thought", () => {
    expect(heard(...part(0, { begun, deltas: ["{}"] }))).toEqual([]);
    expect(heard(...thinking)).toEqual([]);
  });

  test("may be the signature of the call itself", () => {
    const calls = heard(...part(0, { begun, deltas: ["{}"], signature: "G" }));
    const known = Object.fromEntries(calls.map(({ key, thinking: before }) => [key, before]));
    expect(partsOf(withThinking(chatOf(call("a")), known))).toEqual([{ ...call("a"), signature: "G" }]);
  });

  test("of a second answer is not taken for that of the first", () => {
    expect(heard(...part(0, { begun, deltas: ["{}"], signature: "G" }, 1))).toEqual([]);
  });
});

describe("a turn that has a thought", () => {
  const known = { [callKey(call("a"))]: { before: [thought] } };
  const own = { ...thought, text: "its own" };
  const cases: Readonly<Record<string, readonly Part[]>> = {
    "of its own": [own, call("a")],
    "that is redacted": [{ type: "redacted_thinking", data: "D" }, call("a")],
    "signed in its call": [{ ...call("a"), signature: "G" }],
  };
  for (const [name, parts] of Object.entries(cases))
    test(`${name} is left as it is`, () => {
      expect(callsWithoutThinking(chatOf(...parts))).toEqual([]);
      expect(partsOf(withThinking(chatOf(...parts), known))).toEqual([...parts]);
    });
});
