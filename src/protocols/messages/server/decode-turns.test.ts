import { describe, expect, test } from "bun:test";
import { decoded, KEY, refusedFor } from "../../../../test/protocols/message-events.ts";
import { type Carried, type CarrierKey, sealCarrier } from "../../carrier.ts";

const user = (content: unknown) => ({ role: "user", content });
const says = (...content: object[]) => ({ role: "assistant", content });
const text = (said: string) => ({ type: "text" as const, text: said });
const use = (id: string, input: object = {}) => ({ type: "tool_use", id, name: "f", input });
const result = (id: string, more: object = {}) => ({ type: "tool_result", tool_use_id: id, ...more });
const EPHEMERAL = { type: "ephemeral" };
const turnsOf = (...messages: object[]) => decoded({ messages }).chat.turns;
const partsOf = (...content: object[]) => turnsOf(user(content))[0]?.parts;

describe("what the system says", () => {
  test("as a text, or in blocks that keep their marks, stands before the messages", () => {
    const said = { role: "system", parts: [text("Be short.")] } as const;
    expect(decoded({ system: "Be short." }).chat.turns[0]).toEqual(said);
    const blocks = [text("One."), { ...text("Two."), cache_control: { type: "ephemeral", ttl: "1h" } }];
    expect(decoded({ system: blocks }).chat.turns).toEqual([
      {
        role: "system",
        parts: [
          { type: "text", text: "One." },
          { type: "text", text: "Two.", cache: { type: "ephemeral", ttl: "1h" } },
        ],
      },
      { role: "user", parts: [{ type: "text", text: "Hi" }] },
    ]);
  });

  test("amid the conversation keeps its place", () => {
    const turns = turnsOf(
      user("a"),
      { role: "system", content: "Now in French." },
      says(text("b")),
      user("c"),
    );
    expect(turns.map(({ role }) => role)).toEqual(["user", "system", "assistant", "user"]);
  });
});

describe("results of tools", () => {
  test("are one turn, before what the user says beside them, wherever that stands", () => {
    const messages = [
      user("a"),
      says(use("t1"), use("t2")),
      user([
        text("first"),
        result("t1", { content: "one" }),
        result("t2", { content: [text("two")] }),
        text("last"),
      ]),
    ];
    expect(turnsOf(...messages).slice(2)).toEqual([
      {
        role: "tool",
        parts: [
          { type: "tool_result", callId: "t1", parts: [{ type: "text", text: "one" }], isError: false },
          { type: "tool_result", callId: "t2", parts: [{ type: "text", text: "two" }], isError: false },
        ],
      },
      {
        role: "user",
        parts: [
          { type: "text", text: "first" },
          { type: "text", text: "last" },
        ],
      },
    ]);
  });

  test("keep their error, their mark, and the images and documents in them", () => {
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
    const pdf = { type: "document", title: "a.pdf", source: { type: "url", url: "https://a.b/c.pdf" } };
    const inner = [{ ...text("See."), cache_control: EPHEMERAL }, image, pdf];
    const turns = turnsOf(user("a"), says(use("t")), user([result("t", { is_error: true, content: inner })]));
    const at = "messages[2].content[0].content";
    expect(turns[2]?.parts).toEqual([
      {
        type: "tool_result",
        callId: "t",
        isError: true,
        cache: EPHEMERAL,
        parts: [
          { type: "text", text: "See." },
          {
            type: "image",
            source: { kind: "data", mediaType: "image/png", data: "AAAA" },
            at: `${at}[1].source`,
          },
          {
            type: "document",
            source: { kind: "url", url: "https://a.b/c.pdf" },
            at: `${at}[2].source.url`,
            name: "a.pdf",
          },
        ],
      },
    ]);
  });
});

describe("media", () => {
  test("images as bytes, behind a link and in a file store, each with its place", () => {
    const image = (source: object) => ({ type: "image", source });
    expect(
      partsOf(
        image({ type: "base64", media_type: "image/jpeg", data: "AAAA" }),
        { ...image({ type: "url", url: "https://a.b/c" }), cache_control: EPHEMERAL },
        image({ type: "file", file_id: "file_1" }),
      ),
    ).toEqual([
      {
        type: "image",
        source: { kind: "data", mediaType: "image/jpeg", data: "AAAA" },
        at: "messages[0].content[0].source",
      },
      {
        type: "image",
        source: { kind: "url", url: "https://a.b/c" },
        at: "messages[0].content[1].source.url",
        cache: EPHEMERAL,
      },
      { type: "image", source: { kind: "file", id: "file_1" }, at: "messages[0].content[2].source.file_id" },
    ]);
  });

  test("documents of text are files of text, and their context and blocks stand where they stood", () => {
    const source = { type: "text", media_type: "text/plain", data: "Grüße" };
    const inline = { type: "content", content: [text("inner")] };
    expect(
      partsOf(
        { type: "document", title: "a.txt", context: "A letter.", source },
        { type: "document", title: "b", source: inline, cache_control: EPHEMERAL },
      ),
    ).toEqual([
      { type: "text", text: "A letter." },
      {
        type: "document",
        name: "a.txt",
        source: {
          kind: "data",
          mediaType: "text/plain",
          data: btoa(String.fromCharCode(...new TextEncoder().encode("Grüße"))),
        },
        at: "messages[0].content[0].source",
      },
      { type: "text", text: "b" },
      { type: "text", text: "inner", cache: EPHEMERAL },
    ]);
  });

  test("what a search of the caller's own has found is its text", () => {
    const found = {
      type: "search_result",
      source: "https://a.b",
      title: "A page",
      content: [text("It says so.")],
    };
    expect(partsOf(found)).toEqual([{ type: "text", text: "A page\nhttps://a.b\nIt says so." }]);
  });
});

describe("what an earlier answer said", () => {
  const assistant = (...content: object[]) => turnsOf(user("a"), says(...content), user("b"))[1]?.parts;

  test("keeps its order, thinking between calls and all, and no empty text", () => {
    const thinking = { type: "thinking", thinking: "Hm.", signature: "EuQB" };
    expect(
      assistant(
        thinking,
        text(""),
        use("t1"),
        { type: "redacted_thinking", data: "XX" },
        text("b"),
        use("t2"),
      ),
    ).toEqual([
      { type: "thinking", text: "Hm.", signature: "EuQB", issuer: "anthropic" },
      { type: "tool_call", id: "t1", name: "f", input: "{}" },
      { type: "redacted_thinking", data: "XX", issuer: "anthropic" },
      { type: "text", text: "b" },
      { type: "tool_call", id: "t2", name: "f", input: "{}" },
    ]);
  });

  test("numbers in inputs keep their digits, wherever the call stands", () => {
    const input = '{ "id": 1234567890123456789, "x": 1.0, "y": [1e3, -0] }';
    const body = `{"model":"v/m","max_tokens":9,"messages":[{"role":"user","content":"a"},
      {"content":[{"type":"text","text":"b"},{"input":${input},"type":"tool_use","id":"t","name":"f"}],"role":"assistant"},
      {"role":"user","content":"c"}]}`;
    const call = decoded(body).chat.turns[1]?.parts[1];
    expect(call).toMatchObject({ input });
  });

  const carried = (of: Carried, key: CarrierKey = KEY) => sealCarrier(of, key);
  const holds = (signature: string, thinking = "") => ({ type: "thinking", thinking, signature });

  test("what its own model signed is that model's again: thinking, redacted thinking, a call, a text", () => {
    const google = { issuer: "google", signature: "U0lH" } as const;
    expect(
      assistant(
        holds(carried({ kind: "thinking", text: "", ...google }), "Hm."),
        holds(carried({ kind: "thinking", text: "not shown" })),
        { type: "redacted_thinking", data: carried({ kind: "redacted", issuer: "openai", data: "ENC" }) },
        text("Look."),
        holds(carried({ kind: "signature", of: "last", issuer: "google", signature: "T0Y=" })),
        holds(carried({ kind: "signature", of: "next", ...google })),
        use("t1"),
        use("t2"),
      ),
    ).toEqual([
      { type: "thinking", text: "Hm.", issuer: "google", signature: "U0lH" },
      { type: "thinking", text: "not shown" },
      { type: "redacted_thinking", issuer: "openai", data: "ENC" },
      { type: "text", text: "Look.", signature: "T0Y=" },
      { type: "tool_call", id: "t1", name: "f", input: "{}", signature: "U0lH" },
      { type: "tool_call", id: "t2", name: "f", input: "{}" },
    ]);
  });

  test("what was sealed for another account, or changed, is left out and told", () => {
    const others = carried({ kind: "thinking", text: "x" }, { secret: "s", account: "b" });
    for (const signature of [others, "sw1.e30.AAAA"]) {
      const { chat, warnings } = decoded({
        messages: [user("a"), says(holds(signature), text("b")), user("c")],
      });
      expect(chat.turns[1]?.parts).toEqual([{ type: "text", text: "b" }]);
      expect(warnings.join()).toContain("was given to another account");
    }
  });

  test("what the vendor's own tools did and found is left out, and told; a text beside it stays", () => {
    const search = { type: "server_tool_use", id: "s", name: "web_search", input: { query: "x" } };
    const found = { type: "web_search_tool_result", tool_use_id: "s", content: [] };
    const { chat, warnings } = decoded({ messages: [user("a"), says(search, found, text("b")), user("c")] });
    expect(chat.turns[1]?.parts).toEqual([{ type: "text", text: "b" }]);
    expect(warnings).toEqual(
      ["server_tool_use", "web_search_tool_result"].map(
        (type) => `blocks of type ${type} were left out: only their own provider can read them`,
      ),
    );
  });

  test("an answer of which nothing is left is left out, and told", () => {
    const { chat, warnings } = decoded({ messages: [user("a"), says(holds("sw1.x.y")), user("b")] });
    expect(chat.turns.map(({ role }) => role)).toEqual(["user", "user"]);
    expect(warnings.at(-1)).toBe("messages[1] was left out: there is nothing in it");
  });

  test("the id of a call that was spelled for clients is its model's own again, in call and result", () => {
    const id = "sw_ZnVuY3Rpb25zLkJhc2g6MA";
    const turns = turnsOf(user("a"), says(use(id)), user([result(id)]));
    expect(turns[1]?.parts[0]).toMatchObject({ id: "functions.Bash:0" });
    expect(turns[2]?.parts[0]).toMatchObject({ callId: "functions.Bash:0" });
  });
});

describe("what cannot be said in any other format is a 400 by name", () => {
  const cases: readonly (readonly [string, object])[] = [
    [
      "messages[0].content[1].type",
      { messages: [user([text("a"), { type: "container_upload", file_id: "f" }])] },
    ],
    ["messages[1].content[0].input", { messages: [user("a"), says({ ...use("t"), input: [1] }), user("b")] }],
    ["messages", { messages: [user("")] }],
    ["system", { system: [{ type: "image", source: { type: "url", url: "https://a.b/c" } }] }],
  ];
  test.each(cases)("%s", (param, body) => expect(refusedFor({ ...body })[0]).toBe(param));
});
