import { describe, expect, test } from "bun:test";
import { foldEvents } from "../../../../test/protocols/folded-events.ts";
import type { ChatEvent } from "../../../core/chat.ts";
import { decodeAnswer, openDecoder } from "./decode-answer.ts";

const chunk = (delta: object, finish_reason: string | null = null, index = 0) => ({
  id: "chatcmpl-1",
  choices: [{ index, delta, finish_reason }],
});
const decode = (...chunks: readonly Record<string, unknown>[]): readonly ChatEvent[] => {
  const told: ChatEvent[] = [];
  const decoder = openDecoder((event) => void told.push(event));
  for (const each of chunks) decoder.read(each);
  decoder.end();
  return told;
};
const only = (events: readonly ChatEvent[]) => foldEvents(events).choices.get(0);
const fragment = (index: number, text: string, more: object = {}) => ({
  tool_calls: [{ index, ...more, function: { arguments: text } }],
});
const begin = (index: number, id: string, text = "") => ({
  tool_calls: [{ index, id, type: "function", function: { name: `f_${id}`, arguments: text } }],
});
const call = (id: string, text: string) => ({ part: { type: "tool_call", id, name: `f_${id}` }, text });

describe("a stream", () => {
  test("a part is what the first member says that is not empty", () => {
    const events = decode(
      chunk({ role: "assistant", content: "", reasoning_content: null }),
      chunk({ content: null, reasoning_content: "Hm" }),
      chunk({ content: "", reasoning_content: "m." }),
      chunk({ content: "Yes", reasoning_content: null }),
      chunk({ content: "." }),
      chunk({}, "stop"),
    );
    expect(events[0]).toEqual({ type: "start", id: "chatcmpl-1" });
    expect(only(events)).toEqual({
      parts: [
        { part: { type: "thinking" }, text: "Hmm." },
        { part: { type: "text" }, text: "Yes." },
      ],
      finish: "stop",
    });
  });

  test("an answer of reasoning alone has one part", () => {
    const said = only(decode(chunk({ reasoning: "Only." }), chunk({}, "stop")));
    expect(said?.parts).toEqual([{ part: { type: "thinking" }, text: "Only." }]);
  });

  test("calls come one after another, whole, though their fragments mix", () => {
    const events = decode(
      chunk({ content: "Both." }),
      chunk(begin(0, "a", '{"x"')),
      chunk(begin(1, "b", '{"y":')),
      chunk(fragment(0, ':"}"}')),
      chunk(fragment(1, "2}")),
      chunk(begin(2, "c")),
      chunk({}, "tool_calls"),
    );
    expect(only(events)).toEqual({
      parts: [
        { part: { type: "text" }, text: "Both." },
        call("a", '{"x":"}"}'),
        call("b", '{"y":2}'),
        call("c", ""),
      ] as never,
      finish: "tool_calls",
    });
  });

  test("a call whose predecessor has ended is told at once", () => {
    const told: ChatEvent[] = [];
    const decoder = openDecoder((event) => void told.push(event));
    decoder.read(chunk(begin(0, "a", "{}")));
    decoder.read(chunk(begin(1, "b", '{"y"')));
    expect(told.at(-1)).toEqual({ type: "delta", choice: 0, index: 1, text: '{"y"' });
  });

  test("text amid a call that goes on waits for its end", () => {
    const events = decode(
      chunk(begin(0, "a", "{")),
      chunk({ content: "Mean" }),
      chunk({ content: "while." }),
      chunk(fragment(0, "}")),
      chunk({}, "tool_calls"),
    );
    expect(only(events)?.parts).toEqual([
      call("a", "{}"),
      { part: { type: "text" }, text: "Meanwhile." },
    ] as never);
  });

  test("many calls at once come out in bounded work", () => {
    const many = Array.from({ length: 5_000 }, (_, i) => i);
    const events = decode(
      ...many.map((i) => chunk(begin(i, `${i}`, "{"))),
      ...many.map((i) => chunk(fragment(i, "}"))),
      chunk({}, "tool_calls"),
    );
    expect(only(events)?.parts).toHaveLength(5_000);
  }, 2_000);

  test("a call of a custom tool is one, and of old a function by itself", () => {
    const custom = { index: 0, id: "a", type: "custom", custom: { name: "sh", input: "ls" } };
    const events = decode(
      chunk({ tool_calls: [custom] }),
      chunk({ tool_calls: [{ index: 0, custom: { input: " -l" } }] }),
      chunk({}, "tool_calls"),
    );
    expect(only(events)?.parts).toEqual([
      { part: { type: "tool_call", id: "a", name: "sh", custom: true }, text: "ls -l" },
    ]);
    const old = decode(
      chunk({ function_call: { name: "f", arguments: "{" } }),
      chunk({ function_call: { arguments: "}" } }),
      chunk({}, "function_call"),
    );
    expect(only(old)).toEqual({
      parts: [{ part: { type: "tool_call", id: "call_chatcmpl-1_0_0", name: "f" }, text: "{}" }],
      finish: "tool_calls",
    });
  });

  test("reasons to end: calls end an answer unless it was cut or filtered, and none at the end is a good one", () => {
    const finishOf = (word: string | undefined, ...before: object[]) =>
      only(decode(...before.map((delta) => chunk(delta)), ...(word === undefined ? [] : [chunk({}, word)])))
        ?.finish;
    const calls = begin(0, "a", "{}");
    expect(["stop", "length", "content_filter", undefined].map((word) => finishOf(word, calls))).toEqual([
      "tool_calls",
      "length",
      "content_filter",
      "tool_calls",
    ]);
    expect(["error", "unheard_of", undefined].map((word) => finishOf(word, { content: "a" }))).toEqual([
      "error",
      "stop",
      "stop",
    ]);
  });

  test("each choice has its own parts, told in any mixture", () => {
    const { choices } = foldEvents(
      decode(
        chunk({ content: "a" }),
        chunk({ content: "b" }, null, 1),
        chunk({ content: "c" }),
        chunk({}, "stop"),
        chunk({}, "length", 1),
      ),
    );
    expect([...choices.values()].map(({ parts, finish }) => [parts[0]?.text, finish])).toEqual([
      ["ac", "stop"],
      ["b", "length"],
    ]);
  });

  test("a refusal is a part of its own", () => {
    expect(only(decode(chunk({ refusal: "No" }), chunk({ refusal: "." }), chunk({}, "stop")))?.parts).toEqual(
      [{ part: { type: "refusal" }, text: "No." }],
    );
  });

  test("a router's items give thinking its issuer and its signature, and its text once", () => {
    const item = (more: object) => ({ format: "anthropic-claude-v1", index: 0, ...more });
    const text = (said: string) => ({
      reasoning: said,
      reasoning_details: [item({ type: "reasoning.text", text: said })],
    });
    const events = decode(
      chunk(text("I ")),
      chunk(text("think.")),
      chunk({ reasoning_details: [item({ type: "reasoning.text", signature: "sig" })] }),
      chunk({ reasoning_details: [item({ type: "reasoning.encrypted", data: "sealed" })] }),
      chunk({ content: "So." }),
      chunk({}, "stop"),
    );
    expect(only(events)?.parts).toEqual([
      { part: { type: "thinking", issuer: "anthropic" }, text: "I think.", signature: "sig" },
      { part: { type: "redacted_thinking", issuer: "anthropic", data: "sealed" }, text: "" },
      { part: { type: "text" }, text: "So." },
    ]);
  });

  test("pages that it rests on are citations of its text, images are parts with their signature", () => {
    const page = { start_index: 0, end_index: 3, title: "T", url: "https://a.test" };
    const events = decode(
      chunk({ content: "So.", annotations: [{ type: "url_citation", url_citation: page }] }),
      chunk({
        images: [
          { type: "image_url", image_url: { url: "data:image/png;thought_signature=c2ln;base64,aaaa" } },
        ],
      }),
      chunk({}, "stop"),
    );
    expect(only(events)?.parts).toEqual([
      {
        part: { type: "text" },
        text: "So.",
        citations: [{ url: "https://a.test", title: "T", start: 0, end: 3 }],
      },
      { part: { type: "image", mediaType: "image/png", data: "aaaa" }, text: "", signature: "c2ln" },
    ]);
  });

  test("more of a text alone can be told without its chunk", () => {
    const told: ChatEvent[] = [];
    const decoder = openDecoder((event) => void told.push(event));
    decoder.read(chunk({ reasoning_content: "a", content: null }));
    decoder.more?.("b");
    decoder.read(chunk({ content: "c" }));
    decoder.more?.("d");
    decoder.read(chunk({ content: "e" }, "stop"));
    expect(decoder.more).toBeUndefined();
    decoder.end();
    expect(only(told)?.parts.map(({ text }) => text)).toEqual(["ab", "cde"]);
    decoder.read(chunk(begin(0, "a", "{")));
    expect(decoder.more).toBeUndefined();
  });
});

test("a whole answer is told as its stream would be", () => {
  const message = {
    role: "assistant",
    content: "So.",
    refusal: null,
    reasoning_content: "Hm.",
    tool_calls: [
      { id: "a", type: "function", function: { name: "f_a", arguments: "" } },
      { id: "b", type: "function", function: { name: "f_b", arguments: "{}" } },
    ],
  };
  const events = decodeAnswer({ id: "x", choices: [{ index: 0, message, finish_reason: "tool_calls" }] });
  expect(foldEvents(events).id).toBe("x");
  expect(only(events)).toEqual({
    parts: [
      { part: { type: "thinking" }, text: "Hm." },
      { part: { type: "text" }, text: "So." },
      call("a", ""),
      call("b", "{}"),
    ] as never,
    finish: "tool_calls",
  });
});
