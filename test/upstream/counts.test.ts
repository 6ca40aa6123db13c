import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import type { Answer } from "./answer.ts";
import { jsonAnswer, sseAnswer } from "./answer.ts";
import { toBytes } from "./bytes.ts";
import { chatAnswer, chatCompletion, chatStreamAnswer, chatStreamEvents } from "./chat-bytes.ts";
import { chatUsage, delivered } from "./counts.ts";
import { afterEvent } from "./cuts.ts";
import { startUpstreamDouble } from "./double.ts";
import type { UpstreamDouble } from "./double.ts";
import { gzipped, longContentLength, resetAt, stallAt, truncatedGzip, withoutLastChunk } from "./faults.ts";
import type { SeenRequest } from "./seen-request.ts";
import { openRawClient, postBytes } from "./raw-client.ts";

let double: UpstreamDouble;
beforeAll(async () => {
  double = await startUpstreamDouble();
});
afterEach(() => double.reset());
afterAll(() => double.close());

async function served(answer: Answer): Promise<SeenRequest> {
  double.enqueue(answer);
  const client = await openRawClient(double.url);
  client.send(postBytes("/v1/chat/completions", "{}"));
  const request = await double.waitForRequest(1);
  await double.waitForOutcome(request);
  client.close();
  return request;
}

const USAGE = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };

test("a complete stream counts all its events and carries its usage", async () => {
  const count = delivered(await served(chatStreamAnswer({ words: ["a", "b"], usage: USAGE })));
  expect(count).toMatchObject({ complete: true, usage: USAGE });
  expect(count.events).toHaveLength(6);
  expect(count.events.at(-1)).toBe("[DONE]");
});

test("a stream cut between events counts what went out before, and has no usage yet", async () => {
  const answer = chatStreamAnswer({ words: ["a", "b", "c"], usage: USAGE });
  const count = delivered(await served(resetAt(answer, afterEvent(toBytes(answer.body ?? ""), 3))));
  expect(count).toMatchObject({ complete: false, usage: undefined });
  expect(count.events).toHaveLength(3);
});

test("an event that went out in part is not counted", async () => {
  const answer = chatStreamAnswer({ words: ["a", "b", "c"], usage: USAGE });
  const end = afterEvent(toBytes(answer.body ?? ""), 3);
  expect(delivered(await served(stallAt(answer, end - 1))).events).toHaveLength(2);
});

test("usage that went out before a stream broke is told, though the answer is not complete", async () => {
  const count = delivered(await served(withoutLastChunk(chatStreamAnswer({ usage: USAGE }))));
  expect(count).toMatchObject({ complete: false, usage: USAGE });
});

test("the last of several usages counts", async () => {
  const events = chatStreamEvents({ usage: USAGE });
  const early = { choices: [], usage: { ...USAGE, total_tokens: 1 } };
  const request = await served(sseAnswer([early, ...events].map(dataLine).join("")));
  expect(delivered(request).usage).toEqual(USAGE);
});

const dataLine = (event: unknown) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`;

test("a plain answer carries its usage only when it is complete", async () => {
  expect(delivered(await served(chatAnswer({ usage: USAGE })))).toEqual({
    complete: true,
    events: [],
    usage: USAGE,
  });
  double.reset();
  expect(delivered(await served(longContentLength(chatAnswer({ usage: USAGE }))))).toMatchObject({
    complete: false,
    usage: undefined,
  });
});

test("a compressed answer carries its usage when it can be read", async () => {
  expect(delivered(await served(gzipped(chatAnswer({ usage: USAGE })))).usage).toEqual(USAGE);
  double.reset();
  expect(delivered(await served(truncatedGzip(chatAnswer({ usage: USAGE })))).usage).toBeUndefined();
});

test("usage is found where vendors put it", () => {
  expect(chatUsage({ usage: USAGE })).toEqual(USAGE);
  expect(chatUsage({ choices: [{ usage: USAGE }] })).toEqual(USAGE);
  expect(chatUsage({ x_groq: { usage: USAGE } })).toEqual(USAGE);
  expect(chatUsage({ choices: [] })).toBeUndefined();
  expect(chatUsage(undefined)).toBeUndefined();
});

test("other protocols bring their own way to find usage", async () => {
  const request = await served(jsonAnswer(200, { usageMetadata: { totalTokenCount: 9 } }));
  const readUsage = (value: unknown) => (value as { usageMetadata?: unknown } | undefined)?.usageMetadata;
  expect(delivered(request, readUsage).usage).toEqual({ totalTokenCount: 9 });
});

test("a made-up completion and its stream say the same", () => {
  const form = {
    words: ["Hi", " there"],
    reasoning: ["think"],
    toolCalls: [{ id: "call_1", name: "f", arguments: ['{"x":', "1}"] }],
    usage: USAGE,
  };
  const plain = chatCompletion(form) as {
    choices: { message: unknown; finish_reason: string }[];
    usage: unknown;
  };
  expect(plain.choices[0]).toMatchObject({
    finish_reason: "tool_calls",
    message: {
      content: "Hi there",
      reasoning_content: "think",
      tool_calls: [{ id: "call_1", type: "function", function: { name: "f", arguments: '{"x":1}' } }],
    },
  });
  const deltas = chatStreamEvents(form).flatMap(
    (event) => JSON.stringify(event).match(/"delta":.*,"logprobs"/g) ?? [],
  );
  const spoken = ["", "think", "Hi", " there", '"f"', String.raw`{\"x\":`, '"1}"', "{}"];
  expect(deltas.map((delta, index) => delta.includes(spoken[index] ?? "?"))).toEqual(spoken.map(() => true));
  expect(chatStreamEvents(form)).toHaveLength(1 + 1 + 2 + 3 + 1 + 1 + 1);
  expect(chatStreamEvents({ ...form, done: false, usage: null, finishReason: null })).toHaveLength(7);
});
