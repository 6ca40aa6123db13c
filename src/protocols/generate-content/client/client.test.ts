import { expect, test } from "bun:test";
import { joinBytes } from "../../../core/bytes/bytes.ts";
import { ANSWER_CONTEXT } from "../../../../test/protocols/answer-context.ts";
import { foldEvents } from "../../../../test/protocols/folded-events.ts";
import { chatOf, FLASH } from "../../../../test/protocols/gemini-sent.ts";
import { wireRequest } from "../../../../test/protocols/wire-request.ts";
import type { ChatEvent } from "../../../core/chat.ts";
import type { AnswerContext, RelayTarget } from "../../protocol.ts";
import { type DecodedRequest, type ServerEnd, translate } from "../../translate.ts";
import { generateContentClient } from "./index.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const CONTEXT: AnswerContext = { ...ANSWER_CONTEXT, model: FLASH.id, expectedInput: 9 };
const TARGET: RelayTarget = {
  model: FLASH,
  upstreamId: "gemini-3.8-flash",
  unknownFields: "remove",
  native: true,
  streamUsageOption: false,
  outputBound: 42,
};
const INPUT = '{"id":12345678901234567890}';
const SAID = `{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"functionCall":{"id":"c","name":"f","args":${INPUT}},"thoughtSignature":"U0lH"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2,"totalTokenCount":3}}`;

/** A server that writes its events as lines. */
const SERVER: ServerEnd = {
  protocol: generateContentClient.protocol,
  decodeRequest: () => ({
    chat: chatOf([
      { role: "user", parts: [{ type: "text", text: "hi" }] },
      {
        role: "assistant",
        parts: [{ type: "tool_call", id: "c", name: "f", input: INPUT, signature: "U0lH" }],
      },
      {
        role: "tool",
        parts: [{ type: "tool_result", callId: "c", parts: [{ type: "text", text: INPUT }], isError: false }],
      },
    ]),
    names: {} as DecodedRequest["names"],
    stream: false,
    warnings: ["first"],
  }),
  encodeAnswer: (events) => ({ events }),
  openEncoder: () => ({
    push: (event) => `${JSON.stringify(event)}\n`,
    tail: () => "end\n",
    failureTail: () => "failed\n",
    keepAlive: encoder.encode("\n"),
  }),
};
const protocol = translate(SERVER, generateContentClient);

test("a request arrives with the digits of its numbers, and with the bound that the gateway sets", () => {
  const asked = protocol.readRequest(
    wireRequest({ contents: [{ parts: [{ text: "x" }] }] }, { address: { model: FLASH.id, stream: false } }),
  );
  const { body, warnings } = protocol.upstreamBody(asked, TARGET);
  const text = decoder.decode(joinBytes(body));
  expect(text).toContain(`"args":${INPUT}}`);
  expect(text).toContain(`"response":${INPUT}}`);
  expect(JSON.parse(text).generationConfig).toEqual({ maxOutputTokens: 42 });
  expect(warnings).toEqual(["first"]);
  expect(protocol.upstreamPath("gemini-3.8-flash", true)).toEndWith(":streamGenerateContent?alt=sse");
});

test("an answer says the same whole and streamed, with its digits, and is metered by the format's own relay", () => {
  const whole = protocol.readAnswer(encoder.encode(SAID), CONTEXT);
  expect(whole.metered.usage).toMatchObject({ input: 1, output: 2 });
  const { events } = JSON.parse(decoder.decode(whole.encode(3_000_000n))) as { events: ChatEvent[] };
  const stream = protocol.openStream(CONTEXT);
  const pieces = [stream.push(encoder.encode(`data: ${SAID}\r\n\r\n`)), stream.end(false)];
  expect([stream.isComplete, stream.failure]).toEqual([true, undefined]);
  pieces.push(stream.tail(stream.metered(), 3_000_000n));
  const lines = pieces.map((piece) => (piece === undefined ? "" : decoder.decode(piece))).join("");
  const streamed = lines
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as ChatEvent);
  expect(streamed).toEqual(events);
  expect(lines).toEndWith("end\n");
  const [call] = foldEvents(events).choices.get(0)!.parts.slice(1);
  expect(call).toEqual({
    part: { type: "tool_call", id: "c", name: "f" },
    text: INPUT,
    signature: "U0lH",
  });
});

test("a stream that breaks tells no finish", () => {
  const stream = protocol.openStream(CONTEXT);
  const chunk = `data: {"candidates":[{"content":{"parts":[{"text":"a"}]}}]}\n\ndata: {"error":{"code":503,"status":"UNAVAILABLE"}}\n\n`;
  const text = decoder.decode(stream.push(encoder.encode(chunk)));
  expect(stream.failure?.kind).toBe("overloaded_error");
  const tail = stream.failureTail(stream.failure!, stream.metered(), 1n);
  expect(text + decoder.decode(tail)).not.toContain("finish");
});
