import { ANSWER_CONTEXT } from "../../../../test/protocols/answer-context.ts";
import {
  answer,
  dataOf,
  deltasOf,
  encodeStream,
  finish,
  head,
  type Json,
  messageOf,
  part,
  plainOf,
  type Said,
  start,
  text,
  thought,
  toolCall,
  USAGE,
} from "../../../../test/protocols/chat-events.ts";
import { describe, expect, test } from "bun:test";
import type { ChatEvent } from "../../../core/chat.ts";
import { chatCompletionsServer } from "./index.ts";

describe("a stream", () => {
  test("has the shape that every client joins: thinking, text and two calls", () => {
    const events = [
      ...answer(thought("SIG", "hm", "m2"), text("Let me."), toolCall("a", '{"x"', ":1}"), toolCall("b")),
      finish("tool_calls"),
    ];
    const chunk = (delta: object, reason: string | null = null) => ({
      ...head,
      choices: [{ index: 0, delta, finish_reason: reason }],
    });
    const began = (index: number, id: string) =>
      chunk({ tool_calls: [{ index, id, type: "function", function: { name: `f_${id}`, arguments: "" } }] });
    const more = (index: number, input: string) =>
      chunk({ tool_calls: [{ index, function: { arguments: input } }] });
    expect(dataOf(encodeStream(events))).toEqual([
      chunk({ role: "assistant", content: "" }),
      chunk({ reasoning_content: "hm" }),
      chunk({ reasoning_content: "m2" }),
      chunk({ content: "Let me." }),
      began(0, "a"),
      more(0, '{"x"'),
      more(0, ":1}"),
      began(1, "b"),
      more(1, "{}"),
      chunk({
        reasoning_details: [
          { type: "thinking", thinking: "hmm2", signature: "SIG", format: "anthropic-claude-v1", index: 0 },
        ],
      }),
      chunk({}, "tool_calls"),
      { ...head, choices: [], usage: USAGE },
      { ...head, choices: [], usage: USAGE, credit: 1.5 },
      "[DONE]",
    ]);
  });

  const unnamed: readonly ChatEvent[] = [{ type: "start" }, { type: "start", id: "" }];
  test.each(unnamed)(
    "is known by the request where its provider gave no id, or an empty one: %p",
    (begun) => {
      const chunks = dataOf(encodeStream([begun, finish("stop")])).filter((chunk) => chunk !== "[DONE]");
      expect(new Set(chunks.map(({ id }) => id))).toEqual(new Set(["chatcmpl-req_1"]));
      expect(plainOf([begun, finish("stop")]).id).toBe("chatcmpl-req_1");
    },
  );

  test("is kept alive by a comment", () => {
    const { keepAlive } = chatCompletionsServer.openEncoder(ANSWER_CONTEXT);
    expect(new TextDecoder().decode(keepAlive)).toMatch(/^:[^\n]*\n\n$/);
  });

  test("gives each choice its role, its calls from 0 and its finish", () => {
    const events = [
      start,
      ...part(0, toolCall("a", "{}"), 1),
      ...part(0, text("x"), 0),
      finish("stop", 1),
      finish("stop", 0),
    ];
    const said = dataOf(encodeStream(events)).flatMap((chunk) => chunk.choices ?? []);
    expect(said.filter(({ delta }: Json) => delta.role).map(({ index }: Json) => index)).toEqual([0, 1]);
    expect(
      said
        .filter((choice: Json) => choice.finish_reason)
        .map((choice: Json) => [choice.index, choice.finish_reason]),
    ).toEqual([
      [1, "tool_calls"],
      [0, "stop"],
    ]);
  });

  test("that ends in the model's own error says so where clients look", () => {
    const data = dataOf(encodeStream([...answer(text("x")), finish("error")]));
    expect(data.at(-2)).toMatchObject({ error: { type: "upstream_error", code: "upstream_error" } });
    expect(data.at(-3)).toMatchObject({ choices: [], credit: 1.5 });
  });

  for (const end of ["broken", "unbilled"] as const) {
    test(`that breaks ends in finish, usage, credit when known, error, end mark: ${end}`, () => {
      const begun = answer(thought("SIG", "a"), toolCall("a", '{"x"')).slice(0, -1);
      const data = dataOf(encodeStream(begun, end));
      const tail = data.slice(data.findIndex((chunk) => chunk.choices?.[0]?.finish_reason));
      expect(tail).toEqual([
        { ...head, choices: [{ index: 0, delta: {}, finish_reason: "error" }] },
        { ...head, choices: [], usage: USAGE },
        ...(end === "broken" ? [{ ...head, choices: [], usage: USAGE, credit: 1.5 }] : []),
        { error: { message: "It broke.", type: "upstream_error", param: null, code: "upstream_error" } },
        "[DONE]",
      ]);
      expect(JSON.stringify(data)).toContain('{\\"x\\"');
    });
  }

  test("that breaks before it began has a role all the same", () => {
    expect(dataOf(encodeStream([], "broken"))[0].choices).toEqual([
      { index: 0, delta: { role: "assistant" }, finish_reason: "error" },
    ]);
  });
});

describe("how an answer ends", () => {
  const cases: readonly {
    name: string;
    parts: readonly Said[];
    reason: "stop" | "length" | "content_filter" | "error";
    want: string;
  }[] = [
    { name: "a call and a good end", parts: [toolCall("a", "{}")], reason: "stop", want: "tool_calls" },
    { name: "a call and the bound", parts: [toolCall("a", "{}")], reason: "length", want: "length" },
    {
      name: "a call and a filter",
      parts: [toolCall("a", "{}")],
      reason: "content_filter",
      want: "content_filter",
    },
    { name: "nothing and an error", parts: [], reason: "error", want: "error" },
    { name: "text and a good end", parts: [text("x")], reason: "stop", want: "stop" },
  ];
  for (const { name, parts, reason, want } of cases) {
    test(name, () => {
      const events = [...answer(...parts), finish(reason)];
      expect(plainOf(events).choices[0].finish_reason).toBe(want);
      expect(deltasOf(events).at(-1)).toEqual({ reason: want });
    });
  }

  test("a refusal's words come before its finish", () => {
    const events: ChatEvent[] = [
      start,
      { type: "finish", choice: 0, reason: "content_filter", refusal: "No." },
    ];
    expect(deltasOf(events).slice(1)).toEqual([{ refusal: "No." }, { reason: "content_filter" }]);
    expect(messageOf(events)).toEqual({ role: "assistant", content: null, refusal: "No." });
  });

  test("events without an end do not look whole", () => {
    expect(plainOf(answer(text("x"))).choices[0].finish_reason).toBe("error");
  });
});

describe("a plain answer", () => {
  test("has what was said, and nothing else", () => {
    expect(plainOf([...answer(text("a", "b")), finish("stop")])).toEqual({
      id: "chatcmpl-msg_1",
      object: "chat.completion",
      created: 1_700_000_000,
      model: "v/m",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "ab", refusal: null },
          logprobs: null,
          finish_reason: "stop",
        },
      ],
      usage: USAGE,
    });
  });

  const messages: readonly { name: string; parts: readonly Said[]; want: object }[] = [
    {
      name: "redacted thinking as a signature",
      parts: [{ begun: { type: "redacted_thinking", data: "D/+=", issuer: "anthropic" } }],
      want: {
        content: null,
        reasoning_details: [
          {
            type: "thinking",
            thinking: "",
            signature: "redacted:D/+=",
            format: "anthropic-claude-v1",
            index: 0,
          },
        ],
      },
    },
    {
      name: "thinking that is signed and not shown",
      parts: [thought("S")],
      want: {
        content: null,
        reasoning_details: [
          { type: "thinking", thinking: "", signature: "S", format: "anthropic-claude-v1", index: 0 },
        ],
      },
    },
    {
      name: "the place of thinking between two texts, of which the first came in two",
      parts: [text("a\u{1f600}"), text("b"), thought("S", "x"), text("c")],
      want: {
        content: "a\u{1f600}bc",
        reasoning_content: "x",
        reasoning_details: [
          {
            type: "thinking",
            thinking: "x",
            signature: "S",
            format: "anthropic-claude-v1",
            index: 1,
            text_before: 4,
          },
        ],
      },
    },
    {
      name: "the place of thinking behind a call, where the texts around the call are one by then",
      parts: [text("a"), toolCall("a", "{}"), text("b"), thought("S"), text("c")],
      want: {
        content: "abc",
        tool_calls: [{ id: "a", type: "function", function: { name: "f_a", arguments: "{}" } }],
        reasoning_details: [
          {
            type: "thinking",
            thinking: "",
            signature: "S",
            format: "anthropic-claude-v1",
            index: 2,
            text_before: 2,
          },
        ],
      },
    },
    {
      name: "that all text came behind thinking which is not the first",
      parts: [toolCall("a", "{}"), thought("S"), text("c")],
      want: {
        content: "c",
        tool_calls: [{ id: "a", type: "function", function: { name: "f_a", arguments: "{}" } }],
        reasoning_details: [
          {
            type: "thinking",
            thinking: "",
            signature: "S",
            format: "anthropic-claude-v1",
            index: 1,
            text_before: 0,
          },
        ],
      },
    },
    { name: "nothing of a thinking that is empty", parts: [thought(undefined)], want: { content: null } },
    {
      name: "an image with its signature in the data URL",
      parts: [{ begun: { type: "image", mediaType: "image/png", data: "AAAA" }, signature: "ab+/cQ==" }],
      want: {
        content: null,
        images: [
          { type: "image_url", image_url: { url: "data:image/png;thought_signature=ab-_cQ;base64,AAAA" } },
        ],
      },
    },
    {
      name: "a call with its signature, and one without arguments",
      parts: [{ ...toolCall("a", '{"x":1}'), signature: "SIG=" }, toolCall("b", " ")],
      want: {
        content: null,
        tool_calls: [
          {
            id: "a",
            type: "function",
            extra_content: { google: { thought_signature: "SIG=" } },
            function: { name: "f_a", arguments: '{"x":1}' },
          },
          { id: "b", type: "function", function: { name: "f_b", arguments: " {}" } },
        ],
      },
    },
    {
      name: "a signature of visible text",
      parts: [{ ...text("x"), signature: "SIG=" }],
      want: {
        content: "x",
        reasoning_details: [
          { type: "thinking", thinking: "", signature: "SIG=", format: "google-gemini-v1", index: 0 },
        ],
      },
    },
    {
      name: "citations, with the text that they are of",
      parts: [
        text("ab"),
        { ...text("cde"), citations: [{ url: "https://a.example" }] },
        { ...text("f"), citations: [{ url: "https://b.example", title: "B", start: 1, end: 2 }] },
      ],
      want: {
        content: "abcdef",
        annotations: [
          {
            type: "url_citation",
            url_citation: {
              start_index: 2,
              end_index: 5,
              title: "https://a.example",
              url: "https://a.example",
            },
          },
          {
            type: "url_citation",
            url_citation: { start_index: 1, end_index: 2, title: "B", url: "https://b.example" },
          },
        ],
      },
    },
  ];
  for (const { name, parts, want } of messages) {
    test(`has ${name}`, () => {
      const events = [...answer(...parts), finish("stop")];
      expect(messageOf(events)).toEqual({ role: "assistant", refusal: null, ...want });
    });
  }

  test("a call's signature stands in its first fragment, where clients look for it", () => {
    const events = [...answer({ ...toolCall("a", '{"x":1}'), signature: "SIG=" }), finish("stop")];
    const [first, ...rest] = deltasOf(events).flatMap((delta) => delta.tool_calls ?? []);
    expect(first).toMatchObject({ id: "a", extra_content: { google: { thought_signature: "SIG=" } } });
    expect(rest).toEqual([{ index: 0, function: { arguments: '{"x":1}' } }]);
  });
});
