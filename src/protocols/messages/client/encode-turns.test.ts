import { describe, expect, test } from "bun:test";
import {
  answered,
  type Body,
  called,
  chatOf,
  encoded,
  messagesTarget,
  refusalOf,
  said,
  turn,
} from "../../../../test/protocols/messages-client.ts";
import type { CacheMark, Part, Turn } from "../../../core/chat.ts";
import { keepList } from "../../../core/json/kept.ts";

const mark: CacheMark = { type: "ephemeral" };
const thought = (signature: string, more: Partial<Extract<Part, { type: "thinking" }>> = {}): Part => ({
  type: "thinking",
  text: "hm",
  signature,
  ...more,
});
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const JPEG = "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAP==";
const data = (mediaType: string, bytes: string): Part => ({
  type: "image",
  source: { kind: "data", mediaType, data: bytes },
});
const file = (mediaType: string, bytes: string, name?: string): Part => ({
  type: "document",
  source: { kind: "data", mediaType, data: bytes },
  ...(name === undefined ? {} : { name }),
});
const block = (text: string, more: object = {}) => ({ type: "text", text, ...more });

/** `role: content` of each message, texts as they are. */
function rows(messages: readonly Body[]): string[] {
  return messages.map(({ role, content }) => `${role}: ${content.map(rowOf).join(" | ")}`);
}

function rowOf(value: Body): string {
  switch (value.type) {
    case "text":
      return value.text;
    case "tool_use":
      return `use ${value.id} ${JSON.stringify(value.input)}`;
    case "tool_result":
      return `result ${value.tool_use_id}`;
    case "thinking":
      return `thinking ${value.signature}`;
    case "redacted_thinking":
      return `redacted ${value.data}`;
    default:
      return value.type;
  }
}

describe("turns become messages in their order", () => {
  const DEMOTED =
    "messages has a system message amid the conversation: it was sent in its place as the user's";
  const UNSIGNED = "reasoning_details without a signature were left out: the provider takes none such";
  const FOREIGN =
    "reasoning_details was left out in part: thinking that another vendor's model has signed cannot be read by this one";
  const cases: readonly {
    name: string;
    turns: readonly Turn[];
    want: readonly string[];
    system?: readonly string[];
    systemTurns?: boolean;
    warnings?: readonly string[];
  }[] = [
    {
      name: "several system messages at the beginning are a block each",
      turns: [turn("system", "A"), turn("system", "B", "", "C"), turn("user", "hi")],
      system: ["A", "B", "C"],
      want: ["user: hi"],
    },
    {
      name: "a later system message keeps its place, as the user's text",
      turns: [turn("user", "a"), turn("assistant", "b"), turn("system", "S"), turn("user", "c")],
      want: ["user: a", "assistant: b", "user: S", "user: c"],
      warnings: [DEMOTED],
    },
    {
      name: "a model that takes them is sent a system message after the user and before an answer",
      systemTurns: true,
      turns: [
        turn("user", "a"),
        turn("system", "S"),
        turn("assistant", "b"),
        turn("user", "c"),
        turn("system", "T"),
      ],
      want: ["user: a", "system: S", "assistant: b", "user: c", "system: T"],
    },
    {
      name: "two system messages in a row are one",
      systemTurns: true,
      turns: [turn("user", "a"), turn("system", "S"), turn("system", "T")],
      want: ["user: a", "system: S | T"],
    },
    {
      name: "a system message where none may stand is the user's in its place",
      systemTurns: true,
      turns: [turn("user", "a"), turn("assistant", "b"), turn("system", "S"), turn("user", "c")],
      want: ["user: a", "assistant: b", "user: S", "user: c"],
      warnings: [DEMOTED],
    },
    {
      name: "a system message alone is the user's",
      turns: [turn("system", "A"), turn("system", "B")],
      system: ["A"],
      want: ["user: B"],
      warnings: ["messages has a system message alone: it was sent as the user's"],
    },
    {
      name: "texts without anything are left out, and messages that are left with nothing",
      turns: [turn("user", "a", ""), turn("assistant", "", " \n"), turn("user", "b")],
      want: ["user: a", "user: b"],
    },
    {
      name: "thinking stands where it stood, signatures as they were; unsigned thinking is left out, and said",
      turns: [
        turn("user", "a"),
        turn(
          "assistant",
          thought("Eq+/="),
          { type: "redacted_thinking", data: "R" },
          thought(""),
          { type: "thinking", text: "no" },
          "b",
          thought("S2", { issuer: "anthropic" }),
          called("c1"),
        ),
        turn("tool", answered("c1", "x")),
      ],
      want: [
        "user: a",
        "assistant: thinking Eq+/= | redacted R | b | thinking S2 | use c1 {}",
        "user: result c1",
      ],
      warnings: [UNSIGNED],
    },
    {
      name: "what another vendor's model has signed is left out, and said",
      turns: [
        turn("user", "a"),
        turn("assistant", thought("G", { issuer: "google" }), "b"),
        turn("user", "c"),
      ],
      want: ["user: a", "assistant: b", "user: c"],
      warnings: [FOREIGN],
    },
    {
      name: "unsigned thinking of another vendor's model is left out, and said",
      turns: [
        turn("user", "a"),
        turn("assistant", { type: "thinking", text: "hm", issuer: "google" }, "b"),
        turn("user", "c"),
      ],
      want: ["user: a", "assistant: b", "user: c"],
      warnings: [UNSIGNED],
    },
    {
      name: "results of parallel calls are one message in the order of the calls, before what the user says",
      turns: [
        turn("user", "a"),
        turn("assistant", called("one", '{"x":1}'), called("two", "")),
        turn("tool", answered("two", "2"), answered("one", "1")),
        turn("user", "and?"),
      ],
      want: ["user: a", 'assistant: use one {"x":1} | use two {}', "user: result one | result two | and?"],
    },
    {
      name: "parallel calls that came in turns of their own are one answer, with its results behind it",
      turns: [
        turn("user", "a"),
        turn("assistant", called("f:1")),
        turn("assistant", called("f:2")),
        turn("tool", answered("f:2", "2"), answered("f:1", "1")),
      ],
      want: ["user: a", "assistant: use f_3a_1 {} | use f_3a_2 {}", "user: result f_3a_1 | result f_3a_2"],
    },
    {
      name: "a system message between a call and its result waits behind the result",
      systemTurns: true,
      turns: [
        turn("user", "a"),
        turn("assistant", called("c")),
        turn("system", "S"),
        turn("tool", answered("c", "1")),
        turn("user", "b"),
      ],
      want: ["user: a", "assistant: use c {}", "user: result c | S | b"],
      warnings: [DEMOTED],
    },
    {
      name: "images of an answer move to the user's next turn, behind results",
      turns: [
        turn("user", "a"),
        turn("assistant", "b", data("image/png", PNG)),
        turn("user", "c"),
        turn("assistant", data("image/png", PNG), called("c1")),
        turn("tool", answered("c1", "x")),
      ],
      want: ["user: a", "assistant: b", "user: image | c", "assistant: use c1 {}", "user: result c1 | image"],
    },
    {
      name: "an answer that is to be gone on with ends in no white space",
      turns: [turn("user", "a"), turn("assistant", "b \n")],
      want: ["user: a", "assistant: b"],
    },
  ];
  for (const { name, turns, want, system, systemTurns, warnings = [] } of cases) {
    test(name, () => {
      const target = messagesTarget("haiku", systemTurns === undefined ? {} : { systemTurns });
      const got = encoded(chatOf(turns), target);
      expect(rows(got.up.messages)).toEqual([...want]);
      expect(got.up.system?.map(({ text }: Body) => text)).toEqual(
        system === undefined ? undefined : [...system],
      );
      expect(got.warnings).toEqual([...warnings]);
      expect(got.refused).toBeUndefined();
    });
  }

  test("nothing to read at all is refused", () => {
    expect(refusalOf(chatOf([turn("user", "")]))[0]).toBe("messages");
  });
});

describe("media become blocks", () => {
  const cases: readonly { name: string; part: Part; want: object }[] = [
    {
      name: "jpg is jpeg",
      part: data("image/jpg", JPEG),
      want: { type: "image", source: { type: "base64", media_type: "image/jpeg", data: JPEG } },
    },
    {
      name: "the bytes say the type, whatever was said of them",
      part: data("image/png", JPEG),
      want: { type: "image", source: { type: "base64", media_type: "image/jpeg", data: JPEG } },
    },
    {
      name: "parameters of the media type are cut",
      part: data("IMAGE/PNG;thought_signature=abc", PNG),
      want: { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
    },
    {
      name: "bytes that are not known keep the type that was said",
      part: data("image/webp; charset=binary", "AAAA"),
      want: { type: "image", source: { type: "base64", media_type: "image/webp", data: "AAAA" } },
    },
    {
      name: "WebP and GIF by their bytes",
      part: data("application/octet-stream", "UklGRhIAAABXRUJQVlA4TA=="),
      want: {
        type: "image",
        source: { type: "base64", media_type: "image/webp", data: "UklGRhIAAABXRUJQVlA4TA==" },
      },
    },
    {
      name: "base64 of URLs becomes the usual one",
      part: data("image/jpeg", "_9j_4AAQ-A%3D%3D\n"),
      want: { type: "image", source: { type: "base64", media_type: "image/jpeg", data: "/9j/4AAQ+A==" } },
    },
    {
      name: "a link, with its mark",
      part: { type: "image", source: { kind: "url", url: "https://x.test/a.png" }, cache: mark },
      want: { type: "image", source: { type: "url", url: "https://x.test/a.png" }, cache_control: mark },
    },
    {
      name: "a PDF with its name",
      part: file("application/pdf", "JVBERi0xLjQ=", "a.pdf"),
      want: {
        type: "document",
        source: { type: "base64", media_type: "application/pdf", data: "JVBERi0xLjQ=" },
        title: "a.pdf",
      },
    },
    {
      name: "a PDF whose type was not said",
      part: file("", "JVBERi0xLjQ="),
      want: {
        type: "document",
        source: { type: "base64", media_type: "application/pdf", data: "JVBERi0xLjQ=" },
      },
    },
    {
      name: "a text as text",
      part: file("text/csv; charset=utf-8", btoa("a,\u00c3\u00bc"), "t.csv"),
      want: {
        type: "document",
        source: { type: "text", media_type: "text/plain", data: "a,ü" },
        title: "t.csv",
      },
    },
    {
      name: "a document behind a link",
      part: { type: "document", source: { kind: "url", url: "https://x.test/a.pdf" } },
      want: { type: "document", source: { type: "url", url: "https://x.test/a.pdf" } },
    },
    {
      name: "a file in the provider's store",
      part: { type: "document", source: { kind: "file", id: "file_1" } },
      want: { type: "document", source: { type: "file", file_id: "file_1" } },
    },
    { name: "an image that was sent as a file", part: file("image/png", PNG), want: encodedImage() },
  ];
  for (const { name, part, want } of cases) {
    test(name, () => {
      const got = encoded(chatOf([turn("user", part)]));
      expect(got.up.messages[0].content).toEqual([want]);
      expect(got.refused).toBeUndefined();
    });
  }

  const refused: readonly (readonly [string, Part, RegExp])[] = [
    ["audio", { type: "audio", source: { kind: "data", mediaType: "audio/wav", data: "AA" } }, /audio/],
    ["video", { type: "video", source: { kind: "url", url: "https://x.test/a.mp4" } }, /a video/],
    [
      "a link of another scheme",
      { type: "image", source: { kind: "url", url: "gs://b/a.png" } },
      /http, https or data/,
    ],
    [
      "a file of another store",
      { type: "document", source: { kind: "file", id: "file-1" } },
      /another vendor's store/,
    ],
    ["an image of another kind", data("image/bmp", "Qk0="), /"image\/bmp"/],
    ["a file of another kind", file("application/zip", "UEs="), /"application\/zip"/],
    ["a text that is none", file("text/plain", "//8="), /UTF-8/],
  ];
  for (const [name, part, says] of refused) {
    test(`${name} is refused by name`, () => {
      const [param, message] = refusalOf(chatOf([turn("user", part)]));
      expect(param).toBe("messages");
      expect(message).toMatch(says);
      const at = "messages[0].content[0].file.file_data";
      const [exact, sentence] = refusalOf(chatOf([turn("user", { ...part, at } as Part)]));
      expect(exact).toBe(at);
      expect(sentence).toStartWith(at);
    });
  }

  function encodedImage() {
    return { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } };
  }
});

describe("calls and results", () => {
  test("ids are made legal, alike on call and result, and stay apart", () => {
    const ids = ["functions.Bash:0", "functions_2e_Bash_3a_0", "a b", "a_b", "é", ""];
    const { up, refused } = encoded(
      chatOf([
        turn("user", "a"),
        turn("assistant", ...ids.map((id) => called(id))),
        turn("tool", ...ids.map((id) => answered(id, id))),
      ]),
    );
    const calls = up.messages[1].content.map(({ id }: Body) => id);
    const results = up.messages[2].content;
    expect(results.map(({ tool_use_id }: Body) => tool_use_id)).toEqual(calls);
    expect(results.map(({ content }: Body) => content?.[0]?.text ?? "")).toEqual(ids);
    expect(new Set(calls).size).toBe(ids.length);
    expect(calls[1]).toBe("functions_2e_Bash_3a_0");
    expect(refused).toBeUndefined();
  });

  test("an id that is used again in a later turn, or twice in one, is another one there", () => {
    const { up, refused } = encoded(
      chatOf([
        turn("user", "a"),
        turn("assistant", called("c")),
        turn("tool", answered("c", "1")),
        turn("assistant", called("c", '{"n":2}'), called("c", '{"n":3}')),
        turn("tool", answered("c", "2"), answered("c", "3")),
      ]),
    );
    expect(rows(up.messages)).toEqual([
      "user: a",
      "assistant: use c {}",
      "user: result c",
      'assistant: use c_2 {"n":2} | use c_3 {"n":3}',
      "user: result c_2 | result c_3",
    ]);
    expect(up.messages[4].content.map(({ content }: Body) => content[0].text)).toEqual(["2", "3"]);
    expect(refused).toBeUndefined();
  });

  test("a result is that of the last answer's call, whatever became of earlier ones of its id", () => {
    const { up } = encoded(
      chatOf([
        turn("user", "a"),
        turn("assistant", called("c")),
        turn("user", "never mind"),
        turn("assistant", called("c")),
        turn("tool", answered("c", "1")),
      ]),
    );
    expect(rows(up.messages).slice(3)).toEqual(["assistant: use c_2 {}", "user: result c_2"]);
  });

  test("a result may hold images, nothing, and an error", () => {
    const { up } = encoded(
      chatOf([
        turn("user", "a"),
        turn("assistant", called("a"), called("b")),
        turn("tool", answered("a", "see", data("image/png", PNG)), {
          ...answered("b", ""),
          isError: true,
          cache: mark,
        } as Part),
      ]),
    );
    expect(up.messages[2].content).toEqual([
      {
        type: "tool_result",
        tool_use_id: "a",
        content: [
          block("see"),
          { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
        ],
      },
      { type: "tool_result", tool_use_id: "b", is_error: true, cache_control: mark },
    ]);
  });

  test("an input keeps the digits of its numbers", () => {
    const input = '{"id":12345678901234567890,"price":1.10,"deep":[{"n":1e400}]}';
    const { text } = encoded(
      chatOf([turn("user", "a"), turn("assistant", called("c", input)), turn("tool", answered("c", "x"))]),
    );
    expect(text).toContain(`"input":${input}`);
  });

  for (const input of ["{", '{"a":1', "[1]", "5", "5.50", '"x"']) {
    test(`the input ${input} is refused`, () => {
      const [param, message] = refusalOf(chatOf([turn("user", "a"), turn("assistant", called("c", input))]));
      expect(param).toBe("tool_calls[].function.arguments");
      expect(message).toContain('the call of "f"');
    });
  }
});

describe("cache marks", () => {
  const marked = (text: string): Part => ({ type: "text", text, cache: { type: "ephemeral", ttl: "1h" } });

  test("each stays on its block", () => {
    const { up, warnings } = encoded(
      chatOf([turn("system", marked("A"), "B"), turn("user", "x", marked("y"))], {
        tools: [{ name: "f", cache: mark }],
      }),
    );
    expect(up.system).toEqual([block("A", { cache_control: { type: "ephemeral", ttl: "1h" } }), block("B")]);
    expect(up.messages[0].content[1]).toEqual(
      block("y", { cache_control: { type: "ephemeral", ttl: "1h" } }),
    );
    expect(up.tools[0].cache_control).toEqual(mark);
    expect(warnings).toEqual([]);
  });

  test("of more than four the last four stay, also those in results", () => {
    const { up, warnings, refused } = encoded(
      chatOf(
        [
          turn("system", marked("A"), marked("B")),
          turn("user", marked("c")),
          turn("assistant", called("c")),
          turn("tool", { ...answered("c", marked("d")), cache: mark } as Part),
          turn("user", marked("e")),
        ],
        { tools: [{ name: "f", cache: mark }] },
      ),
    );
    const kept = JSON.stringify(up).split('"cache_control":{"type":"ephemeral"').length - 1;
    expect(kept).toBe(4);
    expect(JSON.stringify(up.system)).not.toContain("cache_control");
    expect(warnings).toEqual(["cache_control was left out in all but the last 4 places: no more are taken"]);
    expect(refused).toBeUndefined();
  });
});

test("a property that has the name of a mark is none", () => {
  const parameters = { type: "object", properties: { cache_control: { type: "string" } } };
  const tools = Array.from({ length: 6 }, (_, n) => ({ name: `f${n}`, parameters }));
  const { up, warnings } = encoded(chatOf([turn("user", "a")], { tools }));
  expect(up.tools.map(({ input_schema }: Body) => input_schema)).toEqual(tools.map(() => parameters));
  expect(warnings).toEqual([]);
});

test("text that is said is the text that is sent", () => {
  const odd = "\u0000\ud83d\ude00 \u2028</system>";
  expect(encoded(chatOf([turn("user", said(odd))])).up.messages[0].content).toEqual([block(odd)]);
});

test("a conversation that goes on from one that was written is told of nothing that does not hold for all of it", () => {
  const target = messagesTarget("haiku", { systemTurns: true });
  const begun = [turn("system", "s"), turn("user", "a")];
  const more = [turn("assistant", " "), turn("system", "t"), turn("assistant", "b"), turn("user", "c")];
  const alone = encoded(chatOf([...begun, ...more]), target);
  keepList(begun, undefined);
  encoded(chatOf(begun), target);
  const grown = [...begun, ...more];
  keepList(grown, { list: begun, count: begun.length });
  const goneOn = encoded(chatOf(grown), target);
  expect(goneOn.warnings).toEqual(alone.warnings);
  expect(goneOn.up).toEqual(alone.up);
});
