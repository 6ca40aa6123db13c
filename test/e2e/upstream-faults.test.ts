import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { type Answer, jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { chatAnswer, chatCompletion, chatStream, chatStreamAnswer } from "../upstream/chat-bytes.ts";
import { afterEvent } from "../upstream/cuts.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import {
  badChunkSize,
  garbageStatusLine,
  gateAt,
  longContentLength,
  redirectTo,
  resetAt,
  truncatedGzip,
  withoutLastChunk,
} from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { sse } from "../upstream/sse-bytes.ts";
import { startGateway, streamEvents, type TestGateway, UPSTREAM_KEY, type Json } from "../gateway/gateway.ts";

// What the client is told and charged for each fault of the provider that this path can meet (U3 to U48), over real
// sockets.

const MODEL = "openai/gpt-5.6-luna";
const USAGE = { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 };
const FULL_CREDIT = 0.07;
const body = {
  model: MODEL,
  messages: [{ role: "user", content: "Say hello, please." }],
  max_completion_tokens: 64,
};

let double: UpstreamDouble;
let gateway: TestGateway;

beforeAll(async () => {
  double = await startUpstreamDouble({ sleep: async () => undefined });
  gateway = await startGateway({ openai: `${double.url}/v1` });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => double.reset());

const plain = chatAnswer({ words: ["Hello."], usage: USAGE });
const status = (
  code: number,
  error: Json = { message: "no", type: "t" },
  headers: [string, string][] = [],
): Answer => ({
  ...jsonAnswer(code, { error }),
  headers: [["content-type", "application/json"], ...headers],
});

const before: readonly {
  readonly name: string;
  readonly answer: Answer;
  readonly want: readonly [number, string];
  readonly plainOnly?: true;
  readonly streamOnly?: true;
}[] = [
  { name: "reset before headers", answer: resetAt(plain, "start"), want: [502, "upstream_error"] },
  { name: "closed in mid-header", answer: resetAt(plain, "mid-head"), want: [502, "upstream_error"] },
  { name: "a garbage status line", answer: garbageStatusLine(plain), want: [502, "upstream_error"] },
  {
    name: "a 200 of HTML",
    answer: { ...jsonAnswer(200, {}), headers: [["content-type", "text/html"]] },
    want: [502, "upstream_error"],
  },
  {
    name: "a redirect to elsewhere",
    answer: redirectTo("http://169.254.169.254/latest/meta-data"),
    want: [502, "upstream_error"],
  },
  { name: "a truncated gzip", answer: truncatedGzip(plain), want: [502, "upstream_error"], plainOnly: true },
  {
    name: "a body shorter than its length",
    answer: longContentLength(plain),
    want: [502, "upstream_error"],
    plainOnly: true,
  },
  {
    name: "a body without its last chunk",
    answer: withoutLastChunk({ ...plain, framing: "chunked" }),
    want: [502, "upstream_error"],
    plainOnly: true,
  },
  {
    name: "a bad chunk size",
    answer: badChunkSize({ ...plain, framing: "chunked" }),
    want: [502, "upstream_error"],
    plainOnly: true,
  },
  {
    name: "an empty 200",
    answer: { ...plain, body: new Uint8Array(0) },
    want: [502, "upstream_error"],
    plainOnly: true,
  },
  {
    name: "garbage JSON",
    answer: { ...plain, body: new TextEncoder().encode('{"choices":[') },
    want: [502, "upstream_error"],
    plainOnly: true,
  },
  {
    name: "choices that are null",
    answer: jsonAnswer(200, { choices: null }),
    want: [502, "upstream_error"],
    plainOnly: true,
  },
  {
    name: "choices that are a string",
    answer: jsonAnswer(200, { choices: "x" }),
    want: [502, "upstream_error"],
    plainOnly: true,
  },
  {
    name: "an error in a plain 200",
    answer: jsonAnswer(200, { error: { message: "boom", code: 502 } }),
    want: [502, "upstream_error"],
    plainOnly: true,
  },
  {
    name: "a 400",
    answer: status(400, {
      message: "Invalid value for 'user'",
      type: "invalid_request_error",
      param: "user",
    }),
    want: [400, "invalid_request_error"],
  },
  {
    name: "a 400 of moderation",
    answer: status(400, { message: "blocked", code: "content_filter" }),
    want: [400, "content_moderation"],
  },
  {
    name: "a 400 for length",
    answer: status(400, { message: "maximum context length is 8", code: "context_length_exceeded" }),
    want: [400, "input_too_large"],
  },
  {
    name: "a 401",
    answer: status(401, { message: `Incorrect API key provided: ${UPSTREAM_KEY}` }),
    want: [502, "upstream_error"],
  },
  { name: "a 402", answer: status(402, { message: "Insufficient balance" }), want: [502, "upstream_error"] },
  { name: "a 403", answer: status(403), want: [502, "upstream_error"] },
  {
    name: "a 404",
    answer: status(404, { message: "The model does not exist", code: "model_not_found" }),
    want: [502, "upstream_error"],
  },
  { name: "a 409", answer: status(409), want: [502, "upstream_error"] },
  { name: "a 413", answer: status(413), want: [400, "input_too_large"] },
  {
    name: "a 429",
    answer: status(429, { message: "slow down", type: "rate_limit_exceeded" }, [["retry-after", "7"]]),
    want: [503, "overloaded_error"],
  },
  {
    name: "a 429 for our quota",
    answer: status(429, {
      message: "You exceeded your current quota",
      type: "insufficient_quota",
      code: "insufficient_quota",
    }),
    want: [502, "upstream_error"],
  },
  { name: "a 500", answer: status(500), want: [502, "upstream_error"] },
  { name: "a 503", answer: status(503), want: [503, "overloaded_error"] },
  { name: "a 504", answer: status(504), want: [504, "timeout_error"] },
  { name: "a 529", answer: status(529), want: [503, "overloaded_error"] },
  {
    name: "an error as the stream's first event",
    answer: sseAnswer(sse([{ error: { message: "boom", type: "server_error" } }])),
    want: [502, "upstream_error"],
    streamOnly: true,
  },
  {
    name: "a stream that ends before it began",
    answer: sseAnswer(new Uint8Array(0)),
    want: [502, "upstream_error"],
    streamOnly: true,
  },
  {
    name: "a stream of garbage",
    answer: sseAnswer(sse(["{not json"])),
    want: [502, "upstream_error"],
    streamOnly: true,
  },
];

for (const { name, answer, want, plainOnly, streamOnly } of before) {
  for (const streamed of [false, true]) {
    if ((streamed && plainOnly === true) || (!streamed && streamOnly === true)) continue;
    test(`${name} is ${want.join(" ")} and free (${streamed ? "streamed" : "plain"})`, async () => {
      double.handle(() => answer);
      const { balance } = await gateway.account();
      const response = await gateway.chat({ ...body, stream: streamed });
      const text = await response.text();
      expect([response.status, JSON.parse(text).error.type]).toEqual([...want]);
      expect(text).not.toContain("canary");
      await gateway.settled();
      expect(await gateway.account()).toMatchObject({ balance, held: 0 });
      expect(double.requests.length).toBe(1);
    });
  }
}

test("the provider's Retry-After is passed on within 1 to 60 seconds", async () => {
  for (const [given, want] of [
    ["7", "7"],
    ["999999999", "60"],
    ["-5", "1"],
    ["garbage", "1"],
    ["0.2", "1"],
  ] as const) {
    double.handle(() => status(429, { message: "slow" }, [["retry-after", given]]));
    expect((await gateway.chat(body)).headers.get("retry-after")).toBe(want);
  }
});

test("a provider that cannot be reached is a 502 and free", async () => {
  const gone = await startUpstreamDouble();
  await gone.close();
  const alone = await startGateway({ openai: `${gone.url}/v1` });
  const response = await alone.chat(body);
  expect(response.status).toBe(502);
  expect(await alone.account()).toMatchObject({ balance: 1_000_000, held: 0 });
  await alone.close();
});

const events = chatStream({ words: ["Hel", "lo."], usage: USAGE });
const cutAfter = (nth: number, how: "fin" | "reset", framing: Answer["framing"]): Answer => ({
  ...sseAnswer(events),
  cut: "events",
  ...(framing === undefined ? {} : { framing }),
  end: { at: afterEvent(events, nth), how },
});

/** The order that an answer broken in the middle ends in. */
function expectBroken(all: readonly Json[], type: string): void {
  const [finish, usage, credit, error, done] = all.slice(-5);
  expect(finish.choices[0].finish_reason).toBe("error");
  expect(usage.choices).toEqual([]);
  expect(usage.usage.total_tokens).toBeGreaterThan(0);
  expect(credit.choices).toEqual([]);
  expect(credit.usage).toEqual(usage.usage);
  expect(error.error.type).toBe(type);
  expect(done).toBe("[DONE]");
}

const during: readonly { readonly name: string; readonly answer: Answer; readonly type: string }[] = [
  { name: "cut by FIN", answer: cutAfter(2, "fin", "close"), type: "upstream_error" },
  {
    name: "cut in the middle of an event",
    answer: { ...sseAnswer(events), framing: "close", end: { at: afterEvent(events, 2) + 20, how: "fin" } },
    type: "upstream_error",
  },
  {
    name: "an error event",
    answer: sseAnswer(
      concat(
        events.subarray(0, afterEvent(events, 2)),
        sse([{ error: { message: "boom", type: "server_error" } }]),
      ),
    ),
    type: "upstream_error",
  },
  {
    name: "garbage in one event",
    answer: sseAnswer(concat(events.subarray(0, afterEvent(events, 2)), sse(["{oops"]))),
    type: "upstream_error",
  },
  {
    name: "an overload told in mid-stream",
    answer: sseAnswer(
      concat(
        events.subarray(0, afterEvent(events, 2)),
        sse([{ error: { message: "busy", type: "overloaded_error" } }]),
      ),
    ),
    type: "overloaded_error",
  },
];

for (const { name, answer, type } of during) {
  test(`${name} in mid-stream: the content, then an end that says it broke; what came is charged`, async () => {
    double.handle(() => answer);
    const { balance } = await gateway.account();
    const response = await gateway.chat({ ...body, stream: true });
    expect(response.status).toBe(200);
    const all = streamEvents(await response.text());
    expect(all.map((event) => event.choices?.[0]?.delta?.content ?? "").join("")).toBe("Hel");
    expectBroken(all, type);
    await gateway.settled();
    const charged = Number((balance - (await gateway.account()).balance).toFixed(6));
    expect(charged).toBe(all.at(-3).credit);
    expect(charged).toBeGreaterThan(0);
    expect(charged).toBeLessThan(FULL_CREDIT);
  });
}

for (const how of ["fin", "reset"] as const) {
  test(`a chunked stream that ends by ${how} once its first words were read never looks complete`, async () => {
    const gate = createGate();
    const at = afterEvent(events, 2);
    double.handle(() => gateAt(cutAfter(2, how, "chunked"), at, gate));
    const response = await gateway.chat({ ...body, stream: true });
    gate.release();
    const all = streamEvents(await response.text());
    expect(all.map((event) => event.choices?.[0]?.delta?.content ?? "").join("")).toBe("Hel");
    expectBroken(all, "upstream_error");
  });
}

test("a stream that lost only its goodbye after finish and usage is a whole answer", async () => {
  for (const nth of [4, 5]) {
    double.handle(() => cutAfter(nth, "fin", "close"));
    const all = streamEvents(await (await gateway.chat({ ...body, stream: true })).text());
    expect(all.at(-1)).toBe("[DONE]");
    expect(all.some((event) => event.error !== undefined)).toBe(false);
    expect(all.at(-2).credit).toBeGreaterThan(0);
  }
});

test("what comes after [DONE] is not relayed, and the charge is the usage before it", async () => {
  double.handle(() =>
    sseAnswer(
      concat(
        events,
        chatStream({ words: ["more"], usage: { ...USAGE, completion_tokens: 99, total_tokens: 110 } }),
      ),
    ),
  );
  const all = streamEvents(await (await gateway.chat({ ...body, stream: true })).text());
  expect(JSON.stringify(all)).not.toContain("more");
  expect(all.at(-2).credit).toBe(FULL_CREDIT);
});

test("an answer without usage is charged by our own count, and its record says so", async () => {
  double.handle((request) =>
    (request.json() as { stream?: boolean }).stream === true
      ? chatStreamAnswer({ words: ["Hello there, this is text."], usage: null })
      : jsonAnswer(200, { ...chatCompletion({ words: ["Hello there, this is text."] }), usage: undefined }),
  );
  const whole = (await (await gateway.chat(body)).json()) as Json;
  const all = streamEvents(await (await gateway.chat({ ...body, stream: true })).text());
  expect(whole.credit).toBeGreaterThan(0);
  expect(all.at(-2).credit).toBe(whole.credit);
  expect(all.at(-2).usage).toEqual(whole.usage);
  await gateway.settled();
  const records = gateway.logs.filter((line) => line.message === "request").slice(-2);
  expect(records.map((line) => line.usage_flags)).toEqual([["estimated"], ["estimated"]]);
});

test("hostile usage is clamped, never negative, never beyond the account", async () => {
  const poor = await startGateway({ openai: `${double.url}/v1`, credits: 10 });
  double.handle(() =>
    jsonAnswer(200, {
      ...chatCompletion({ words: ["x"] }),
      usage: { prompt_tokens: -5, completion_tokens: 1e15, total_tokens: "many" },
    }),
  );
  const answer = (await (await poor.chat(body)).json()) as Json;
  const { balance } = await poor.account();
  // The hold of 64 output tokens is the most that was agreed to, whatever the provider says.
  expect(answer.credit).toBeGreaterThan(0.768);
  expect(answer.credit).toBeLessThan(1.5);
  expect(balance).toBe(Number((10 - answer.credit).toFixed(6)));
  await poor.close();
});

function concat(...pieces: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(pieces));
}
