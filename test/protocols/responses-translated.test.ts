import { describe, expect, test } from "bun:test";
import { geminiAnswer } from "../upstream/gemini-bytes.ts";
import { message as claudeMessage } from "../upstream/messages-bytes.ts";
import type { Json } from "./chat-events.ts";
import { PROVIDER, TranslatedWay } from "./translated-way.ts";

// What clients of Responses send and are sent where the model's provider speaks another format. The numbers are those
// of the cases in the shared page on Responses. The cases about what is kept stand with the store.

const CLAUDE = new TranslatedWay("compat_responses", PROVIDER.claude());
const GEMINI = new TranslatedWay("compat_responses", PROVIDER.gemini());
const OPENAI = new TranslatedWay("compat_responses", PROVIDER.chat());
const KIMI = new TranslatedWay("compat_responses", PROVIDER.chat("moonshot"));

const user = (content: unknown = "Go.") => ({ role: "user", content });
const fn = (name: string) => ({ type: "function", name, parameters: { type: "object", properties: {} } });
const call = (id: string, more: object = {}) => ({
  type: "function_call",
  call_id: id,
  name: "f",
  arguments: "{}",
  ...more,
});
const output = (id: string, said: unknown = id) => ({
  type: "function_call_output",
  call_id: id,
  output: said,
});
const tools = [fn("f")];

const chunk = (delta: object, finish: string | null = null): Json => ({
  id: "c1",
  object: "chat.completion.chunk",
  created: 1,
  model: "up",
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const fragment = (index: number, more: object): Json => chunk({ tool_calls: [{ index, ...more }] });
const typesOf = (events: readonly Json[]): string[] => events.map(({ type }) => type);

describe("what models want back", () => {
  const thinking = { type: "thinking", thinking: "Hm, yes.", signature: "EuQBCkYIBxgCKkA+/w==" };
  const answer = () =>
    CLAUDE.plain(claudeMessage({ blocks: [thinking, { type: "tool_use", id: "a", name: "f", input: {} }] }));

  test("R4: Claude's thinking goes back first in its turn, with the same bytes", () => {
    const input = [user(), ...answer().output, output("a")];
    const { up } = CLAUDE.sent({ input, tools, reasoning: { effort: "high" } });
    expect(up.messages[1].content).toMatchObject([thinking, { type: "tool_use", id: "a" }]);
    expect(up.thinking.type).toBe("enabled");
  });

  test("R5: of Gemini's parallel calls the first alone has its signature again", () => {
    const parts = [
      { functionCall: { id: "a", name: "f", args: {} }, thoughtSignature: "U0lH" },
      { functionCall: { id: "b", name: "f", args: {} } },
    ];
    const input = [user(), ...GEMINI.plain(geminiAnswer({ parts })).output, output("a"), output("b")];
    expect(GEMINI.sent({ input, tools }).up.contents[1].parts).toEqual(parts);
  });

  test("R6: what one vendor's model thought is left out for another's, and the request goes on", () => {
    const input = [user(), ...answer().output, output("a")];
    for (const way of [GEMINI, OPENAI]) {
      const { json, warnings } = way.sent({ input, tools });
      expect(json).not.toContain(thinking.signature);
      expect(json).not.toContain("Hm, yes.");
      expect(warnings.join()).toContain("left out");
    }
  });

  test("R26: reasoning, message, call, reasoning, call come back in this order", () => {
    const blocks = [
      thinking,
      { type: "text", text: "Look." },
      { type: "tool_use", id: "a", name: "f", input: {} },
      { ...thinking, thinking: "And now?" },
      { type: "tool_use", id: "b", name: "f", input: {} },
    ];
    const { output: said } = CLAUDE.plain(claudeMessage({ blocks }));
    expect(said.map(({ type }: Json) => type)).toEqual([
      "reasoning",
      "message",
      "function_call",
      "reasoning",
      "function_call",
    ]);
    const { up } = CLAUDE.sent({ input: [user(), ...said, output("a"), output("b")], tools });
    expect(up.messages[1].content).toMatchObject(blocks);
  });
});

describe("tools", () => {
  test("R7: tools that only an item brings reach the provider, those of namespaces by themselves", () => {
    const offer = {
      type: "additional_tools",
      role: "developer",
      tools: [{ type: "namespace", name: "functions", tools: [{ type: "custom", name: "exec" }] }],
    };
    const { up } = OPENAI.sent({ input: [offer, user()] });
    expect(up.tools.map((tool: Json) => (tool.function ?? tool.custom).name)).toEqual(["exec"]);
    const { up: atKimi } = KIMI.sent({ input: [offer, user()] });
    expect(atKimi.tools.map((tool: Json) => tool.function.name)).toEqual(["exec"]);
  });

  test("R8: two servers with a tool of one name have two names upstream, and their own in the call", () => {
    const server = (name: string) => ({ type: "namespace", name, tools: [fn("search")] });
    const { up, context } = OPENAI.sent({ input: "Go.", tools: [server("a"), server("b")] });
    const names = up.tools.map((tool: Json) => tool.function.name);
    expect(new Set(names).size).toBe(2);
    const events = OPENAI.streamed(
      [
        chunk({ role: "assistant", content: null }),
        fragment(0, { id: "c", type: "function", function: { name: names[1], arguments: "{}" } }),
        chunk({}, "tool_calls"),
        "[DONE]",
      ],
      { context },
    );
    expect(events.at(-1).response.output).toMatchObject([
      { type: "function_call", name: "search", namespace: "b" },
    ]);
  });

  test("a tool may have a name that every object has: its calls keep it, and it is chosen only where it is there", () => {
    for (const name of ["constructor", "__proto__", "toString"]) {
      const { context } = CLAUDE.sent({ input: "Go.", tools: [fn(name)] });
      const blocks = [{ type: "tool_use", id: "a", name, input: {} }];
      expect(CLAUDE.plain(claudeMessage({ blocks }), context).output).toMatchObject([{ name, call_id: "a" }]);
      const [field] = CLAUDE.refusalOf({ input: "Go.", tools, tool_choice: { type: "function", name } });
      expect(field).toBe("tool_choice.name");
    }
  });

  test("R9: a custom tool's text comes out of the function that stood for it, however it was cut", () => {
    const tool = { type: "custom", name: "apply_patch" };
    const { up, context } = KIMI.sent({ input: "Mend it.", tools: [tool] });
    expect(up.tools[0].function.parameters.required).toEqual(["input"]);
    const patch = '*** Begin\n+ "a\\b" \u00e9\n*** End';
    const json = JSON.stringify({ input: patch });
    const pieces = json.match(/.{1,3}/gs) ?? [];
    const events = KIMI.streamed(
      [
        chunk({ role: "assistant", content: null }),
        fragment(0, { id: "c", type: "function", function: { name: "apply_patch", arguments: "" } }),
        ...pieces.map((piece) => fragment(0, { function: { arguments: piece } })),
        chunk({}, "tool_calls"),
        "[DONE]",
      ],
      { context },
    );
    expect(events.at(-1).response.output).toMatchObject([
      { type: "custom_tool_call", call_id: "c", name: "apply_patch", input: patch, status: "completed" },
    ]);
    const deltas = events.filter(({ type }) => type === "response.custom_tool_call_input.delta");
    expect(deltas.map(({ delta }) => delta).join("")).toBe(patch);
    expect(deltas.length).toBeGreaterThan(3);
  });
});

describe("a custom tool's text, its JSON cut in two at every character,", () => {
  const patch = '*** \\ "é" 😀\t\n';
  const { context } = KIMI.sent({ input: "Mend it.", tools: [{ type: "custom", name: "apply_patch" }] });
  const told = (pieces: readonly string[]): Json[] =>
    KIMI.streamed(
      [
        chunk({ role: "assistant", content: null }),
        fragment(0, { id: "c", type: "function", function: { name: "apply_patch", arguments: "" } }),
        ...pieces.map((piece) => fragment(0, { function: { arguments: piece } })),
        chunk({}, "tool_calls"),
        "[DONE]",
      ],
      { context },
    );
  const json = JSON.stringify({ input: patch });
  const escaped = json.replaceAll(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  // What a model may write in the place of such an object, and what is taken of it.
  const rows: readonly (readonly [written: string, text: string])[] = [
    [json, patch],
    [escaped, patch],
    [JSON.stringify({ patch }), patch],
    [JSON.stringify({ patch, other: "x" }), JSON.stringify({ patch, other: "x" })],
  ];
  for (const [written, text] of rows)
    test(`is the same: ${written}`, () => {
      for (let at = 0; at <= written.length; at += 1) {
        const events = told([written.slice(0, at), written.slice(at)].filter((piece) => piece !== ""));
        expect(events.at(-1).response.output).toMatchObject([{ type: "custom_tool_call", input: text }]);
        const deltas = events.filter(({ type }) => type === "response.custom_tool_call_input.delta");
        expect(deltas.map(({ delta }) => delta).join("")).toBe(text);
        expect(events.find(({ type }) => type === "response.custom_tool_call_input.done").input).toBe(text);
      }
    });
});

describe("turns", () => {
  test("R10: calls in a row are one answer of Kimi's, with an output each behind it", () => {
    const input = [user(), call("a"), call("b"), output("a"), output("b")];
    const { up } = KIMI.sent({ input, tools });
    expect(up.messages.map(({ role }: Json) => role)).toEqual(["user", "assistant", "tool", "tool"]);
    expect(up.messages[1].tool_calls.map(({ id }: Json) => id)).toEqual(["a", "b"]);
  });

  test("R11: a commentary and the call behind it are one answer", () => {
    const said = { type: "message", role: "assistant", phase: "commentary", content: "I look." };
    const { up } = OPENAI.sent({ input: [user(), said, call("a"), output("a")], tools });
    expect(up.messages[1]).toMatchObject({
      role: "assistant",
      content: "I look.",
      tool_calls: [{ id: "a" }],
    });
    expect(JSON.stringify(up)).not.toContain("commentary");
  });

  test("an id of a call that clients do not take is another one, and the model's own again when it comes back", () => {
    const given = ["functions.Bash:0", "a", "a", "", "x".repeat(90), "sw_1"];
    const called = given.map((id) => ({ id, type: "function", function: { name: "f", arguments: "{}" } }));
    const message = { role: "assistant", content: null, tool_calls: called };
    const { output: said } = KIMI.plain({
      ...chunk({}),
      object: "chat.completion",
      choices: [{ index: 0, message, finish_reason: "tool_calls" }],
    });
    const ids: string[] = said.map(({ call_id: id }: Json) => id);
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(new Set(ids).size).toBe(given.length);
    const { up } = KIMI.sent({ input: [user(), ...said, ...ids.map((id) => output(id))], tools });
    const back: string[] = up.messages[1].tool_calls.map(({ id }: Json) => id);
    expect(up.messages.slice(2).map(({ tool_call_id: id }: Json) => id)).toEqual(back);
    const [functions, a, , , , marked] = given;
    expect([back[0], back[1], back[5]]).toEqual([functions, a, marked]);
  });

  test("R12: an image in an output reaches the model", () => {
    const image = { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=" };
    const input = [user(), call("a"), output("a", [{ type: "input_text", text: "See." }, image])];
    const { up } = OPENAI.sent({ input, tools });
    expect(up.messages.at(-1).content).toContainEqual({
      type: "image_url",
      image_url: { url: image.image_url },
    });
    const [, , results] = CLAUDE.sent({ input, tools }).up.messages;
    expect(results.content[0].content.map(({ type }: Json) => type)).toEqual(["text", "image"]);
  });

  test("R13: an id of a call in the place of an item's id is none", () => {
    const input = [user(), call("call_x", { id: "call_x" }), { ...output("call_x"), id: "fco_1" }];
    const { up, warnings } = OPENAI.sent({ input, tools });
    expect(up.messages[1].tool_calls).toMatchObject([{ id: "call_x" }]);
    expect(warnings).toEqual([]);
  });

  test("R28: the phase of a message goes to no other vendor", () => {
    const said = { type: "message", role: "assistant", phase: "final_answer", content: "Done." };
    for (const way of [CLAUDE, GEMINI, OPENAI])
      expect(way.sent({ input: [user(), said, user()] }).json).not.toContain("final_answer");
  });

  test("files, links, sound and films are what the provider has for them, or a 400 by their place", () => {
    const pdf = { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" };
    const link = { type: "input_file", file_url: "https://example.com/a.pdf" };
    const sound = { type: "input_audio", input_audio: { data: "AAAA", format: "mp3" } };
    const { up } = CLAUDE.sent({ input: [user([pdf, link])] });
    expect(up.messages[0].content).toMatchObject([
      { type: "document", title: "a.pdf", source: { type: "base64", media_type: "application/pdf" } },
      { type: "document", source: { type: "url", url: link.file_url } },
    ]);
    expect(CLAUDE.refusalOf({ input: [user([sound])] })[0]).toStartWith("input[0].content[0]");
    const [part] = GEMINI.sent({ input: [user([sound])] }).up.contents[0].parts;
    expect(part.inlineData).toEqual({ mimeType: "audio/mp3", data: "AAAA" });
    const kept = { type: "input_file", file_id: "file_1" };
    expect(CLAUDE.refusalOf({ input: [user([kept])] })[0]).toBe("input[0].content[0].file_id");
  });
});

describe("fields", () => {
  test("R20: a schema that is nested as in chat completions is honoured", () => {
    const schema = { type: "object", properties: {}, additionalProperties: false };
    const nested = { type: "json_schema", json_schema: { name: "n", schema, strict: true } };
    const { up } = OPENAI.sent({ input: "Go.", text: { format: nested } });
    expect(up.response_format.json_schema).toMatchObject({ name: "n", schema, strict: true });
    expect(OPENAI.refusalOf({ input: "Go.", response_format: nested })[0]).toBe("response_format");
  });

  test("R31: one name of a cache in two accounts is two names upstream", () => {
    const asked = { input: "Go.", prompt_cache_key: "k" };
    const keyOf = (account: string): string => OPENAI.sent(asked, account).up.prompt_cache_key;
    expect(keyOf("a")).toBe(keyOf("a"));
    expect(new Set([keyOf("a"), keyOf("b"), "k"]).size).toBe(3);
    const userOf = (account: string): string =>
      CLAUDE.sent({ input: "Go.", safety_identifier: "u" }, account).up.metadata.user_id;
    expect(new Set([userOf("a"), userOf("b"), "u"]).size).toBe(3);
  });

  test("what is no field of the format is a 400, or a warning, that says what is meant", () => {
    for (const field of ["stop", "n", "seed", "messages"])
      expect(OPENAI.refusalOf({ input: "Go.", [field]: field === "n" ? 2 : ["x"] })[0]).toBe(field);
  });
});

describe("how an answer ends", () => {
  test("R14: a stream without a finish and an end mark ends in both events of a failure", () => {
    const events = OPENAI.streamed([chunk({ role: "assistant", content: "one two" })], { cut: 2 });
    expect(typesOf(events).slice(-2)).toEqual(["error", "response.failed"]);
    expect(events.at(-2)).toMatchObject({ code: expect.any(String), error: { message: expect.any(String) } });
    expect(typesOf(events)).not.toContain("response.completed");
  });

  test("R15: a finish without the end mark is a whole answer", () => {
    const events = OPENAI.streamed([chunk({ role: "assistant", content: "one" }), chunk({}, "stop")]);
    expect(events.at(-1)).toMatchObject({ type: "response.completed", response: { status: "completed" } });
  });

  test("R25: a call ends a response as completed, and nothing says that it ended for it", () => {
    const blocks = [{ type: "tool_use", id: "a", name: "f", input: {} }];
    const answer = CLAUDE.plain(claudeMessage({ blocks }));
    expect(answer).toMatchObject({
      status: "completed",
      output: [{ type: "function_call", arguments: "{}" }],
    });
    expect(JSON.stringify(answer)).not.toMatch(/"(finish|stop)_reason"/);
  });

  test("a bound and a filter are incomplete by their reasons, and a refusal is a part", () => {
    const ends = (stopReason: string): Json => CLAUDE.plain(claudeMessage({ stopReason }));
    expect(ends("max_tokens").incomplete_details).toEqual({ reason: "max_output_tokens" });
    expect(ends("model_context_window_exceeded").incomplete_details).toEqual({ reason: "max_output_tokens" });
    expect(ends("refusal").incomplete_details).toEqual({ reason: "content_filter" });
  });
});
