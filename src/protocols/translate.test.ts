import { describe, expect, test } from "bun:test";
import { wireRequest } from "../../test/protocols/wire-request.ts";
import type { Model } from "../core/model.ts";
import { chatCompletions } from "./chat-completions/index.ts";
import { servedBy } from "./index.ts";
import { messages } from "./messages/index.ts";
import type { RelayTarget } from "./protocol.ts";

const MODEL = {
  id: "v/m",
  maxOutput: 8_000,
  ignoredParameters: [],
  inputModalities: ["text"],
  outputModalities: ["text"],
} as unknown as Model;
const TARGET: RelayTarget = {
  model: MODEL,
  upstreamId: "up",
  unknownFields: "remove",
  native: true,
  streamUsageOption: false,
};
const tool = { name: "f", description: "Does it.", parameters: { type: "object", properties: {} } };
const BODY = {
  model: "v/m",
  messages: [{ role: "user", content: "Go." }],
  tools: [{ type: "function", function: tool }],
  response_format: { type: "json_schema", json_schema: { name: "a", schema: { type: "object" } } },
};

describe("a translated request costs what its provider will count", () => {
  const way = servedBy("compat_chat_completions", "compat_messages");
  const demandOf = (body: object) => {
    const request = chatCompletions.readRequest(wireRequest(body));
    const at = way?.demandAt?.(request, TARGET);
    if (way === undefined || at === undefined) throw new Error("There is no such way.");
    const sent = messages.readRequest(wireRequest(way.upstreamBody(request, TARGET).body));
    return { at, sent: sent.demand, asked: request.demand };
  };

  test("its input is that of the body that is sent", () => {
    const { at, sent, asked } = demandOf({ ...BODY, max_tokens: 50 });
    // The body that is read for it names the model by our id, the one that is sent by its provider's.
    expect(Math.abs(at.textTokens.ceiling - sent.textTokens.ceiling)).toBeLessThan(5);
    expect(at.textTokens.ceiling).toBeGreaterThan(asked.textTokens.ceiling);
  });

  test("its output is bounded by the caller alone, not by what the format asks for", () => {
    expect(demandOf({ ...BODY, max_tokens: 50 }).at.maxOutputTokens).toBe(50);
    const unbounded = demandOf(BODY);
    expect([unbounded.at.maxOutputTokens, unbounded.sent.maxOutputTokens]).toEqual([undefined, 8_000]);
  });
});

test("a request that is within the bounds of a body is not refused for what its translation comes to", () => {
  const way = servedBy("compat_chat_completions", "compat_messages");
  const calls = Array.from({ length: 30_000 }, (_, i) => ({
    id: `c${i}`,
    type: "function",
    function: { name: "f", arguments: "{}" },
  }));
  const request = chatCompletions.readRequest(
    wireRequest({ ...BODY, messages: [...BODY.messages, { role: "assistant", tool_calls: calls }] }),
  );
  const { body } = way?.upstreamBody(request, TARGET) ?? {};
  const { messages: sent } = JSON.parse(new TextDecoder().decode(body));
  expect([sent[1].content.length, sent[2].content.length]).toEqual([30_000, 30_000]);
});
