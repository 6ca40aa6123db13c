import { describe, expect, test } from "bun:test";
import { createFakeClock, type FakeClock } from "../../../test/gateway/fake-clock.ts";
import { ANSWER_CONTEXT } from "../../../test/protocols/answer-context.ts";
import { chatStream } from "../../../test/upstream/chat-bytes.ts";
import { GatewayError } from "../../core/errors.ts";
import { createRequestMemory, type RequestMemory } from "../../core/bytes/request-memory.ts";
import { chatCompletions } from "../../protocols/chat-completions/index.ts";
import { generateContent } from "../../protocols/generate-content/index.ts";
import { messages } from "../../protocols/messages/index.ts";
import type { RelayProtocol } from "../../protocols/protocol.ts";
import { responses } from "../../protocols/responses/index.ts";
import type { UpstreamAnswer } from "../../providers/upstream.ts";
import type { CallServices, PaidCall } from "./paid-call.ts";
import type { RequestRecord } from "../request-record.ts";
import { openStreamAnswer } from "./relay-stream.ts";
import { DEFAULT_TIMEOUTS } from "../timeouts.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

interface AnswerOptions {
  readonly protocol?: RelayProtocol;
  /** Receives what became of it. */
  readonly told?: string[];
  readonly memory?: RequestMemory;
  readonly clock?: FakeClock;
  /** Until then the provider says nothing. */
  readonly begins?: Promise<void>;
  readonly sendAgain?: PaidCall["sendAgain"] | undefined;
}

/** A streamed answer of a provider that sends `body`, and what became of its call and its record. */
async function openAnswer(body: ReadableStream<Uint8Array>, options: AnswerOptions = {}) {
  const { protocol = chatCompletions, told = [], memory = createRequestMemory(() => 64 * MIB) } = options;
  const { clock = createFakeClock(), sendAgain = async () => undefined, begins } = options;
  const call = {
    protocol,
    context: { ...ANSWER_CONTEXT, model: "m" },
    async send() {
      await begins;
      return { open: () => body.getReader() } as unknown as UpstreamAnswer;
    },
    sawByte: () => {},
    sawAnswer: () => {},
    sendAgain,
    abort: () => void told.push("stopped"),
    settleLeft: async () => {
      told.push("left");
      return 0n;
    },
    settleBroken: async (metered: unknown) => {
      told.push(metered === undefined ? "free" : "charged");
      return 0n;
    },
    settle: async () => {
      told.push("charged");
      return 1_000_000n;
    },
  } as unknown as PaidCall;
  const answer = await openStreamAnswer({
    services: { clock, timeouts: DEFAULT_TIMEOUTS, failpoint: () => {} } as unknown as CallServices,
    call,
    record: {
      requestId: "req_1",
      note: () => {},
      sawContent: () => {},
      finish: (status: number) => void told.push(`finished ${status}`),
    } as unknown as RequestRecord,
    memory: memory.open("key"),
  });
  return { clock, told, answer };
}

/** A stream of the bytes, so many in a read, that gives no more than is asked for; `given` counts them. */
function streamOf(bytes: Uint8Array, inARead: number) {
  const stream = {
    given: 0,
    body: new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          const piece = bytes.slice(stream.given, stream.given + inARead);
          stream.given += piece.length;
          if (piece.length > 0) controller.enqueue(piece);
          else controller.close();
        },
      },
      { highWaterMark: 0 },
    ),
  };
  return stream;
}

test("a client that does not take the end of its stream within a minute is given up; it was charged before", async () => {
  const { clock, told, answer } = await openAnswer(
    streamOf(chatStream({ words: ["Hello."] }), Infinity).body,
  );
  let text = "";
  let ended: unknown;
  const piping = answer.pipe({
    write: (bytes) => void (text += new TextDecoder().decode(bytes)),
    // There is room until the end is to be sent.
    flush: () => (text.includes("[DONE]") ? new Promise(() => {}) : undefined),
  });
  void piping.catch((error: unknown) => (ended = error));
  await clock.advance(0);
  await clock.advance(59_999);
  expect(text).toContain("[DONE]");
  expect([told, ended]).toEqual([["charged", "finished 200"], undefined]);
  await clock.advance(1);
  expect(ended).toEqual(new Error("The client takes nothing."));
  answer.cancel();
  expect(told).toEqual(["charged", "finished 200"]);
});

for (const inARead of [1, 16, 64, 128].map((kib) => kib * KIB))
  test(`of a stream that comes ${inARead / KIB} KiB a read one read is held for a client that stalls, and never 256 KiB`, async () => {
    const bytes = chatStream({ words: Array.from({ length: 1_000 }, () => "x".repeat(1_000)) });
    const stream = streamOf(bytes, inARead);
    const { clock, answer } = await openAnswer(stream.body);
    let held = 0;
    let room = Promise.withResolvers<void>();
    let isOver = false;
    const piping = answer.pipe({
      write: (piece) => void (held += piece.length),
      flush: () => room.promise,
    });
    void piping.finally(() => (isOver = true));
    // It takes what there is, and stalls anew: nothing more is read for as long as it does.
    for (let i = 0; i < 5_000 && !isOver; i += 1) {
      await clock.advance(i === 3 ? 59_000 : 0);
      const { given } = stream;
      await clock.advance(0);
      expect(stream.given).toBe(given);
      expect(held).toBeLessThan(256 * KIB);
      held = 0;
      room.resolve();
      room = Promise.withResolvers();
      await clock.advance(0);
      expect(stream.given - given).toBeLessThanOrEqual(inARead);
    }
    await piping;
    expect(stream.given).toBe(bytes.length);
  });

test("the silence of a stream that was slow to begin counts from its beginning", async () => {
  const clock = createFakeClock();
  const told: string[] = [];
  const { promise: begins, resolve: begin } = Promise.withResolvers<void>();
  const { promise: content, resolve: goOn } = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await content;
        controller.enqueue(chatStream({ words: ["Hello."] }));
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  const opening = openAnswer(body, { clock, told, begins });
  await clock.advance(DEFAULT_TIMEOUTS.keepAliveMs);
  const { answer } = await opening;
  const piping = answer.pipe({ write: () => {}, flush: () => undefined });
  // Together they are longer than a stream may be silent.
  await clock.advance(DEFAULT_TIMEOUTS.idleMs - 1_000);
  begin();
  await clock.advance(0);
  await clock.advance(DEFAULT_TIMEOUTS.idleMs - 1_000);
  goOn();
  await piping;
  expect(told).toEqual(["charged", "finished 200"]);
});

/** Events without content, of which a provider may send any number. */
const EMPTY = [
  [chatCompletions, { id: "c", choices: [{ index: 0, delta: {} }] }],
  [messages, { type: "something_new" }],
  [generateContent, { candidates: [{ content: { role: "model", parts: [{ text: "" }] } }] }],
  [responses, { type: "response.in_progress", response: { id: "r" } }],
] as const;

for (const [protocol, event] of EMPTY)
  for (const size of ["small", "large"] as const)
    test(`of ${protocol.id} at most 32 MiB are held of a stream without content: it is refused, stopped and free (${size} events)`, async () => {
      const padded = size === "small" ? event : { ...event, pad: "x".repeat(500_000) };
      const bytes = new TextEncoder().encode(`data: ${JSON.stringify(padded)}\n\n`);
      let given = 0;
      const endless = new ReadableStream<Uint8Array>(
        {
          pull(controller) {
            given += bytes.length;
            controller.enqueue(bytes.slice());
          },
        },
        { highWaterMark: 0 },
      );
      const told: string[] = [];
      const refusal: unknown = await openAnswer(endless, { protocol, told }).catch((error: unknown) => error);
      expect(refusal).toMatchObject({
        kind: "upstream_error",
        message: "The provider sent 32 MiB without any content.",
      });
      expect(told).toEqual(["stopped", "free"]);
      expect(given).toBeLessThan(size === "small" ? 33 * MIB : 40 * MIB);
    });

const QUIET_EVENT = `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta: {} }], pad: "x".repeat(256 * KIB) })}\n\n`;

/** A provider that has sent so much without content, and waits before it goes on with `rest`, or breaks off. */
function quietProvider(bytes: number) {
  const { promise: rest, resolve: goOn, reject: breakOff } = Promise.withResolvers<Uint8Array>();
  rest.catch(() => {});
  const { promise: wentOn, resolve: hasGoneOn } = Promise.withResolvers<void>();
  let left = bytes;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (left > 0) {
          left -= QUIET_EVENT.length;
          return controller.enqueue(new TextEncoder().encode(QUIET_EVENT));
        }
        controller.enqueue(await rest);
        controller.close();
        hasGoneOn();
      },
    },
    { highWaterMark: 0 },
  );
  return { body, goOn, wentOn, breakOff };
}

describe("what is held of a stream before its content is counted", () => {
  /** A stream of which 4 MiB are held, in a budget of 8, and that has kept its client waiting. */
  async function begin(sendAgain?: PaidCall["sendAgain"]) {
    const memory = createRequestMemory(() => 8 * MIB);
    const provider = quietProvider(4 * MIB);
    const told: string[] = [];
    const clock = createFakeClock();
    const opening = openAnswer(provider.body, { told, memory, clock, sendAgain });
    await clock.advance(0);
    while (memory.taken() < 4 * MIB) await Bun.sleep(0);
    await clock.advance(DEFAULT_TIMEOUTS.keepAliveMs);
    const { answer } = await opening;
    expect(memory.taken()).toBeLessThan(4.5 * MIB);
    expect(memory.open("other").take(4 * MIB)).toBe(false);
    let length = 0;
    const pipe = (): Promise<void> =>
      answer.pipe({ write: (bytes) => void (length += bytes.length), flush: () => undefined });
    return { memory, provider, told, answer, pipe, length: () => length };
  }

  test("until its client is sent it", async () => {
    const { memory, provider, told, pipe, length } = await begin();
    provider.goOn(chatStream({ words: ["Hello."] }));
    await pipe();
    expect(length()).toBeGreaterThan(4 * MIB);
    expect([memory.taken(), memory.requests(), told]).toEqual([0, 0, ["charged", "finished 200"]]);
  });

  test("until its provider breaks off", async () => {
    const { memory, provider, told, pipe } = await begin();
    provider.breakOff(new GatewayError("upstream_error", "no"));
    await pipe();
    expect([memory.taken(), told]).toEqual([0, ["stopped", "free", "finished 200"]]);
  });

  test("until it is certain that it is sent again: the client gets nothing of it, and the other answer whole", async () => {
    const next = Promise.withResolvers<UpstreamAnswer | undefined>();
    const { memory, provider, told, pipe, length } = await begin((_error, _stream, onAgain) => {
      onAgain?.();
      return next.promise;
    });
    provider.breakOff(new GatewayError("upstream_error", "no"));
    const piping = pipe();
    for (let i = 0; i < 1_000 && memory.taken() > 0; i += 1) await Bun.sleep(0);
    expect([memory.taken(), told]).toEqual([0, []]);
    const { body } = streamOf(chatStream({ words: ["Hello."] }), Infinity);
    next.resolve({ open: () => body.getReader() } as unknown as UpstreamAnswer);
    await piping;
    expect(length()).toBeLessThan(4 * KIB);
    expect([memory.taken(), told]).toEqual([0, ["charged", "finished 200"]]);
  });

  test("and is not shown where the attempt after it breaks off, too", async () => {
    const { provider, told, pipe, length } = await begin(async (error, _stream, onAgain) => {
      onAgain?.();
      throw error;
    });
    provider.breakOff(new GatewayError("upstream_error", "no"));
    await pipe();
    expect(length()).toBeLessThan(4 * KIB);
    expect(told).toEqual(["stopped", "free", "finished 200"]);
  });

  test("until its client leaves", async () => {
    const { memory, provider, told, answer } = await begin();
    answer.cancel();
    expect([memory.taken(), told]).toEqual([0, ["stopped", "left"]]);
    // What comes after it left is not held.
    provider.goOn(chatStream({ words: ["Hello."] }));
    await provider.wentOn;
    await Bun.sleep(0);
    expect(memory.taken()).toBe(0);
  });

  test("and beyond 1 MiB is refused where there is no room: free, and nothing stays held", async () => {
    const memory = createRequestMemory(() => 8 * MIB);
    memory.open("other").hold(8 * MIB);
    const told: string[] = [];
    const { body } = quietProvider(4 * MIB);
    const refusal: unknown = await openAnswer(body, { told, memory }).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ kind: "overloaded_error", retryAfterSec: 2 });
    expect([memory.taken(), told]).toEqual([8 * MIB, ["stopped", "free"]]);
  });

  test("and up to 1 MiB is held without room, as is the first content of any length: it is paid for", async () => {
    const memory = createRequestMemory(() => 8 * MIB);
    memory.open("other").hold(8 * MIB);
    const words = ["x".repeat(600 * KIB), "x".repeat(600 * KIB)];
    const bytes = Buffer.concat([Buffer.from(QUIET_EVENT.repeat(3)), chatStream({ words })]);
    const { answer, told } = await openAnswer(streamOf(bytes, 64 * KIB).body, { memory });
    await answer.pipe({ write: () => {}, flush: () => undefined });
    expect([memory.taken(), told]).toEqual([8 * MIB, ["charged", "finished 200"]]);
  });
});
