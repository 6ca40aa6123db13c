import { describe, expect, test } from "bun:test";
import type { Json } from "../../../../test/protocols/chat-events.ts";
import { KEY } from "../../../../test/protocols/response-events.ts";
import { type Carried, sealCarrier } from "../../carrier.ts";
import { keep } from "../../../core/json/kept.ts";
import { decodeRequest } from "./decode-request.ts";

const decode = (input: Json, more: object = {}) =>
  decodeRequest({ body: { model: "v/m", input, ...more }, stream: false, carrier: KEY });
const turnsOf = (input: Json, more?: object): Json => decode(input, more).chat.turns;
const refusal = (input: Json, more?: object): Json => {
  try {
    decode(input, more);
  } catch (error) {
    return error;
  }
  throw new Error("It was taken.");
};

const text = (said: string) => ({ type: "text" as const, text: said });
const user = { role: "user", content: "Go." };
const call = (id: string, name = "f", args = "{}") => ({
  type: "function_call",
  call_id: id,
  name,
  arguments: args,
});
const output = (id: string, said: Json = `out ${id}`) => ({
  type: "function_call_output",
  call_id: id,
  output: said,
});
const told = (id: string, name = "f", input = "{}") => ({ type: "tool_call", id, name, input });
const result = (id: string) => ({
  type: "tool_result",
  callId: id,
  parts: [text(`out ${id}`)],
  isError: false,
});
const reasoning = (carried: Carried, summary: string[] = []) => ({
  type: "reasoning",
  id: "rs_1",
  summary: summary.map((one) => ({ type: "summary_text", text: one })),
  encrypted_content: sealCarrier(carried, KEY),
});

describe("who says what", () => {
  test("a text alone is the user's, and instructions come before all", () => {
    expect(turnsOf("Hi", { instructions: "Be brief." })).toEqual([
      { role: "system", parts: [text("Be brief.")] },
      { role: "user", parts: [text("Hi")] },
    ]);
  });

  test("system and developer messages keep their places", () => {
    const turns = turnsOf([
      { role: "developer", content: [{ type: "input_text", text: "A" }] },
      user,
      { type: "message", role: "system", content: "B" },
    ]);
    expect(turns.map(({ role }: Json) => role)).toEqual(["system", "user", "system"]);
  });

  test("commentary, reasoning and calls in a row are one answer, in their order", () => {
    const turns = turnsOf([
      user,
      { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] },
      {
        type: "message",
        role: "assistant",
        phase: "commentary",
        content: [{ type: "output_text", text: "Look." }],
      },
      call("a"),
      { type: "reasoning", summary: [] },
      call("b"),
      output("b"),
      output("a"),
    ]);
    expect(turns).toEqual([
      { role: "user", parts: [text("Go.")] },
      { role: "assistant", parts: [{ type: "thinking", text: "hm" }, text("Look."), told("a"), told("b")] },
      { role: "tool", parts: [result("a"), result("b")] },
    ]);
  });

  test("the refusal of an earlier answer is its text", () => {
    const [, turn] = turnsOf([
      user,
      { role: "assistant", content: [{ type: "refusal", refusal: "No." }] },
      user,
    ]);
    expect(turn).toEqual({ role: "assistant", parts: [text("No.")] });
  });
});

describe("calls and what they gave back", () => {
  test("a message between a call and its output comes behind the outputs, and the caller is told", () => {
    const { chat, warnings } = decode([user, call("a"), { role: "user", content: "Wait." }, output("a")]);
    expect(chat.turns.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
    expect(warnings).toEqual(["input[2] was moved behind the outputs of the calls before it"]);
  });

  test("each round of calls is an answer of its own, and ids may come again", () => {
    const turns = turnsOf([
      user,
      call("call_0"),
      output("call_0", "one"),
      call("call_0"),
      output("call_0", "two"),
    ]);
    expect(turns.map(({ role }: Json) => role)).toEqual(["user", "assistant", "tool", "assistant", "tool"]);
    expect(turns[4].parts[0].parts).toEqual([text("two")]);
  });

  test("an output without a call_id is the user's", () => {
    const { chat, warnings } = decode([user, { type: "function_call_output", id: "fco_1", output: "late" }]);
    expect(chat.turns[1]).toEqual({ role: "user", parts: [text("late")] });
    expect(warnings).toEqual(["input[1] has no call_id: it was sent as the user's"]);
  });

  test("a call without an output is told to the model as one that failed", () => {
    const { chat, warnings } = decode([user, call("a")]);
    expect(chat.turns[2]?.parts[0]).toMatchObject({ callId: "a", isError: true });
    expect(warnings).toEqual(["input[1] has no output: the model was told so"]);
  });

  test("an output without its call is refused by name, and so are arguments that are no object", () => {
    expect(refusal([user, output("a")]).param).toBe("input[1].call_id");
    expect(refusal([user, call("a", "f", "[1]"), output("a")]).param).toBe("input[1].arguments");
    expect(refusal([user, { ...call("a"), async: true }, output("a")]).param).toBe("input[1].async");
  });

  test("an image in an output reaches the model with its place", () => {
    const image = { type: "input_image", image_url: "data:image/png;base64,AAAA" };
    const turns = turnsOf([user, call("a"), output("a", [{ type: "input_text", text: "see" }, image])]);
    expect(turns[2].parts[0].parts).toEqual([
      text("see"),
      {
        type: "image",
        source: { kind: "data", mediaType: "image/png", data: "AAAA" },
        at: "input[2].output[1].image_url",
      },
    ]);
  });

  test("calls of tools that run at the caller's come back as calls of functions", () => {
    const turns = turnsOf([
      user,
      {
        type: "shell_call",
        call_id: "s",
        action: { commands: ["ls"], timeout_ms: null, max_output_length: null },
        status: "completed",
      },
      {
        type: "shell_call_output",
        call_id: "s",
        output: [{ stdout: "a", stderr: "", outcome: { type: "exit", exit_code: 0 } }],
      },
      {
        type: "apply_patch_call",
        call_id: "p",
        operation: { type: "delete_file", path: "a" },
        status: "completed",
      },
      { type: "apply_patch_call_output", call_id: "p", status: "completed", output: "gone" },
      { type: "custom_tool_call", call_id: "c", name: "sql", input: "SELECT 1;" },
      { type: "custom_tool_call_output", call_id: "c", output: "1" },
    ]);
    expect(turns[1].parts).toEqual([told("s", "shell", '{"commands":["ls"]}')]);
    expect(turns[3].parts).toEqual([told("p", "apply_patch", '{"type":"delete_file","path":"a"}')]);
    expect(turns[4].parts[0].parts).toEqual([text("completed: gone")]);
    expect(turns[5].parts).toEqual([{ ...told("c", "sql", "SELECT 1;"), custom: true }]);
  });
});

describe("what models want back", () => {
  test("thinking and its signature stand where they stood, to the byte", () => {
    const carried = { kind: "thinking", issuer: "anthropic", text: "hm\n", signature: "SIG/+=" } as const;
    const redacted = { kind: "redacted", issuer: "anthropic", data: "XYZ" } as const;
    const turns = turnsOf([user, reasoning(carried, ["hm"]), reasoning(redacted), call("a"), output("a")]);
    expect(turns[1].parts).toEqual([
      { type: "thinking", issuer: "anthropic", text: "hm\n", signature: "SIG/+=" },
      { type: "redacted_thinking", issuer: "anthropic", data: "XYZ" },
      told("a"),
    ]);
  });

  test("a signature of Google's goes to the call that follows, or to the text before", () => {
    const next = { kind: "signature", issuer: "google", signature: "N", of: "next" } as const;
    const last = { ...next, signature: "L", of: "last" } as const;
    const turns = turnsOf([
      user,
      { role: "assistant", content: "So." },
      reasoning(last),
      reasoning(next),
      call("a"),
      call("b"),
      output("a"),
      output("b"),
    ]);
    expect(turns[1].parts).toEqual([
      { ...text("So."), signature: "L" },
      { ...told("a"), signature: "N" },
      told("b"),
    ]);
  });

  test("what nobody here can read is left out, and the request goes on", () => {
    const own = reasoning({ kind: "redacted", issuer: "anthropic", data: "X" });
    const { chat, warnings } = decode([
      user,
      { type: "reasoning", summary: [], encrypted_content: "gAAAAB" },
      { ...own, encrypted_content: `${own.encrypted_content.slice(0, -1)}!` },
      { type: "reasoning", id: "rs_x", summary: [] },
      { role: "assistant", content: "So." },
      user,
    ]);
    expect(chat.turns[1]).toEqual({ role: "assistant", parts: [text("So.")] });
    expect(warnings).toEqual([
      "input[1] was left out: what is in its encrypted_content only the model can read that wrote it",
      "input[2] was left out: what is in its encrypted_content only the model can read that wrote it",
    ]);
  });

  test("a compaction of ours is one developer message; another's is refused", () => {
    const encrypted = sealCarrier({ kind: "compaction", text: "So far: A." }, KEY);
    const compaction = { type: "compaction", id: "cmp_1", encrypted_content: encrypted };
    expect(turnsOf([compaction, user])[0]).toEqual({ role: "system", parts: [text("So far: A.")] });
    expect(refusal([{ ...compaction, encrypted_content: "gAAAA" }, user]).param).toBe(
      "input[0].encrypted_content",
    );
  });
});

describe("what has no place", () => {
  test("a search of the web is left out, and other hosted calls are refused by their type", () => {
    const { chat, warnings } = decode([user, { type: "web_search_call", id: "ws_1", status: "completed" }]);
    expect(chat.turns).toHaveLength(1);
    expect(warnings).toEqual(["input[1] was left out: the model goes on with what was said of the search"]);
    expect(refusal([user, { type: "mcp_call", id: "m" }])).toMatchObject({ param: "input[1].type" });
    expect(refusal([user, { type: "computer_call", call_id: "m" }]).message).toContain("computer_call");
  });

  test("a file of another vendor's store is a 400, and audio comes as it is", () => {
    const content = (part: object) => [{ role: "user", content: [part] }];
    expect(refusal(content({ type: "input_image", file_id: "file-1" })).param).toBe(
      "input[0].content[0].file_id",
    );
    expect(refusal(content({ type: "input_video" })).param).toBe("input[0].content[0].type");
    const audio = { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } };
    expect(turnsOf(content(audio))[0].parts[0].source.mediaType).toBe("audio/wav");
    const file = { type: "input_file", file_data: "data:application/pdf;base64,AAAA", filename: "a.pdf" };
    expect(turnsOf(content(file))[0].parts[0]).toMatchObject({ type: "document", name: "a.pdf" });
    const link = { type: "input_file", file_url: "https://x.example/a.pdf" };
    expect(turnsOf(content(link))[0].parts[0].source).toMatchObject({ kind: "url" });
  });

  test("a breakpoint of the prompt cache marks its part", () => {
    const part = { type: "input_text", text: "A", prompt_cache_breakpoint: { mode: "explicit" } };
    expect(turnsOf([{ role: "user", content: [part] }])[0].parts[0].cache).toEqual({ type: "ephemeral" });
  });
});

test("what comes again is decoded once, and says the same", () => {
  const items = [
    { role: "user", content: [{ type: "input_text", text: "Go." }] },
    call("a", "f", '{"a":[1,2]}'),
    output("a"),
  ];
  const tools = [{ type: "function", name: "f" }];
  const plain = turnsOf(structuredClone(items), { tools: structuredClone(tools) });
  for (const one of [...items, ...tools, items, tools]) keep(one);
  const [first, second] = [1, 2].map(() => decode(items, { tools }).chat);
  expect(first?.turns).toEqual(plain);
  expect(second?.turns.map(({ parts: [part] }) => part)).toEqual(
    plain.map(({ parts: [part] }: Json) => part),
  );
  for (const [i, { parts }] of (first?.turns ?? []).entries())
    expect(second?.turns[i]?.parts[0]).toBe(parts[0]);
  expect(second?.tools).toBe(first?.tools);
  // The same call in a request whose tools are called otherwise.
  const spaces = ["x", "y"].map((name) => ({ type: "namespace", name, tools }));
  const called = { ...items[1], namespace: "x" };
  keep(called);
  decode([items[0], called, items[2]], { tools: spaces.slice(0, 1) });
  expect(decode([items[0], called, items[2]], { tools: spaces }).chat.turns[1]?.parts[0]).toMatchObject({
    name: "x__f",
  });
});
