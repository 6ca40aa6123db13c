import { describe, expect, test } from "bun:test";
import { createFakeClock } from "../../../test/gateway/fake-clock.ts";
import { createStreamWatch } from "./stream-watch.ts";
import { DEFAULT_TIMEOUTS } from "../timeouts.ts";

const SECOND = 1_000;

function open() {
  const clock = createFakeClock();
  const stream = { chunks: 0, keepAlive: new Uint8Array([1]) };
  const said: string[] = [];
  let headers = false;
  let keptAlive = 0;
  const watch = createStreamWatch(clock, DEFAULT_TIMEOUTS, {
    stream,
    get hasHeaders() {
      return headers;
    },
    onLate: (error) => void said.push(`${error.kind}: ${error.message}`),
    onStalled: () => void said.push("stalled"),
  });
  watch.keepAlivesTo({ write: () => void (keptAlive += 1), flush: () => undefined });
  watch.start();
  return {
    watch,
    clock,
    said,
    keptAlive: () => keptAlive,
    begin: () => {
      headers = true;
      watch.begun();
    },
    fail: () => void (headers = false),
    /** For `ms`, something comes every ten seconds: content, or bytes that are none. */
    async feed(ms: number, content: boolean) {
      for (let at = 0; at < ms; at += 10 * SECOND) {
        if (content) stream.chunks += 1;
        watch.touch();
        await clock.advance(10 * SECOND);
      }
    },
  };
}

/** Deadlines are looked at every five seconds. */
const STEP = 5 * SECOND;

describe("each deadline ends a stream once, and not before its time", () => {
  test("no first byte in 120 seconds", async () => {
    const { clock, said } = open();
    await clock.advance(120 * SECOND - 1);
    expect(said).toEqual([]);
    await clock.advance(STEP);
    expect(said).toEqual(["timeout_error: The provider did not begin to answer in time."]);
    await clock.advance(1_000 * SECOND);
    expect(said).toHaveLength(1);
  });

  test("60 seconds of silence in mid-answer", async () => {
    const { clock, said, begin } = open();
    begin();
    await clock.advance(60 * SECOND - 1);
    expect(said).toEqual([]);
    await clock.advance(STEP);
    expect(said).toEqual(["timeout_error: The provider went silent in mid-answer."]);
  });

  test("60 seconds of silence since an answer began, however late that was, or after which other one", async () => {
    const { clock, said, begin, fail } = open();
    await clock.advance(100 * SECOND);
    begin();
    await clock.advance(10 * SECOND);
    fail();
    await clock.advance(5 * SECOND);
    begin();
    await clock.advance(60 * SECOND - 1);
    expect(said).toEqual([]);
    await clock.advance(STEP);
    expect(said).toEqual(["timeout_error: The provider went silent in mid-answer."]);
  });

  test("300 seconds of keep-alives without content", async () => {
    const { said, begin, feed } = open();
    begin();
    await feed(290 * SECOND, false);
    expect(said).toEqual([]);
    await feed(20 * SECOND, false);
    expect(said).toEqual(["timeout_error: The provider sent nothing but keep-alives."]);
  });

  test("600 seconds in all, however lively", async () => {
    const { said, begin, feed } = open();
    begin();
    await feed(590 * SECOND, true);
    expect(said).toEqual([]);
    await feed(20 * SECOND, true);
    expect(said).toEqual(["timeout_error: The answer took longer than a stream may."]);
  });

  test("a client that takes nothing for 60 seconds", async () => {
    const { watch, clock, said, begin } = open();
    begin();
    watch.clientWants(false);
    await clock.advance(60 * SECOND - 1);
    expect(said).toEqual([]);
    await clock.advance(STEP);
    expect(said).toEqual(["stalled"]);
  });

  test("none of them after the end", async () => {
    const { watch, clock, said, keptAlive } = open();
    watch.stop();
    await clock.advance(2_000 * SECOND);
    expect([said, keptAlive()]).toEqual([[], 0]);
  });
});

describe("a client that waits", () => {
  test("is sent a keep-alive for every 15 quiet seconds", async () => {
    const { clock, keptAlive } = open();
    await clock.advance(15 * SECOND - 1);
    expect(keptAlive()).toBe(0);
    await clock.advance(1);
    expect(keptAlive()).toBe(1);
    await clock.advance(30 * SECOND);
    expect(keptAlive()).toBe(3);
  });

  test("is sent none while bytes come", async () => {
    const { begin, feed, keptAlive } = open();
    begin();
    await feed(100 * SECOND, true);
    expect(keptAlive()).toBe(0);
  });

  test("is sent none while it takes nothing", async () => {
    const { watch, clock, begin, keptAlive } = open();
    begin();
    watch.clientWants(false);
    await clock.advance(45 * SECOND);
    expect(keptAlive()).toBe(0);
  });
});

test("time in which the client took nothing is not the provider's silence", async () => {
  const { watch, clock, said, begin } = open();
  begin();
  watch.clientWants(false);
  await clock.advance(58 * SECOND);
  watch.clientWants(true);
  await clock.advance(10 * SECOND);
  expect(said).toEqual([]);
});

test("a client that takes nothing is left behind also when the stream's whole time has passed meanwhile", async () => {
  const { watch, clock, said, begin, feed } = open();
  begin();
  await feed(590 * SECOND, true);
  watch.clientWants(false);
  await clock.advance(60 * SECOND - 1);
  expect(said).toEqual(["timeout_error: The answer took longer than a stream may."]);
  await clock.advance(STEP);
  expect(said.slice(1)).toEqual(["stalled"]);
  await clock.advance(2_000 * SECOND);
  expect(said).toHaveLength(2);
});
