import { describe, expect, test } from "bun:test";
import { ANSWER_CONTEXT } from "../../../../test/protocols/answer-context.ts";
import {
  answer,
  finish,
  type Json,
  part,
  type Said,
  start,
  text,
  thought,
  toolCall,
} from "../../../../test/protocols/chat-events.ts";
import {
  blocksOf,
  KEY,
  KEYED,
  MESSAGE_USAGE,
  messageEvents,
  messageOf,
} from "../../../../test/protocols/message-events.ts";
import { GatewayError } from "../../../core/errors.ts";
import { openCarrier } from "../../carrier.ts";
import { messagesServer } from "./index.ts";

const thinking = (issuer: string | undefined, signature: string | undefined, ...deltas: string[]): Said => ({
  begun: { type: "thinking", ...(issuer === undefined ? {} : { issuer }) },
  deltas,
  ...(signature === undefined ? {} : { signature }),
});
const opened = (sealed: string): unknown => openCarrier(sealed, KEY);

describe("a stream", () => {
  test("has the shape that every client joins: thinking, text and two calls", () => {
    const events = messageEvents([
      ...answer(thought("SIG", "hm", "m"), text("Let me."), toolCall("a", '{"x"', ":1}"), toolCall("b")),
      finish("stop"),
    ]);
    const block = (index: number, begun: object, ...deltas: object[]): object[] => [
      { type: "content_block_start", index, content_block: begun },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ];
    const json = (partial: string) => ({ type: "input_json_delta", partial_json: partial });
    expect(events).toEqual([
      {
        type: "message_start",
        message: {
          id: "msg_1",
          type: "message",
          role: "assistant",
          model: "v/m",
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: {
            input_tokens: 1,
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: 0,
            output_tokens: 0,
          },
        },
      },
      ...block(
        0,
        { type: "thinking", thinking: "", signature: "" },
        { type: "thinking_delta", thinking: "hm" },
        { type: "thinking_delta", thinking: "m" },
        { type: "signature_delta", signature: "SIG" },
      ),
      ...block(1, { type: "text", text: "" }, { type: "text_delta", text: "Let me." }),
      ...block(2, { type: "tool_use", id: "a", name: "f_a", input: {} }, json('{"x"'), json(":1}")),
      ...block(3, { type: "tool_use", id: "b", name: "f_b", input: {} }),
      {
        type: "message_delta",
        delta: { stop_reason: "tool_use", stop_sequence: null },
        usage: MESSAGE_USAGE,
        credit: 1.5,
      },
      { type: "ping", credit: 1.5 },
      { type: "message_stop" },
    ]);
  });

  test("is kept alive by a ping", () => {
    const { keepAlive } = messagesServer.openEncoder(ANSWER_CONTEXT);
    expect(new TextDecoder().decode(keepAlive)).toStartWith("event: ping\n");
  });

  for (const end of ["broken", "unbilled"] as const) {
    test(`that breaks ends in an error, the charge before it when known, and is never stopped: ${end}`, () => {
      const begun = answer(text("a"), toolCall("b", '{"x"', ":")).slice(0, -1);
      const events = messageEvents(begun, end);
      const error = { type: "error", error: { type: "upstream_error", message: "It broke." } };
      const credit = end === "broken" ? [{ type: "ping", credit: 1.5 }] : [];
      expect(events.slice(-1 - credit.length)).toEqual([...credit, error]);
      for (const { type } of events) expect(["message_stop", "message_delta"]).not.toContain(type);
    });
  }

  test("that ends in the model's own error is an error too, and a plain answer is none", () => {
    const events = [...answer(text("x")), finish("error")];
    expect(messageEvents(events).slice(-2)).toMatchObject([{ type: "ping", credit: 1.5 }, { type: "error" }]);
    expect(() => messageOf(events)).toThrow(GatewayError);
  });

  test("whose call has arguments that are no JSON object is an error, not a call with other ones", () => {
    for (const input of ['{"x":', "[1]", "nothing"]) {
      const events = [...answer(toolCall("a", input)), finish("tool_calls")];
      expect(messageEvents(events).at(-1)).toMatchObject({
        type: "error",
        error: { type: "upstream_error" },
      });
      expect(() => messageOf(events)).toThrow(GatewayError);
    }
  });
});

describe("how an answer ends", () => {
  const refusal: Said = { begun: { type: "refusal" }, deltas: ["I can't."] };
  const cases: readonly (readonly [string, readonly Said[], Parameters<typeof finish>[0], string])[] = [
    ["a text", [text("a")], "stop", "end_turn"],
    ["calls, whatever the word", [toolCall("a")], "stop", "tool_use"],
    ["calls by their word", [toolCall("a")], "tool_calls", "tool_use"],
    ["a bound on output", [text("a")], "length", "max_tokens"],
    ["a bound on output amid a call", [toolCall("a", '{"x"')], "length", "max_tokens"],
    ["a filter", [text("a")], "content_filter", "refusal"],
    ["a filter behind calls", [toolCall("a")], "content_filter", "refusal"],
    ["the model's own refusal", [refusal], "stop", "refusal"],
    ["nothing but thinking", [thought("S", "a")], "stop", "end_turn"],
  ];
  test.each(cases)("%s", (_name, parts, reason, want) => {
    const events = [...answer(...parts), finish(reason)];
    expect(messageOf(events)).toMatchObject({ stop_reason: want, stop_sequence: null });
    expect(messageEvents(events).at(-3)).toMatchObject({
      type: "message_delta",
      delta: { stop_reason: want },
    });
    expect(messageEvents(events).at(-1)).toEqual({ type: "message_stop" });
  });

  test("the provider's words about a refusal are told with it", () => {
    const events = [...answer(text("a")), { ...finish("content_filter"), refusal: "Not that." } as Json];
    expect(messageOf(events).stop_details).toMatchObject({ type: "refusal", explanation: "Not that." });
  });

  test("an answer that said nothing has an empty list of blocks", () => {
    expect(messageOf([start, finish("stop")]).content).toEqual([]);
    const silent = [...answer(text(), text(""), thought(undefined, "")), finish("stop")];
    expect(messageOf(silent).content).toEqual([]);
    expect(messageEvents(silent).map(({ type }) => type)).toEqual([
      "message_start",
      "message_delta",
      "ping",
      "message_stop",
    ]);
  });
});

describe("what is signed", () => {
  test("thinking of the format's own vendor is signed plainly, all other by a text that only we open", () => {
    const [plain, google, nobody] = blocksOf([
      ...answer(thought("SIG", "a"), thinking("google", "U0lH", "b"), thinking(undefined, undefined, "c")),
      finish("stop"),
    ]);
    expect(plain).toEqual({ type: "thinking", thinking: "a", signature: "SIG" });
    expect([google.thinking, opened(google.signature)]).toEqual([
      "b",
      { kind: "thinking", issuer: "google", text: "", signature: "U0lH" },
    ]);
    expect([nobody.thinking, opened(nobody.signature)]).toEqual(["c", { kind: "thinking", text: "" }]);
  });

  test("redacted thinking likewise", () => {
    const redacted = (issuer: string): Said => ({ begun: { type: "redacted_thinking", data: "XX", issuer } });
    const [plain, sealed] = blocksOf([...answer(redacted("anthropic"), redacted("openai")), finish("stop")]);
    expect(plain).toEqual({ type: "redacted_thinking", data: "XX" });
    expect(opened(sealed.data)).toEqual({ kind: "redacted", issuer: "openai", data: "XX" });
  });

  test("the signature of a call stands in a thinking block before it, that of a text behind it", () => {
    const signed = (said: Said): Said => ({ ...said, signature: "U0lH" });
    const blocks = blocksOf([...answer(signed(text("a")), signed(toolCall("b", "{}"))), finish("stop")]);
    expect(blocks.map(({ type }) => type)).toEqual(["text", "thinking", "thinking", "tool_use"]);
    expect(blocks.flatMap(({ signature }) => (signature === undefined ? [] : [opened(signature)]))).toEqual([
      { kind: "signature", issuer: "google", signature: "U0lH", of: "last" },
      { kind: "signature", issuer: "google", signature: "U0lH", of: "next" },
    ]);
  });

  test("an answer that ends with a text has no block behind it, signed or not: Claude Code prints its last block", () => {
    const signature = thinking("google", "U0lH");
    const typesOf = (...parts: Said[]) =>
      blocksOf([...answer(...parts), finish("stop")]).map(({ type }) => type);
    expect(typesOf(thinking("google", undefined, "b"), text("a"), signature)).toEqual(["thinking", "text"]);
    expect(typesOf(text("a"), signature, text("c"))).toEqual(["text", "thinking", "text"]);
    expect(typesOf(text("a"), signature, signature, toolCall("b", "{}"))).toEqual([
      "text",
      "thinking",
      "thinking",
      "tool_use",
    ]);
  });

  test("that of a call which had begun by then stands behind it", () => {
    const blocks = blocksOf([
      ...answer({ ...toolCall("b", '{"x":', "1}"), signature: "U0lH" }),
      finish("stop"),
    ]);
    expect(blocks.map(({ type }) => type)).toEqual(["tool_use", "thinking"]);
    expect(opened(blocks[1].signature)).toMatchObject({ of: "last" });
  });

  test("thinking that shall not be shown is carried, and not shown", () => {
    const hidden = { ...KEYED, echo: { hidden: true } };
    const events = [...answer(thinking(undefined, undefined, "a", "b"), text("c")), finish("stop")];
    const [block] = blocksOf(events, hidden);
    expect([block.thinking, opened(block.signature)]).toEqual(["", { kind: "thinking", text: "ab" }]);
    expect(JSON.stringify(messageEvents(events, "good", hidden))).not.toContain("thinking_delta");
  });

  test("nobody else opens it", () => {
    const [{ signature }] = blocksOf([...answer(thinking("google", "U0lH", "b")), finish("stop")]);
    expect(openCarrier(signature, { ...KEY, account: "b" })).toBeUndefined();
  });
});

describe("what has no block", () => {
  test("images, and pages that a text rests on, are not told; the text is", () => {
    const image: Said = { begun: { type: "image", mediaType: "image/png", data: "AAAA" }, signature: "U0lH" };
    const cited: Said = { ...text("a"), citations: [{ url: "https://a.b" }] };
    expect(blocksOf([...answer(image, cited), finish("stop")])).toEqual([{ type: "text", text: "a" }]);
  });

  test("answers beside the first are not told", () => {
    const events = [
      start,
      ...part(0, text("a"), 0),
      ...part(0, text("b"), 1),
      finish("length", 1),
      finish("stop"),
    ];
    expect(messageOf(events)).toMatchObject({
      content: [{ type: "text", text: "a" }],
      stop_reason: "end_turn",
    });
  });
});

test("ids of calls have letters that clients take, and different ones stay different", () => {
  const ids = ["functions.Bash:0", "sw_x", "call_1", "Ünï", "a b", ""].map((id) => {
    const [{ id: told }] = blocksOf([
      ...answer({ begun: { type: "tool_call", id, name: "f" } }),
      finish("stop"),
    ]);
    expect(told).toMatch(/^[a-zA-Z0-9_-]+$/);
    return told;
  });
  expect(new Set(ids).size).toBe(6);
  expect(ids[2]).toBe("call_1");
});

test("an answer is known by its provider's id, else by the request", () => {
  const idOf = (id?: string): string =>
    messageOf([{ type: "start", ...(id === undefined ? {} : { id }) }, finish("stop")]).id;
  expect([idOf("msg_a"), idOf("chatcmpl-a"), idOf(""), idOf()]).toEqual([
    "msg_a",
    "msg_chatcmpl-a",
    "msg_req_1",
    "msg_req_1",
  ]);
});

test("numbers in inputs keep their digits in a plain answer", () => {
  const input = '{"id":1234567890123456789,"x":1.0}';
  const plain = JSON.stringify(messageOf([...answer(toolCall("a", input)), finish("stop")]));
  expect(plain).toContain(input);
});
