import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { type Answer, jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { afterEvent, eventEnds } from "../upstream/cuts.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { gateAt, resetAt, stallAt, truncatedGzip } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import {
  message,
  messageAnswer,
  messageEvents,
  messageStream,
  messageStreamAnswer,
  namedEvents,
} from "../upstream/messages-bytes.ts";
import { createFakeClock } from "../gateway/fake-clock.ts";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";

// What a client of messages is told, and what it is charged, for each fault of the provider, over real sockets.

const USAGE = { input_tokens: 11, output_tokens: 40 };
/** 11 × 1 + 40 × 5 USD per million, in credits. */
const FULL_CREDIT = 2.11;
const form = {
  blocks: [
    { type: "thinking", thinking: "Say it.", signature: "EqQB" },
    { type: "text", text: "Hello there, you." },
  ],
  usage: USAGE,
};
const body = {
  model: "anthropic/claude-haiku-4.5",
  messages: [{ role: "user", content: "Say hello, please." }],
  max_tokens: 64,
};

let double: UpstreamDouble;
let gateway: TestGateway;

beforeAll(async () => {
  double = await startUpstreamDouble({ sleep: async () => undefined });
  gateway = await startGateway({ anthropic: double.url });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => double.reset());

const ask = (stream: boolean, at: TestGateway = gateway): Promise<Response> =>
  at.post("/api/v1/messages", { ...body, stream });

interface Told {
  readonly event: string;
  readonly data: Json;
}

function read(text: string): Told[] {
  return text
    .split("\n\n")
    .filter((part) => part.startsWith("event: "))
    .map((part) => {
      const [event = "", data = ""] = part.split("\n");
      return { event: event.slice(7), data: JSON.parse(data.slice(6)) };
    });
}

const refusal = (status: number, type: string, text = "no"): Answer =>
  jsonAnswer(status, { type: "error", error: { type, message: text }, request_id: "req_up" });

const before: readonly {
  name: string;
  answer: Answer;
  want: readonly [number, string];
  only?: "plain" | "stream";
}[] = [
  {
    name: "reset before headers",
    answer: resetAt(messageAnswer(form), "start"),
    want: [502, "upstream_error"],
  },
  {
    name: "a truncated gzip",
    answer: truncatedGzip(messageAnswer(form)),
    want: [502, "upstream_error"],
    only: "plain",
  },
  {
    name: "a 200 that is a chat completion",
    answer: jsonAnswer(200, { choices: [] }),
    want: [502, "upstream_error"],
  },
  { name: "an error in a 200", answer: refusal(200, "api_error"), want: [502, "upstream_error"] },
  { name: "an overload in a 200", answer: refusal(200, "overloaded_error"), want: [503, "overloaded_error"] },
  {
    name: "a 400",
    answer: refusal(400, "invalid_request_error", "messages.0: bad"),
    want: [400, "invalid_request_error"],
  },
  {
    name: "a 400 for length",
    answer: refusal(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
    want: [400, "input_too_large"],
  },
  {
    name: "a 400 for our balance",
    answer: refusal(
      400,
      "invalid_request_error",
      "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.",
    ),
    want: [502, "upstream_error"],
  },
  {
    name: "a 401",
    answer: refusal(401, "authentication_error", `invalid x-api-key ${UPSTREAM_KEY}`),
    want: [502, "upstream_error"],
  },
  { name: "a 402", answer: refusal(402, "billing_error"), want: [502, "upstream_error"] },
  { name: "a 403", answer: refusal(403, "permission_error"), want: [502, "upstream_error"] },
  { name: "a 404", answer: refusal(404, "not_found_error", "model: x"), want: [502, "upstream_error"] },
  { name: "a 413", answer: refusal(413, "request_too_large"), want: [400, "input_too_large"] },
  { name: "a 429", answer: refusal(429, "rate_limit_error"), want: [503, "overloaded_error"] },
  { name: "a 500", answer: refusal(500, "api_error"), want: [502, "upstream_error"] },
  { name: "a 504", answer: refusal(504, "timeout_error"), want: [504, "timeout_error"] },
  { name: "a 529", answer: refusal(529, "overloaded_error"), want: [503, "overloaded_error"] },
  {
    name: "a stream that ends before it began",
    answer: sseAnswer(""),
    want: [502, "upstream_error"],
    only: "stream",
  },
  {
    name: "a stream of garbage",
    answer: sseAnswer(namedEvents(["{no"])),
    want: [502, "upstream_error"],
    only: "stream",
  },
  {
    name: "a stream of pings",
    answer: sseAnswer(namedEvents([{ type: "ping" }])),
    want: [502, "upstream_error"],
    only: "stream",
  },
  {
    name: "a stream whose error comes before its content",
    answer: sseAnswer(
      namedEvents([
        ...messageEvents(form).slice(0, 2),
        { type: "error", error: { type: "overloaded_error" } },
      ]),
    ),
    want: [503, "overloaded_error"],
    only: "stream",
  },
];

describe("before any content a fault is a status of its own, in the format's shape, and free", () => {
  for (const { name, answer, want, only } of before) {
    for (const streamed of [false, true].filter(
      (stream) => only === undefined || stream === (only === "stream"),
    )) {
      test(`${name} is ${want.join(" ")} (${streamed ? "streamed" : "plain"})`, async () => {
        double.handle(() => answer);
        const { balance } = await gateway.account();
        const response = await ask(streamed);
        const text = await response.text();
        const { type, error, request_id } = JSON.parse(text);
        expect([response.status, type, error.type]).toEqual([want[0], "error", want[1]]);
        expect(request_id).toBe(response.headers.get("request-id"));
        expect(text).not.toContain("canary");
        await gateway.settled();
        expect(await gateway.account()).toMatchObject({ balance, held: 0 });
        expect(double.requests.length).toBe(1);
      });
    }
  }
});

const events = messageStream(form);
const count = eventEnds(events).length;
/** The first event with content in it, and the one with the reason to stop, counted from 1. */
const FIRST = 3;
const REASON = count - 1;

/** Charges what is in the books against what the client was told. */
async function broken(answer: Answer): Promise<{ told: Told[]; charged: number }> {
  double.handle(() => answer);
  const { balance } = await gateway.account();
  const response = await ask(true);
  expect(response.status).toBe(200);
  const told = read(await response.text());
  await gateway.settled();
  return { told, charged: Number((balance - (await gateway.account()).balance).toFixed(6)) };
}

function expectBroken({ told, charged }: { told: Told[]; charged: number }, type = "upstream_error"): void {
  expect(told.slice(-2).map(({ event }) => event)).toEqual(["credit", "error"]);
  expect(told.at(-1)?.data).toMatchObject({ type: "error", error: { type } });
  expect(told.map(({ event }) => event)).not.toContain("message_stop");
  expect(told.map(({ event }) => event)).not.toContain("message_delta");
  expect(told.at(-2)?.data).toEqual({ type: "ping", credit: charged });
  expect(charged).toBeGreaterThan(0);
  expect(charged).toBeLessThan(FULL_CREDIT);
}

describe("in mid-stream a fault ends the answer as broken, and what came is charged", () => {
  for (let nth = FIRST; nth < REASON; nth += 1) {
    for (const more of [0, 15]) {
      test(`cut ${more} bytes after event ${nth}`, async () => {
        const end = { at: afterEvent(events, nth) + more, how: "fin" as const };
        expectBroken(await broken({ ...sseAnswer(events), framing: "close", end }));
      });
    }
  }

  test("reset after the first words were read", async () => {
    const gate = createGate();
    const at = afterEvent(events, FIRST + 1);
    double.handle(() => gateAt(resetAt(sseAnswer(events), at), at, gate));
    const response = await ask(true);
    gate.release();
    expect(
      read(await response.text())
        .slice(-2)
        .map(({ event }) => event),
    ).toEqual(["credit", "error"]);
    await gateway.settled();
  });

  const begun = messageEvents(form).slice(0, FIRST + 1);
  const cases: readonly { name: string; next: readonly Json[]; type?: string }[] = [
    { name: "an error event", next: [{ type: "error", error: { type: "api_error", message: "boom" } }] },
    {
      name: "an overload",
      next: [{ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }],
      type: "overloaded_error",
    },
    { name: "garbage", next: ["{oops"] },
    { name: "an end without its reason", next: [{ type: "message_stop" }] },
    {
      name: "a reason of null",
      next: [
        { type: "message_delta", delta: { stop_reason: null }, usage: { output_tokens: 9 } },
        { type: "message_stop" },
      ],
    },
    { name: "a second beginning", next: messageEvents(form) },
  ];
  for (const { name, next, type } of cases) {
    test(`${name} after the first words`, async () => {
      expectBroken(await broken(sseAnswer(namedEvents([...begun, ...next]))), type);
    });
  }
});

describe("a stream that is whole", () => {
  test("without message_stop, or cut after its reason, is whole and has its full charge", async () => {
    for (const nth of [REASON, count]) {
      const end = { at: afterEvent(events, nth), how: "fin" as const };
      const { told, charged } = await broken({ ...sseAnswer(events), framing: "close", end });
      expect(told.slice(-3).map(({ event }) => event)).toEqual(["message_delta", "credit", "message_stop"]);
      expect(told.at(-3)?.data.credit).toBe(FULL_CREDIT);
      expect(charged).toBe(FULL_CREDIT);
    }
  });

  test("with more after its end gives nothing of it, and is charged by its own usage", async () => {
    const more = messageStream({
      blocks: [{ type: "text", text: "more" }],
      usage: { input_tokens: 1, output_tokens: 9_999 },
    });
    const { told, charged } = await broken(sseAnswer(new Uint8Array(Buffer.concat([events, more]))));
    expect(JSON.stringify(told)).not.toContain("more");
    expect(charged).toBe(FULL_CREDIT);
  });
});

test("an answer without usage is charged by our own count, plain and streamed alike, and its record says so", async () => {
  const silent = {
    blocks: [{ type: "text", text: "Hello there, this is text." }],
    usage: null,
    startUsage: null,
  };
  double.handle((request) =>
    (request.json() as Json).stream === true ? messageStreamAnswer(silent) : messageAnswer(silent),
  );
  const whole = (await (await ask(false)).json()) as Json;
  const told = read(await (await ask(true)).text());
  expect(whole.credit).toBeGreaterThan(0);
  expect(told.at(-2)?.data.credit).toBe(whole.credit);
  expect(told.at(-3)?.data.usage.output_tokens).toBe(whole.usage.output_tokens);
  await gateway.settled();
  const records = gateway.logs.filter((line) => line.message === "request").slice(-2);
  expect(records.map((line) => line.usage_flags)).toEqual([["estimated"], ["estimated"]]);
});

describe("hostile usage never takes more than was held", () => {
  const hostile: readonly { name: string; usage: Json }[] = [
    { name: "negative and huge counts", usage: { input_tokens: -5, output_tokens: 1e15 } },
    { name: "more output than was asked for", usage: { input_tokens: 11, output_tokens: 900_000 } },
    {
      name: "searches that nobody asked for",
      usage: { ...USAGE, server_tool_use: { web_search_requests: 100_000 } },
    },
    {
      name: "rounds beyond all bounds",
      usage: { ...USAGE, iterations: [{ type: "message", output_tokens: 9e9 }] },
    },
  ];
  for (const { name, usage } of hostile) {
    for (const streamed of [false, true]) {
      test(`${name} (${streamed ? "streamed" : "plain"})`, async () => {
        const poor = await startGateway({ anthropic: double.url, credits: 50 });
        double.handle(() =>
          streamed ? messageStreamAnswer({ ...form, usage }) : jsonAnswer(200, message({ ...form, usage })),
        );
        const response = await ask(streamed, poor);
        const text = await response.text();
        const credit = streamed
          ? read(text).find(({ event }) => event === "credit")?.data.credit
          : JSON.parse(text).credit;
        await poor.settled();
        const { balance } = await poor.account();
        // 64 tokens of output and the bound of the input are all that was agreed to.
        expect(credit).toBeGreaterThan(0);
        expect(credit).toBeLessThan(8);
        expect(balance).toBe(Number((50 - credit).toFixed(6)));
        await poor.close();
      });
    }
  }
});

test("an answer whose searches read more than the context together is charged in full", async () => {
  const usage = { input_tokens: 401_468, output_tokens: 40, server_tool_use: { web_search_requests: 10 } };
  double.handle(() => messageAnswer({ ...form, usage }));
  const tools = [{ type: "web_search_20250305", name: "web_search", max_uses: 10 }];
  const response = await gateway.post("/api/v1/messages", { ...body, tools });
  expect(((await response.json()) as Json).credit).toBe((401_468 * 1 + 40 * 5) / 100 + 10 * 100);
  await gateway.settled();
});

describe("time, by a clock that only the test moves", () => {
  const withClock = async (
    run: (at: TestGateway, advance: (ms: number) => Promise<void>) => Promise<void>,
  ) => {
    const clock = createFakeClock();
    const at = await startGateway({ anthropic: double.url, clock });
    try {
      await run(at, (ms) => clock.advance(ms));
    } finally {
      await at.close();
    }
  };

  test("a stream that is slow to begin is kept open by pings from 15 s on, and then answers", () =>
    withClock(async (at, advance) => {
      const gate = createGate();
      double.handle(() => gateAt(sseAnswer(events), "start", gate));
      const waiting = ask(true, at);
      await double.waitForRequest(1);
      await advance(15_000);
      const response = await waiting;
      await advance(45_000);
      gate.release();
      const text = await response.text();
      expect(
        text.split("\n\n").filter((part) => part === 'event: ping\ndata: {"type": "ping"}').length,
      ).toBeGreaterThanOrEqual(3);
      expect(read(text).at(-1)?.event).toBe("message_stop");
      expect(read(text).at(-2)?.data.credit).toBe(FULL_CREDIT);
    }));

  test("a refusal after the 200 was committed is told inside the stream, and free", () =>
    withClock(async (at, advance) => {
      const gate = createGate();
      double.handle(() => gateAt(refusal(529, "overloaded_error"), "start", gate));
      const waiting = ask(true, at);
      await double.waitForRequest(1);
      await advance(15_000);
      const response = await waiting;
      gate.release();
      const told = read(await response.text());
      expect(told.slice(-2)).toEqual([
        { event: "credit", data: { type: "ping", credit: 0 } },
        {
          event: "error",
          data: { type: "error", error: { type: "overloaded_error", message: expect.any(String) } },
        },
      ]);
      await at.settled();
      expect((await at.account()).balance).toBe(1_000_000);
    }));

  test("a stream that goes silent in the middle ends as a timeout, and what came is charged", () =>
    withClock(async (at, advance) => {
      double.handle(() => stallAt(sseAnswer(events), afterEvent(events, FIRST + 1)));
      const response = await ask(true, at);
      const reading = response.text();
      await advance(75_000);
      const told = read(await reading);
      expect(told.at(-1)?.data.error.type).toBe("timeout_error");
      expect(told.at(-2)?.data.credit).toBeGreaterThan(0);
      await at.settled();
    }));
});
