import { expect, test } from "bun:test";
import { NOTHING } from "./answered.ts";
import { assistantMessage, bodyOf, shortened, userMessage, warningsOf } from "./conversation.ts";

const nothing = { system: " ", tools: [], format: undefined, parameters: {} };

test("files stand before the text of a message, and a message may be files alone", () => {
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA" } } as const;
  expect(userMessage("a", [])).toEqual({ role: "user", content: "a" });
  expect(userMessage("a", [{ name: "x", part: image }]).content).toEqual([
    image,
    { type: "text", text: "a" },
  ]);
  expect(userMessage("", [{ name: "x", part: image }]).content).toEqual([image]);
});

test("thinking goes back with its signature where it has one, else as text", () => {
  const details = [{ type: "thinking", thinking: "t", signature: "s", index: 0 }];
  expect(assistantMessage({ ...NOTHING, text: "a", thinking: "t", details })).toEqual({
    role: "assistant",
    content: "a",
    reasoning_details: details,
  });
  expect(assistantMessage({ ...NOTHING, text: "a", thinking: "t" })).toEqual({
    role: "assistant",
    content: "a",
    reasoning_content: "t",
  });
});

test("calls go back as the format has them, without content", () => {
  const calls = [{ id: "1", name: "f", arguments: "{}" }];
  expect(assistantMessage({ ...NOTHING, calls })).toEqual({
    role: "assistant",
    content: null,
    tool_calls: [{ id: "1", type: "function", function: { name: "f", arguments: "{}" } }],
  });
});

test("a body has what is set, and nothing that is not", () => {
  const messages = [{ role: "user", content: "a" }] as const;
  expect(bodyOf("m", messages, nothing)).toEqual({ model: "m", messages, stream: true });
  expect(
    bodyOf("m", messages, {
      system: "s",
      tools: [{}],
      format: { type: "json_object" },
      parameters: { temperature: 0 },
    }),
  ).toEqual({
    model: "m",
    messages: [{ role: "system", content: "s" }, ...messages],
    stream: true,
    temperature: 0,
    tools: [{}],
    response_format: { type: "json_object" },
  });
});

test("files in a body are cut, other texts are not", () => {
  const long = "x".repeat(1_000);
  const { a, b } = shortened({ a: long, b: [`data:image/png;base64,${long}`] }) as {
    a: string;
    b: string[];
  };
  expect(a).toBe(long);
  expect(b[0]).toContain("1022 characters");
});

test("each warning of the header is read, quotes in it too", () => {
  expect(warningsOf('299 switchyard "seed, n", 299 switchyard "a \\"b\\""')).toEqual(["seed, n", 'a "b"']);
  expect(warningsOf(null)).toEqual([]);
});
