import { wireRequest } from "../../../../test/protocols/wire-request.ts";
import { describe, expect, test } from "bun:test";
import type { Turn } from "../../../core/chat.ts";
import { GatewayError } from "../../../core/errors.ts";
import { readRequest } from "../request.ts";
import { chatCompletionsServer } from "./index.ts";

function decode(messages: readonly unknown[]) {
  const { chat, warnings } = chatCompletionsServer.decodeRequest(
    readRequest(wireRequest({ model: "v/m", messages })),
  );
  return { turns: withoutPlaces(chat.turns), warnings };
}

/** Turns without where the request has each medium. */
function withoutPlaces(turns: readonly Turn[]): Turn[] {
  return JSON.parse(JSON.stringify(turns, (name, value) => (name === "at" ? undefined : value)));
}

/** The field that a refusal names. */
function refusal(messages: readonly unknown[]): string | undefined {
  try {
    decode(messages);
  } catch (error) {
    expect(error).toBeInstanceOf(GatewayError);
    expect((error as GatewayError).status).toBe(400);
    return (error as GatewayError).param;
  }
  throw new Error("It was not refused.");
}

const user = { role: "user", content: "hi" };
const asked: Turn = { role: "user", parts: [{ type: "text", text: "hi" }] };
const call = (id: string, input = "{}", more: object = {}) => ({
  id,
  type: "function",
  function: { name: "f", arguments: input },
  ...more,
});
const called = (id: string, input = "{}") => ({ type: "tool_call" as const, id, name: "f", input });
const result = (id: string, content: unknown = id) => ({ role: "tool", tool_call_id: id, content });
const given = (callId: string, text = callId) => ({
  type: "tool_result" as const,
  callId,
  parts: [{ type: "text" as const, text }],
  isError: false,
});
const PNG = "data:image/png;base64,iVBORw0KGgo=";

describe("each role is a turn, in its place", () => {
  test("system and developer stay where they stand", () => {
    const { turns, warnings } = decode([
      { role: "system", content: "a" },
      { role: "developer", content: [{ type: "text", text: "b", cache_control: { type: "ephemeral" } }] },
      user,
      { role: "system", content: "c" },
      { role: "assistant", content: "d" },
    ]);
    expect(turns).toEqual([
      { role: "system", parts: [{ type: "text", text: "a" }] },
      { role: "system", parts: [{ type: "text", text: "b", cache: { type: "ephemeral" } }] },
      asked,
      { role: "system", parts: [{ type: "text", text: "c" }] },
      { role: "assistant", parts: [{ type: "text", text: "d" }] },
    ]);
    expect(warnings).toEqual([]);
  });

  test("a message that says nothing is left out, and that is told", () => {
    const { turns, warnings } = decode([user, { role: "assistant", content: "" }, user]);
    expect(turns).toEqual([asked, asked]);
    expect(warnings).toEqual(["messages[1] was left out: there is nothing in it"]);
  });

  test("a request in which nobody says anything is refused", () => {
    expect(refusal([{ role: "user", content: "" }])).toBe("messages");
  });

  test("what has no place in a turn is named once", () => {
    const { warnings } = decode([
      { ...user, name: "Ann" },
      { role: "assistant", content: "a", reasoning_content: "b", refusal: null, annotations: [] },
      { ...user, name: "Ben" },
    ]);
    expect(warnings).toEqual([
      "name of earlier messages was left out: this model's provider has no place for it",
      "reasoning_content of earlier messages was left out: this model's provider has no place for it",
    ]);
  });

  const refusals = [
    { content: [{ type: "refusal", refusal: "no" }] },
    { content: "", refusal: "no" },
    { content: "no", refusal: "no" },
  ];
  for (const refused of refusals) {
    test(`a refusal is what the assistant said: ${JSON.stringify(refused)}`, () => {
      const { turns } = decode([user, { role: "assistant", ...refused }]);
      expect(turns[1]).toEqual({ role: "assistant", parts: [{ type: "text", text: "no" }] });
    });
  }
});

describe("parts", () => {
  const data = (mediaType: string, base64 = "AAAA") => ({ kind: "data", mediaType, data: base64 });
  const cases: readonly { name: string; part: object; want: object }[] = [
    {
      name: "an image in a data URL, with detail and a mark of the cache",
      part: {
        type: "image_url",
        image_url: { url: PNG, detail: "low" },
        cache_control: { type: "ephemeral", ttl: "1h" },
      },
      want: {
        type: "image",
        source: data("image/png", "iVBORw0KGgo="),
        detail: "low",
        cache: { type: "ephemeral", ttl: "1h" },
      },
    },
    {
      name: "an image behind a link",
      part: { type: "image_url", image_url: { url: "https://example.com/a,b;c.png" } },
      want: { type: "image", source: { kind: "url", url: "https://example.com/a,b;c.png" } },
    },
    {
      name: "the registered name of image/jpg, without parameters",
      part: { type: "image_url", image_url: { url: "data:image/JPG;charset=x;base64,AAAA" } },
      want: { type: "image", source: data("image/jpeg") },
    },
    {
      name: "a video",
      part: { type: "video_url", video_url: { url: "data:video/mp4;base64,AAAA" } },
      want: { type: "video", source: data("video/mp4") },
    },
    {
      name: "a video behind a link",
      part: { type: "video_url", video_url: { url: "https://example.com/f" } },
      want: { type: "video", source: { kind: "url", url: "https://example.com/f" } },
    },
    {
      name: "audio in a data URL",
      part: { type: "audio_url", audio_url: { url: "data:audio/ogg;base64,AAAA" } },
      want: { type: "audio", source: data("audio/ogg") },
    },
    {
      name: "audio as the reference sends it",
      part: { type: "input_audio", input_audio: { data: "AAAA", format: "mp3" } },
      want: { type: "audio", source: data("audio/mp3") },
    },
    {
      name: "a document with its name",
      part: { type: "file", file: { file_data: "data:application/pdf;base64,AAAA", filename: "a.pdf" } },
      want: { type: "document", source: data("application/pdf"), name: "a.pdf" },
    },
    {
      name: "a text file",
      part: { type: "file", file: { file_data: "data:text/plain;charset=utf-8;base64,AAAA" } },
      want: { type: "document", source: data("text/plain") },
    },
    {
      name: "a document as bare base64, told by its name",
      part: { type: "file", file: { file_data: "AAAA", filename: "a.md" } },
      want: { type: "document", source: data("text/markdown"), name: "a.md" },
    },
    {
      name: "a document as bare base64, told by its first bytes",
      part: { type: "file", file: { file_data: "JVBERi0x" } },
      want: { type: "document", source: data("application/pdf", "JVBERi0x") },
    },
    {
      name: "a file in the provider's store",
      part: { type: "file", file: { file_id: "file-1" } },
      want: { type: "document", source: { kind: "file", id: "file-1" } },
    },
    {
      name: "a video sent as a file behind a link",
      part: { type: "file", file: { file_data: "https://example.com/f.mp4", filename: "f.mp4" } },
      want: {
        type: "video",
        source: { kind: "url", url: "https://example.com/f.mp4", mediaType: "video/mp4" },
      },
    },
    {
      name: "an image sent as a file",
      part: { type: "file", file: { file_data: "data:image/webp;base64,AAAA" } },
      want: { type: "image", source: data("image/webp") },
    },
    {
      name: "a breakpoint in the reference's own words",
      part: { type: "text", text: "x", prompt_cache_breakpoint: { mode: "explicit" } },
      want: { type: "text", text: "x", cache: { type: "ephemeral" } },
    },
  ];
  for (const { name, part, want } of cases) {
    test(name, () => {
      const { turns } = decode([{ role: "user", content: [part] }]);
      expect(turns).toEqual([{ role: "user", parts: [want] } as Turn]);
    });
  }

  test("empty texts are left out", () => {
    const { turns } = decode([
      {
        role: "user",
        content: [
          { type: "text", text: "" },
          { type: "text", text: "hi" },
        ],
      },
    ]);
    expect(turns).toEqual([asked]);
  });

  const refused: readonly { part: object; param: string }[] = [
    { part: { type: "hologram" }, param: ".type" },
    { part: { type: "image_url", image_url: { url: "data:image/svg+xml,<svg/>" } }, param: ".image_url.url" },
    {
      part: { type: "image_url", image_url: { url: "data:image/png;base64,@@@" } },
      param: ".image_url.url",
    },
    { part: { type: "image_url", image_url: { url: "data:image/png;base64," } }, param: ".image_url.url" },
    { part: { type: "file", file: { file_data: "data:text/plain;base64, \n" } }, param: ".file.file_data" },
    {
      part: { type: "file", file: { file_data: "data:application/pdf;base64,A#" } },
      param: ".file.file_data",
    },
    {
      part: { type: "input_audio", input_audio: { data: "AA", format: "a/b" } },
      param: ".input_audio.format",
    },
    { part: { type: "file", file: { filename: "a.pdf" } }, param: ".file" },
    { part: { type: "file", file: { file_data: "AAAA" } }, param: ".file.file_data" },
    { part: { type: "file", file: { file_data: "data:,hi" } }, param: ".file.file_data" },
  ];
  for (const { part, param } of refused) {
    test(`refused by name: ${JSON.stringify(part)}`, () => {
      expect(refusal([{ role: "user", content: [part] }])).toBe(`messages[0].content[0]${param}`);
    });
  }
});

describe("a signature in an image's data URL comes out as its issuer wrote it, however the client wrote it", () => {
  const written = ["ab-_cQ", "ab+/cQ==", '"ab+/cQ=="', "ab%2B%2FcQ%3D%3D", '"ab-_cQ"'];
  for (const signature of written) {
    test(signature, () => {
      const url = `data:image/png;thought_signature=${signature};base64,AAAA`;
      const { turns } = decode([
        user,
        {
          role: "assistant",
          content: null,
          tool_calls: [call("c")],
          images: [{ type: "image_url", image_url: { url } }],
        },
      ]);
      expect(turns[1]?.parts[0]).toEqual({
        type: "image",
        source: { kind: "data", mediaType: "image/png", data: "AAAA" },
        signature: "ab+/cQ==",
      });
    });
  }

  test("one that is no base64 is refused", () => {
    const url = "data:image/png;thought_signature=a b;base64,AAAA";
    const images = [{ type: "image_url", image_url: { url } }];
    expect(refusal([user, { role: "assistant", content: "x", images }])).toBe(
      "messages[1].images[0].image_url.url",
    );
  });
});

describe("calls and results", () => {
  for (const content of [null, "", undefined, []]) {
    test(`an assistant that only calls, with content ${JSON.stringify(content)}`, () => {
      const message = { role: "assistant", content, tool_calls: [call("a", "")] };
      const { turns, warnings } = decode([user, message, result("a")]);
      expect(turns).toEqual([
        asked,
        { role: "assistant", parts: [called("a", "")] },
        { role: "tool", parts: [given("a")] },
      ]);
      expect(warnings).toEqual([]);
    });
  }

  test("results are one turn, in the order of the calls", () => {
    const message = { role: "assistant", content: "both", tool_calls: [call("a"), call("b", '{"x": 1.0}')] };
    const { turns } = decode([user, message, result("b"), result("a"), user]);
    expect(turns.slice(1)).toEqual([
      { role: "assistant", parts: [{ type: "text", text: "both" }, called("a"), called("b", '{"x": 1.0}')] },
      { role: "tool", parts: [given("a"), given("b")] },
      asked,
    ]);
  });

  test("a result has the parts that were sent, and its mark of the cache", () => {
    const content = [
      { type: "text", text: "see", cache_control: { type: "ephemeral" } },
      { type: "image_url", image_url: { url: PNG } },
    ];
    const { turns } = decode([user, { role: "assistant", tool_calls: [call("a")] }, result("a", content)]);
    expect(turns[2]?.parts).toEqual([
      {
        type: "tool_result",
        callId: "a",
        isError: false,
        cache: { type: "ephemeral" },
        parts: [
          { type: "text", text: "see" },
          { type: "image", source: { kind: "data", mediaType: "image/png", data: "iVBORw0KGgo=" } },
        ],
      },
    ]);
  });

  test("a call's signature of another vendor goes along", () => {
    const extra = { extra_content: { google: { thought_signature: "AbC=" } } };
    const { turns } = decode([
      user,
      { role: "assistant", tool_calls: [call("a", "{}", extra)] },
      result("a"),
    ]);
    expect(turns[1]?.parts).toEqual([{ ...called("a"), signature: "AbC=" }]);
  });

  for (const after of [[], [user], [{ role: "assistant", content: "x" }]]) {
    test(`a result that is missing before ${JSON.stringify(after)} is one that says so`, () => {
      const message = { role: "assistant", tool_calls: [call("a"), call("b")] };
      const { turns, warnings } = decode([user, message, result("b"), ...after]);
      expect(turns[2]).toEqual({
        role: "tool",
        parts: [{ ...given("a", "No result was given for this call."), isError: true }, given("b")],
      });
      expect(warnings).toEqual(["messages[1].tool_calls[0] has no result: the model was told so"]);
    });
  }

  test("the same result twice counts once, and that is told", () => {
    const message = { role: "assistant", tool_calls: [call("a")] };
    const { turns, warnings } = decode([user, message, result("a"), result("a")]);
    expect(turns[2]).toEqual({ role: "tool", parts: [given("a")] });
    expect(warnings).toEqual(["messages[3] was left out: the same result stands before it"]);
  });

  test("an id may be used again by a later message", () => {
    const round = [{ role: "assistant", tool_calls: [call("a")] }, result("a")];
    const { turns, warnings } = decode([user, ...round, ...round]);
    expect(turns.slice(1, 3)).toEqual(turns.slice(3));
    expect(warnings).toEqual([]);
  });

  test("calls from before they had ids are calls", () => {
    const { turns } = decode([
      user,
      { role: "assistant", content: null, function_call: { name: "f", arguments: "{}" } },
      { role: "function", name: "f", content: "x" },
    ]);
    expect(turns.slice(1)).toEqual([
      { role: "assistant", parts: [called("call_function")] },
      { role: "tool", parts: [given("call_function", "x")] },
    ]);
  });

  const assistant = (...calls: object[]) => ({ role: "assistant", content: null, tool_calls: calls });

  test("a custom tool was called with any text, and its result answers it like others", () => {
    const custom = (id: string, input: string | null) => ({
      id,
      type: "custom",
      custom: { name: "p", input },
    });
    const { turns, warnings } = decode([
      user,
      assistant(custom("a", "*** {\n"), custom("b", null), call("c")),
      result("b"),
      result("a"),
      result("c"),
    ]);
    const part = (id: string, input: string) => ({ type: "tool_call", id, name: "p", input, custom: true });
    expect(turns.slice(1) as unknown[]).toEqual([
      { role: "assistant", parts: [part("a", "*** {\n"), part("b", ""), called("c")] },
      { role: "tool", parts: [given("a"), given("b"), given("c")] },
    ]);
    expect(warnings).toEqual([]);
  });

  const refused: readonly { name: string; messages: readonly unknown[]; param: string }[] = [
    { name: "a result of no call", messages: [user, result("a")], param: "messages[1].tool_call_id" },
    {
      name: "a result of an earlier call",
      messages: [user, assistant(call("a")), user, result("a")],
      param: "messages[3].tool_call_id",
    },
    {
      name: "two results of one call",
      messages: [user, assistant(call("a")), result("a"), result("a", "other")],
      param: "messages[3].tool_call_id",
    },
    {
      name: "one id twice",
      messages: [user, assistant(call("a"), call("a"))],
      param: "messages[1].tool_calls[1].id",
    },
    { name: "no id", messages: [user, assistant(call(""))], param: "messages[1].tool_calls[0].id" },
    {
      name: "no name",
      messages: [user, assistant(call("a", "{}", { function: { name: "", arguments: "{}" } }))],
      param: "messages[1].tool_calls[0].function.name",
    },
    {
      name: "no name in the old form",
      messages: [user, { role: "assistant", content: null, function_call: { name: "", arguments: "{}" } }],
      param: "messages[1].function_call.name",
    },
    {
      name: "a custom call without what it calls",
      messages: [user, assistant({ id: "a", type: "custom" })],
      param: "messages[1].tool_calls[0].custom",
    },
    {
      name: "a custom call without a name",
      messages: [user, assistant({ id: "a", type: "custom", custom: { input: "x" } })],
      param: "messages[1].tool_calls[0].custom.name",
    },
    {
      name: "a custom call with what is no text",
      messages: [user, assistant({ id: "a", type: "custom", custom: { name: "f", input: {} } })],
      param: "messages[1].tool_calls[0].custom.input",
    },
    {
      name: "a function result of no call",
      messages: [user, { role: "function", name: "f", content: "x" }],
      param: "messages[1].name",
    },
    {
      name: "audio of an earlier answer",
      messages: [user, { role: "assistant", audio: { id: "audio_1" } }],
      param: "messages[1].audio",
    },
    ...['{"x":', "[1]", "5", "null", "x"].map((input) => ({
      name: `arguments ${input}`,
      messages: [user, assistant(call("a"), call("b", input))],
      param: "messages[1].tool_calls[1].function.arguments",
    })),
  ];
  for (const { name, messages, param } of refused) {
    test(`refused by name: ${name}`, () => {
      expect(refusal(messages)).toBe(param);
    });
  }
});

describe("reasoning of earlier answers", () => {
  const detail = (thinking: string, signature?: string, more: object = {}) => ({
    type: "thinking",
    thinking,
    ...(signature === undefined ? {} : { signature }),
    ...more,
  });
  const claude = (index: number) => ({ format: "anthropic-claude-v1", index });
  const gemini = (index: number) => ({ format: "google-gemini-v1", index });
  const text = { type: "text", text: "said" };
  const calls = [call("a"), call("b")];
  const cases: readonly {
    name: string;
    details: readonly object[];
    more?: object;
    want: readonly object[];
  }[] = [
    {
      name: "without places it goes first, in its order",
      details: [detail("x", "S1"), detail("", "redacted:DATA"), detail("", "S2")],
      want: [
        { type: "thinking", text: "x", signature: "S1" },
        { type: "redacted_thinking", data: "DATA" },
        { type: "thinking", text: "", signature: "S2" },
        text,
        called("a"),
        called("b"),
      ],
    },
    {
      name: "with places it goes between",
      details: [detail("x", "S1", claude(0)), detail("y", "S2", claude(3))],
      want: [
        { type: "thinking", text: "x", signature: "S1", issuer: "anthropic" },
        text,
        called("a"),
        { type: "thinking", text: "y", signature: "S2", issuer: "anthropic" },
        called("b"),
      ],
    },
    {
      name: "a place beyond the end is the end",
      details: [detail("y", "S2", claude(90)), detail("x", "S1", claude(70))],
      want: [
        text,
        called("a"),
        called("b"),
        { type: "thinking", text: "x", signature: "S1", issuer: "anthropic" },
        { type: "thinking", text: "y", signature: "S2", issuer: "anthropic" },
      ],
    },
    {
      name: "a place that two name is nobody's",
      details: [detail("x", "S1", claude(2)), detail("y", "S2", claude(2))],
      want: [
        { type: "thinking", text: "x", signature: "S1", issuer: "anthropic" },
        { type: "thinking", text: "y", signature: "S2", issuer: "anthropic" },
        text,
        called("a"),
        called("b"),
      ],
    },
    {
      name: "a signature without words keeps its place behind the text that it is of",
      details: [detail("x", undefined, gemini(0)), detail("", "SIG=", gemini(2))],
      want: [
        { type: "thinking", text: "x", issuer: "google" },
        text,
        { type: "thinking", text: "", signature: "SIG=", issuer: "google" },
        called("a"),
        called("b"),
      ],
    },
    {
      name: "text that it parted is parted again",
      details: [detail("x", "S1", { ...claude(1), text_before: 2 })],
      want: [
        { type: "text", text: "sa" },
        { type: "thinking", text: "x", signature: "S1", issuer: "anthropic" },
        { type: "text", text: "id" },
        called("a"),
        called("b"),
      ],
    },
    {
      name: "text behind it stays behind it, and calls before it before",
      details: [detail("x", "S1", { ...claude(2), text_before: 2 })],
      want: [
        { type: "text", text: "sa" },
        called("a"),
        { type: "thinking", text: "x", signature: "S1", issuer: "anthropic" },
        { type: "text", text: "id" },
        called("b"),
      ],
    },
    {
      name: "text that all came behind it stays behind it",
      details: [detail("x", "S1", { ...claude(1), text_before: 0 })],
      want: [
        called("a"),
        { type: "thinking", text: "x", signature: "S1", issuer: "anthropic" },
        text,
        called("b"),
      ],
    },
    {
      name: "a place outside the text parts nothing",
      details: [detail("x", "S1", { ...claude(0), text_before: 4 })],
      want: [
        { type: "thinking", text: "x", signature: "S1", issuer: "anthropic" },
        text,
        called("a"),
        called("b"),
      ],
    },
    {
      name: "the text beside it is never thinking",
      details: [detail("x", "S1")],
      more: { reasoning_content: "x", reasoning: "x" },
      want: [{ type: "thinking", text: "x", signature: "S1" }, text, called("a"), called("b")],
    },
  ];
  for (const { name, details, more, want } of cases) {
    test(name, () => {
      const message = {
        role: "assistant",
        content: "said",
        tool_calls: calls,
        reasoning_details: details,
        ...more,
      };
      const { turns, warnings } = decode([user, message, result("a"), result("b")]);
      expect(turns[1]).toEqual({ role: "assistant", parts: want } as Turn);
      expect(warnings).toEqual([]);
    });
  }

  test("without its blocks, the text of reasoning is left out, and that is told", () => {
    const { turns, warnings } = decode([user, { role: "assistant", content: "a", reasoning_content: "b" }]);
    expect(turns[1]?.parts).toEqual([{ type: "text", text: "a" }]);
    expect(warnings).toEqual([
      "reasoning_content of earlier messages was left out: this model's provider has no place for it",
    ]);
  });

  test("items of others are left out, and that is told", () => {
    const details = [
      { type: "reasoning.encrypted", data: "x" },
      detail("x", "S", { format: "another-vendor-v1" }),
    ];
    const { turns, warnings } = decode([
      user,
      { role: "assistant", content: "a", reasoning_details: details },
    ]);
    expect(turns[1]?.parts).toEqual([{ type: "text", text: "a" }]);
    expect(warnings).toEqual([
      "reasoning_details of reasoning.encrypted were left out: another model wrote them",
      "reasoning_details of another-vendor-v1 were left out: another model wrote them",
    ]);
  });
});

describe("arguments of calls", () => {
  const asking = (...inputs: string[]): readonly unknown[] => [
    user,
    { role: "assistant", content: null, tool_calls: inputs.map((input, i) => call(`c${i}`, input)) },
    ...inputs.map((_, i) => result(`c${i}`)),
  ];
  const refused = (...inputs: string[]): GatewayError => {
    try {
      decode(asking(...inputs));
    } catch (error) {
      if (error instanceof GatewayError) return error;
      throw error;
    }
    throw new Error("It was not refused.");
  };
  const many = (values: number): string => `{"a":[${"0,".repeat(values - 3)}0]}`;
  const deep = (levels: number): string => `{"a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;

  test("have as many values, all together, as a body may have, and are not built to find that out", () => {
    expect(decode(asking(many(120_000), many(80_000))).turns[1]?.parts).toHaveLength(2);
    expect(refused(many(120_000), many(80_001))).toMatchObject({
      kind: "input_too_large",
      param: "messages[1].tool_calls[1].function.arguments",
    });
    expect(refused(many(10_000_000))).toMatchObject({ kind: "input_too_large" });
  });

  test("nest no deeper than a body", () => {
    expect(decode(asking(deep(64))).turns[1]?.parts).toHaveLength(1);
    for (const levels of [65, 100_000])
      expect(refused(deep(levels))).toMatchObject({
        kind: "invalid_request_error",
        param: "messages[1].tool_calls[0].function.arguments",
      });
  });

  test("that are another value, or none, are refused as before", () => {
    for (const input of ["[]", "1", '"{}"', "{", "{} {}", '{"a":1,}'])
      expect(refused(input).message).toContain("must be a JSON object, written as text");
    expect(decode(asking(' {"a" : 1}\n')).turns[1]?.parts).toMatchObject([{ input: ' {"a" : 1}\n' }]);
  });
});

test("a medium knows where the request has it", () => {
  const media = [
    { type: "image_url", image_url: { url: PNG } },
    { type: "video_url", video_url: { url: "https://x.test/a.mp4" } },
    { type: "audio_url", audio_url: { url: "https://x.test/a.mp3" } },
    { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
    { type: "file", file: { file_data: PNG } },
    { type: "file", file: { file_data: "data:application/pdf;base64,AAAA" } },
    { type: "file", file: { file_id: "file-1" } },
  ];
  const { chat } = chatCompletionsServer.decodeRequest(
    readRequest(wireRequest({ model: "v/m", messages: [user, { role: "user", content: media }] })),
  );
  expect(chat.turns[1]?.parts.map((part) => "at" in part && part.at)).toEqual([
    "messages[1].content[0].image_url.url",
    "messages[1].content[1].video_url.url",
    "messages[1].content[2].audio_url.url",
    "messages[1].content[3].input_audio",
    "messages[1].content[4].file.file_data",
    "messages[1].content[5].file.file_data",
    "messages[1].content[6].file.file_id",
  ]);
});
