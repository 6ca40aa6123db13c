import { describe, expect, test } from "bun:test";
import {
  chatTarget,
  refusalAtChat,
  sentToChat,
  VENDOR_NAMES,
  type Vendor,
} from "../../../../test/protocols/chat-client.ts";
import { answered, called, chatOf, turn } from "../../../../test/protocols/messages-client.ts";
import type { Json } from "../../../../test/protocols/chat-events.ts";
import type { Part, Turn } from "../../../core/chat.ts";

const PNG: Part = { type: "image", source: { kind: "data", mediaType: "image/png", data: "iVBORw0KGgo=" } };
const thought = (text: string, issuer?: string, signature?: string): Part => ({
  type: "thinking",
  text,
  ...(issuer === undefined ? {} : { issuer }),
  ...(signature === undefined ? {} : { signature }),
});
const messagesAt = (vendor: Vendor, ...turns: Turn[]) => {
  const { up, refused, warnings } = sentToChat(vendor, chatOf(turns));
  expect(refused).toBeUndefined();
  return { messages: up.messages, warnings };
};
const LOOP: readonly Turn[] = [
  turn("system", "Be brief."),
  turn("user", "Go."),
  turn("assistant", thought("I think."), "Doing.", called("toolu_01AbCdEfGhIj", '{"n":1.0}')),
  turn("tool", answered("toolu_01AbCdEfGhIj", "1")),
  turn("assistant", "Done."),
  turn("user", "Again."),
];

describe("a conversation", () => {
  for (const vendor of VENDOR_NAMES)
    test(`goes to ${vendor} in its order, a call and its result under one id`, () => {
      const { messages } = messagesAt(vendor, ...LOOP);
      expect(messages.map(({ role }: { role: string }) => role)).toEqual(
        "system user assistant tool assistant user".split(" "),
      );
      expect(messages[2].content).toBe("Doing.");
      const [call] = messages[2].tool_calls;
      expect(call).toMatchObject({ type: "function", function: { name: "f", arguments: '{"n":1.0}' } });
      expect(messages[3]).toEqual({ role: "tool", tool_call_id: call.id, content: "1" });
      expect(call.id).not.toBe("");
    });

  test("a system message amid it keeps its place", () => {
    const { messages } = messagesAt("openai", turn("user", "a"), turn("system", "b", "c"), turn("user", "d"));
    expect(messages).toEqual([
      { role: "user", content: "a" },
      { role: "system", content: "b\n\nc" },
      { role: "user", content: "d" },
    ]);
  });

  test("results stand in the order of the calls, before anything else that the user says", () => {
    const { messages } = messagesAt(
      "openai",
      turn("user", "Go."),
      turn("assistant", called("a"), called("b", "")),
      turn("tool", answered("b", "2"), answered("a", "1")),
      turn("user", "And?"),
    );
    expect(messages.slice(1)).toEqual([
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { id: "a", type: "function", function: { name: "f", arguments: "{}" } },
          { id: "b", type: "function", function: { name: "f", arguments: "{}" } },
        ],
      },
      { role: "tool", tool_call_id: "a", content: "1" },
      { role: "tool", tool_call_id: "b", content: "2" },
      { role: "user", content: "And?" },
    ]);
  });

  test("what the user says between a call and its result comes behind the result", () => {
    const { messages } = messagesAt(
      "openai",
      turn("user", "Go."),
      turn("assistant", called("a")),
      turn("user", "Wait."),
      turn("tool", answered("a", "1")),
    );
    expect(messages.map(({ role }: { role: string }) => role)).toEqual(["user", "assistant", "tool", "user"]);
  });

  test("a call without a result gets one that says so; a second result is left out; one of no call is a 400", () => {
    const turns = [turn("user", "Go."), turn("assistant", called("a"), called("b"))];
    const { messages, warnings } = messagesAt(
      "openai",
      ...turns,
      turn("tool", answered("a", "1"), answered("a", "1")),
    );
    expect(messages.slice(2)).toEqual([
      { role: "tool", tool_call_id: "a", content: "1" },
      { role: "tool", tool_call_id: "b", content: "Error: the call was given no result." },
    ]);
    expect(warnings).toHaveLength(2);
    expect(refusalAtChat("openai", chatOf([...turns, turn("tool", answered("c", "1"))]))[0]).toBe(
      "tool_call_id",
    );
    expect(refusalAtChat("openai", chatOf([turn("tool", answered("c", "1"))]))[0]).toBe("tool_call_id");
  });

  test("a result that is an error begins with the word", () => {
    const failed: Part = {
      ...(answered("a", "no such file") as Extract<Part, { type: "tool_result" }>),
      isError: true,
    };
    const { messages } = messagesAt(
      "openai",
      turn("user", "Go."),
      turn("assistant", called("a")),
      turn("tool", failed),
    );
    expect(messages[2].content).toBe("Error: no such file");
  });

  test("marks of the prompt cache are left out with one warning", () => {
    const marked: Part = { type: "text", text: "a", cache: { type: "ephemeral", ttl: "1h" } };
    const { messages, warnings } = messagesAt(
      "openai",
      turn("user", marked),
      turn("assistant", "b"),
      turn("user", marked),
    );
    expect(JSON.stringify(messages)).not.toContain("cache");
    expect(warnings).toEqual(["cache_control was left out: this model's provider caches by itself"]);
  });
});

test("a router is sent the marks of the prompt cache, of five minutes each", () => {
  const marked: Part = { type: "text", text: "a", cache: { type: "ephemeral", ttl: "1h" } };
  const result = { ...answered("x", "r"), cache: { type: "ephemeral" } } as Part;
  const { messages, warnings } = messagesAt(
    "openrouter",
    turn("system", "s", marked),
    turn("user", marked),
    turn("assistant", called("x")),
    turn("tool", result),
  );
  const text = { type: "text", text: "a", cache_control: { type: "ephemeral" } };
  expect(messages.map(({ content }: { content: unknown }) => content)).toEqual([
    [{ type: "text", text: "s" }, text],
    [text],
    null,
    [{ type: "text", text: "r", cache_control: { type: "ephemeral" } }],
  ]);
  expect(warnings).toEqual([]);
});

test("calls of one id in one answer are apart there, each with its own result", () => {
  const { messages } = messagesAt(
    "openai",
    turn("user", "Go."),
    turn("assistant", called("a"), called("b"), called("a")),
    turn("tool", answered("a", "first"), answered("b", "other"), answered("a", "second")),
  );
  expect(messages[1].tool_calls.map(({ id }: Json) => id)).toEqual(["a", "b", "a_2"]);
  expect(messages.slice(2).map(({ tool_call_id: id, content }: Json) => [id, content])).toEqual([
    ["a", "first"],
    ["b", "other"],
    ["a_2", "second"],
  ]);
});

describe("media", () => {
  test("an image of the user's reaches the model, with how closely it is to look", () => {
    const { messages } = messagesAt("openai", turn("user", "See.", { ...PNG, detail: "low" }));
    expect(messages[0].content).toEqual([
      { type: "text", text: "See." },
      { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=", detail: "low" } },
    ]);
  });

  test("an image in a result goes to the user's next message, in the order of the calls", () => {
    const { messages } = messagesAt(
      "openai",
      turn("user", "Go."),
      turn("assistant", called("a"), called("b")),
      turn("tool", answered("a", "shot", PNG), answered("b", PNG)),
      turn("assistant", "Seen."),
    );
    expect(messages.slice(2)).toEqual([
      { role: "tool", tool_call_id: "a", content: "shot\n\n(1 image in the user's next message)" },
      { role: "tool", tool_call_id: "b", content: "(1 image in the user's next message)" },
      {
        role: "user",
        content: [
          { type: "text", text: "From the result of the call a:" },
          { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
          { type: "text", text: "From the result of the call b:" },
          { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
        ],
      },
      { role: "assistant", content: "Seen." },
    ]);
  });

  test("a PDF is a file with a name, a text is a text under its name", () => {
    const pdf: Part = {
      type: "document",
      source: { kind: "data", mediaType: "application/pdf", data: "JVBERi0x" },
    };
    const text: Part = {
      type: "document",
      name: "a.md",
      source: { kind: "data", mediaType: "text/plain", data: "aMOk" },
    };
    const { messages } = messagesAt("openai", turn("user", pdf, text));
    expect(messages[0].content).toEqual([
      { type: "file", file: { filename: "document.pdf", file_data: "data:application/pdf;base64,JVBERi0x" } },
      { type: "text", text: "a.md\n\nhä" },
    ]);
  });

  test("what its provider cannot reach is a 400 that names the caller's place", () => {
    const at = "contents[0].parts[0].fileData";
    const url = (link: string) => ({ kind: "url", url: link }) as const;
    const parts: readonly (readonly [Part, RegExp])[] = [
      [{ type: "image", source: url("gs://bucket/a.png"), at }, /http, https or data/],
      [{ type: "document", source: url("https://x.test/a.pdf"), at }, /link to a file/],
      [{ type: "document", source: { kind: "file", id: "files/a" }, at }, /another vendor's store/],
      [{ type: "image", source: { kind: "file", id: "file_011" }, at }, /another vendor's store/],
    ];
    for (const [part, says] of parts) {
      const [param, message] = refusalAtChat("openai", chatOf([turn("user", part)]));
      expect(param).toBe(at);
      expect(message).toStartWith(at);
      expect(message).toMatch(says);
    }
  });

  test("a file behind a link goes to a router that fetches it, one of the vendor's own store to the vendor", () => {
    const link: Part = { type: "document", source: { kind: "url", url: "https://x.test/a.pdf" } };
    expect(messagesAt("openrouter", turn("user", link)).messages[0].content).toEqual([
      { type: "file", file: { filename: "document.pdf", file_data: "https://x.test/a.pdf" } },
    ]);
    const stored: Part = { type: "document", source: { kind: "file", id: "file-abc" } };
    expect(messagesAt("openai", turn("user", stored)).messages[0].content).toEqual([
      { type: "file", file: { file_id: "file-abc" } },
    ]);
  });

  test("sound goes to a model that takes it, and is a 400 that names its place elsewhere", () => {
    const sound: Part = {
      type: "audio",
      source: { kind: "data", mediaType: "audio/mpeg", data: "aaaa" },
      at: "x.y",
    };
    const chat = chatOf([turn("user", sound)]);
    const target = chatTarget("openai", { inputModalities: ["text", "audio"] });
    expect(sentToChat("openai", chat, target).up.messages[0].content).toEqual([
      { type: "input_audio", input_audio: { data: "aaaa", format: "mp3" } },
    ]);
    expect(refusalAtChat("openai", chat)[0]).toBe("x.y");
  });
});

describe("thinking of earlier answers", () => {
  test("goes back as reasoning_content to a vendor that wants it, on every answer where its model does", () => {
    const target = chatTarget("deepseek", { thinking: { reasoningBackAlways: true } });
    const tools = [{ name: "f" }];
    const { up, refused, warnings } = sentToChat("deepseek", chatOf(LOOP, { tools }), target);
    expect(refused).toBeUndefined();
    expect(up.messages[2].reasoning_content).toBe("I think.");
    expect(up.messages[4].reasoning_content).toBe("");
    expect(warnings).toEqual([]);
  });

  for (const vendor of ["openai", "groq", "mistral", "xai"] as const)
    test(`is not sent to ${vendor}, which takes none, in no member and no text`, () => {
      const { messages, warnings } = messagesAt(vendor, ...LOOP);
      expect(JSON.stringify(messages)).not.toContain("I think.");
      expect(warnings).toEqual([
        "reasoning_details were left out: this model's provider does not take them back",
      ]);
    });

  test("signed by another vendor it is left out, with a warning", () => {
    const parts = [
      thought("Mine.", "anthropic", "sig"),
      { type: "redacted_thinking", data: "x", issuer: "openai" } as Part,
    ];
    const { messages, warnings } = messagesAt(
      "deepseek",
      turn("user", "a"),
      turn("assistant", ...parts, "b"),
    );
    expect(messages[1]).toEqual({ role: "assistant", content: "b" });
    expect(warnings[0]).toStartWith("reasoning_details of another vendor's model were left out");
  });

  test("goes to a router in its own items, to the model's own vendor alone", () => {
    const parts = [
      thought("Mine.", "anthropic", "sig"),
      { type: "redacted_thinking", data: "x", issuer: "anthropic" } as Part,
      thought("Theirs.", "google", "g"),
    ];
    const { messages } = messagesAt("openrouter", turn("user", "a"), turn("assistant", ...parts, "b"));
    expect(messages[1].reasoning_details).toEqual([
      { type: "reasoning.text", text: "Mine.", signature: "sig", format: "anthropic-claude-v1", index: 0 },
      { type: "reasoning.encrypted", data: "x", format: "anthropic-claude-v1", index: 1 },
    ]);
  });

  test("an answer of which nothing is left is left out", () => {
    const { messages } = messagesAt(
      "openai",
      turn("user", "a"),
      turn("assistant", thought("x")),
      turn("user", "b"),
    );
    expect(messages).toHaveLength(2);
  });
});
