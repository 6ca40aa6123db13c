import { describe, expect, test } from "bun:test";
import { ANSWER_CONTEXT } from "../../../../test/protocols/answer-context.ts";
import { type Json } from "../../../../test/protocols/chat-events.ts";
import { foldEvents } from "../../../../test/protocols/folded-events.ts";
import type { ChatEvent } from "../../../core/chat.ts";
import { decodeAnswer, openDecoder } from "./decode-answer.ts";

const context = { ...ANSWER_CONTEXT, model: "openai/m" };

const decode = (...events: readonly Json[]): readonly ChatEvent[] => {
  const told: ChatEvent[] = [];
  const decoder = openDecoder((event) => void told.push(event), context);
  for (const event of events) decoder.read(event);
  decoder.end();
  return told;
};
const only = (events: readonly ChatEvent[]) => foldEvents(events).choices.get(0);

const created = { type: "response.created", response: { id: "resp_1", status: "in_progress", output: [] } };
const ended = (more: object = {}) => ({
  type: "response.completed",
  response: { id: "resp_1", status: "completed", output: [], ...more },
});
const at = (output_index: number, type: string, more: object = {}) => ({
  type: `response.${type}`,
  output_index,
  ...more,
});
const added = (place: number, item: object) => at(place, "output_item.added", { item });
const done = (place: number, item: object) => at(place, "output_item.done", { item });
const text = (place: number, delta: string, content_index = 0) =>
  at(place, "output_text.delta", { delta, content_index });
const summary = (place: number, delta: string, summary_index = 0) =>
  at(place, "reasoning_summary_text.delta", { delta, summary_index });
const input = (place: number, delta: string) => at(place, "function_call_arguments.delta", { delta });
const call = (id: string, more: object = {}) => ({
  type: "function_call",
  id: `fc_${id}`,
  call_id: id,
  name: "f",
  arguments: "",
  ...more,
});
const message = (...content: readonly object[]) => ({ type: "message", role: "assistant", content });
const called = (id: string, said: string) => ({ part: { type: "tool_call", id, name: "f" }, text: said });

describe("a stream", () => {
  test("its items are parts in their order, what is sealed at the end of the thinking", () => {
    const events = decode(
      created,
      added(0, { type: "reasoning", summary: [], encrypted_content: "early" }),
      summary(0, "Hm"),
      summary(0, "m."),
      summary(0, "And.", 1),
      done(0, { type: "reasoning", summary: [], encrypted_content: "sealed" }),
      added(1, message()),
      text(1, "Yes"),
      text(1, "."),
      done(1, message({ type: "output_text", text: "Yes." })),
      added(2, call("a")),
      input(2, '{"x":'),
      input(2, "1}"),
      done(2, call("a", { arguments: '{"x":1}' })),
      added(3, { type: "reasoning", summary: [] }),
      done(3, { type: "reasoning", summary: [], encrypted_content: "silent" }),
      added(4, call("b")),
      done(4, call("b", { arguments: "{}" })),
      ended(),
    );
    expect(events[0]).toEqual({ type: "start", id: "resp_1" });
    expect(only(events)).toEqual({
      parts: [
        { part: { type: "thinking", issuer: "openai" }, text: "Hmm.\n\nAnd.", signature: "sealed" },
        { part: { type: "text" }, text: "Yes." },
        called("a", '{"x":1}'),
        { part: { type: "redacted_thinking", data: "silent", issuer: "openai" }, text: "" },
        called("b", "{}"),
      ] as Json,
      finish: "tool_calls",
    });
  });

  test("items whose events mix come one after another, whole", () => {
    const events = decode(
      created,
      added(0, call("a")),
      input(0, '{"x"'),
      added(1, call("b")),
      input(1, '{"y":2}'),
      input(0, ":1}"),
      done(1, call("b", { arguments: '{"y":2}' })),
      done(0, call("a", { arguments: '{"x":1}' })),
      ended(),
    );
    expect(only(events)?.parts).toEqual([called("a", '{"x":1}'), called("b", '{"y":2}')] as Json);
  });

  test("what came without its pieces is told from where it stands whole", () => {
    const events = decode(
      created,
      at(0, "reasoning_summary_text.done", { text: "So.", summary_index: 0 }),
      done(0, { type: "reasoning", summary: [{ type: "summary_text", text: "So." }] }),
      at(1, "output_text.done", { text: "One.", content_index: 0 }),
      done(1, message({ type: "output_text", text: "One." }, { type: "output_text", text: "Two." })),
      added(2, call("a")),
      at(2, "function_call_arguments.done", { arguments: '{"x":1}' }),
      done(2, call("a", { arguments: '{"x":1}' })),
      done(3, call("b", { arguments: "{}" })),
      ended(),
    );
    expect(only(events)?.parts.map(({ text: said }) => said)).toEqual([
      "So.",
      "One.",
      "Two.",
      '{"x":1}',
      "{}",
    ]);
  });

  test("an answer whose items come with its last event alone is told from there", () => {
    const items = [message({ type: "output_text", text: "All." }), call("a", { arguments: "{}" })];
    expect(only(decode(created, ended({ output: items })))?.parts).toEqual([
      { part: { type: "text" }, text: "All." },
      called("a", "{}"),
    ] as Json);
  });

  test("items that no event has ended are told up to where they came", () => {
    const events = decode(created, added(0, message()), text(0, "Half"), added(1, call("a")), input(1, "{"), {
      type: "response.incomplete",
      response: { status: "incomplete", incomplete_details: { reason: "max_output_tokens" }, output: [] },
    });
    expect(only(events)).toEqual({
      parts: [{ part: { type: "text" }, text: "Half" }, called("a", "{")] as Json,
      finish: "length",
    });
  });

  test("thinking that is shown itself is told once, with or without a summary of it", () => {
    const raw = (delta: string) => at(0, "reasoning_text.delta", { delta, content_index: 0 });
    const item = {
      type: "reasoning",
      summary: [{ type: "summary_text", text: "Short." }],
      content: [{ type: "reasoning_text", text: "Long." }],
    };
    const thought = (...events: readonly object[]) =>
      only(decode(created, ...events, done(0, item), ended()))?.parts.map(({ text: said }) => said);
    expect(thought(raw("Lo"), raw("ng."))).toEqual(["Long."]);
    expect(thought(summary(0, "Short."))).toEqual(["Short."]);
    expect(thought(summary(0, "Short."), raw("Long."))).toEqual(["Short."]);
    expect(thought()).toEqual(["Short."]);
  });

  test("the input of a custom tool is a text", () => {
    const item = { type: "custom_tool_call", call_id: "a", name: "p", input: "" };
    const events = decode(
      created,
      added(0, item),
      at(0, "custom_tool_call_input.delta", { delta: "*** Begin" }),
      done(0, { ...item, input: "*** Begin" }),
      ended(),
    );
    expect(only(events)?.parts).toEqual([
      { part: { type: "tool_call", id: "a", name: "p", custom: true }, text: "*** Begin" },
    ]);
  });

  test("a refusal is one, and the answer ended for it", () => {
    const events = decode(
      created,
      added(0, message()),
      at(0, "refusal.delta", { delta: "I can", content_index: 0 }),
      at(0, "refusal.delta", { delta: "not.", content_index: 0 }),
      done(0, message({ type: "refusal", refusal: "I cannot." })),
      ended(),
    );
    expect(only(events)).toEqual({
      parts: [{ part: { type: "refusal" }, text: "I cannot." }],
      finish: "content_filter",
    });
  });

  test("a page that is cited has its place in the whole text, in characters", () => {
    const annotation = (start_index: number, end_index: number) => ({
      type: "url_citation",
      url: "https://x.test/",
      title: "X",
      start_index,
      end_index,
    });
    const cites = [annotation(0, 3), annotation(1, 2)];
    const events = decode(
      created,
      added(0, message()),
      text(0, "🌙 one. "),
      done(0, message({ type: "output_text", text: "🌙 one. " })),
      added(1, message()),
      text(1, "Two."),
      at(1, "output_text.annotation.added", { content_index: 0, annotation: cites[0] }),
      done(
        1,
        message({ type: "output_text", text: "Two.", annotations: [...cites, { type: "file_citation" }] }),
      ),
      ended(),
    );
    expect(only(events)?.parts[1]?.citations).toEqual([
      { url: "https://x.test/", title: "X", start: 7, end: 10 },
      { url: "https://x.test/", title: "X", start: 8, end: 9 },
    ]);
  });

  test("tools that ran at the provider say nothing, nor do events that nobody knows", () => {
    const search = { type: "web_search_call", status: "completed", action: { type: "search" } };
    const events = decode(
      created,
      added(0, search),
      at(0, "web_search_call.searching"),
      done(0, search),
      { type: "response.something", sequence_number: 4 },
      added(1, message()),
      text(1, "Found."),
      done(1, message({ type: "output_text", text: "Found." })),
      ended(),
    );
    expect(only(events)).toEqual({ parts: [{ part: { type: "text" }, text: "Found." }], finish: "stop" });
  });
});

describe("a whole answer", () => {
  const answer = (more: object) =>
    only(decodeAnswer({ id: "resp_1", status: "completed", ...more }, context));

  test("keeps the order of reasoning, message, call, reasoning, call", () => {
    const reasoning = (sealed: string) => ({ type: "reasoning", summary: [], encrypted_content: sealed });
    const output = [
      reasoning("one"),
      message({ type: "output_text", text: "Look." }),
      call("a", { arguments: "{}" }),
      reasoning("two"),
      call("b", { arguments: "{}" }),
    ];
    expect(answer({ output })?.parts.map(({ part }) => part.type)).toEqual([
      "redacted_thinking",
      "text",
      "tool_call",
      "redacted_thinking",
      "tool_call",
    ]);
  });

  for (const [reason, finish] of [
    ["max_output_tokens", "length"],
    ["content_filter", "content_filter"],
    ["max_tool_calls", "length"],
  ] as const)
    test(`that ${reason} has ended`, () =>
      expect(answer({ status: "incomplete", incomplete_details: { reason }, output: [] })?.finish).toBe(
        finish,
      ));

  test("of nothing is one that stopped", () =>
    expect(answer({ output: [] })).toEqual({ parts: [], finish: "stop" }));
});
