import {
  answer,
  dataOf,
  deltasOf,
  encodeStream,
  finish,
  messageOf,
  type Said,
  text,
  toolCall,
} from "../../../../test/protocols/chat-events.ts";
import { wireRequest } from "../../../../test/protocols/wire-request.ts";
import { describe, expect, test } from "bun:test";
import { ChatCompletionStream } from "openai/lib/ChatCompletionStream";
import { readRequest } from "../request.ts";
import { chatCompletionsServer } from "./index.ts";

function decode(fields: object) {
  const messages = [{ role: "user", content: "hi" }];
  return chatCompletionsServer.decodeRequest(readRequest(wireRequest({ model: "v/m", messages, ...fields })));
}

const grammar = { syntax: "lark", definition: "start: /x+/" };
const tools = [
  {
    type: "custom",
    custom: { name: "patch", description: "Patches.", format: { type: "grammar", grammar } },
  },
  { type: "custom", custom: { name: "say", format: { type: "text" } } },
  { type: "function", function: { name: "f" } },
];

describe("custom tools", () => {
  test("are called with a text, of a grammar or of none", () => {
    const { chat, warnings } = decode({ tools });
    expect(chat.tools).toEqual([
      { name: "patch", at: "tools[0].custom.name", description: "Patches.", custom: { grammar } },
      { name: "say", at: "tools[1].custom.name", custom: {} },
      { name: "f", at: "tools[2].function.name" },
    ]);
    expect(warnings).toEqual([]);
  });

  test("are chosen by name, alone or among those that are allowed", () => {
    const choice = { type: "custom", custom: { name: "say" } };
    expect(decode({ tools, tool_choice: choice }).chat.toolChoice).toEqual({ type: "tool", name: "say" });
    const list = [choice, { type: "function", function: { name: "f" } }];
    const allowed = { type: "allowed_tools", allowed_tools: { mode: "required", tools: list } };
    expect(decode({ tools, tool_choice: allowed }).chat).toMatchObject({
      toolChoice: { type: "required" },
      allowedTools: ["say", "f"],
    });
  });
});

describe("calls of custom tools", () => {
  const custom = (id: string, ...deltas: string[]): Said => ({
    begun: { type: "tool_call", id, name: "patch", custom: true },
    deltas,
  });
  const events = [
    ...answer(text("Go."), custom("a", "*** {", "\n"), toolCall("b", "{}"), custom("c")),
    finish("stop"),
  ];
  const calls = [
    { id: "a", type: "custom", custom: { name: "patch", input: "*** {\n" } },
    { id: "b", type: "function", function: { name: "f_b", arguments: "{}" } },
    { id: "c", type: "custom", custom: { name: "patch", input: "" } },
  ];

  test("stand in their own form in a plain answer, an empty one without any JSON", () => {
    expect(messageOf(events).tool_calls).toEqual(calls);
  });

  test("say their name in the first fragment, and then their text", () => {
    const said = deltasOf(events).flatMap((delta) => delta.tool_calls ?? []);
    expect(said).toEqual([
      { index: 0, id: "a", type: "custom", custom: { name: "patch", input: "" } },
      { index: 0, custom: { input: "*** {" } },
      { index: 0, custom: { input: "\n" } },
      { index: 1, id: "b", type: "function", function: { name: "f_b", arguments: "" } },
      { index: 1, function: { arguments: "{}" } },
      { index: 2, id: "c", type: "custom", custom: { name: "patch", input: "" } },
    ]);
  });

  test("are read whole by the official helper", async () => {
    const lines = dataOf(encodeStream(events))
      .filter((chunk) => chunk !== "[DONE]")
      .map((chunk) => `${JSON.stringify(chunk)}\n`);
    const readable = new Blob(lines).stream();
    const stream = ChatCompletionStream.fromReadableStream(readable as never);
    const { choices } = await stream.finalChatCompletion();
    expect(choices[0]?.finish_reason).toBe("tool_calls");
    expect(choices[0]?.message.tool_calls as object[]).toEqual(calls);
  });

  test("come back as they were", () => {
    const results = ["a", "b", "c"].map((id) => ({ role: "tool", tool_call_id: id, content: "ok" }));
    const messages = [{ role: "user", content: "hi" }, messageOf(events), ...results];
    const { chat, warnings } = decode({ messages, tools });
    expect(chat.turns[1]?.parts).toEqual([
      { type: "text", text: "Go." },
      { type: "tool_call", id: "a", name: "patch", input: "*** {\n", custom: true },
      { type: "tool_call", id: "b", name: "f_b", input: "{}" },
      { type: "tool_call", id: "c", name: "patch", input: "", custom: true },
    ]);
    expect(warnings).toEqual([]);
  });
});
