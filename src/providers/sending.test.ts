import { type AddressInfo, createServer, type Socket } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createFakeClock, type FakeClock } from "../../test/gateway/fake-clock.ts";
import { jsonAnswer } from "../../test/upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../../test/upstream/double.ts";
import { gateAt } from "../../test/upstream/faults.ts";
import { createGate } from "../../test/upstream/gate.ts";
import { type OutOfReach, startBlackHole, startSilent } from "../../test/upstream/out-of-reach.ts";
import { handOver } from "../core/handover.ts";
import { GatewayError } from "../core/errors.ts";
import type { Hold } from "../core/money/hold.ts";
import { callFault, callUpstream } from "./upstream.ts";

const hold = {} as Hold;
const LARGE = 20_000_000;
const BEGINNING = 100_000;

let double: UpstreamDouble;
let silent: OutOfReach;
let clock: FakeClock;
beforeAll(async () => {
  double = await startUpstreamDouble();
  silent = await startSilent();
});
afterAll(async () => {
  await double.close();
  silent.close();
});
beforeEach(() => {
  double.reset();
  double.handle(() => jsonAnswer(200, { ok: true }));
  clock = createFakeClock();
});

/** A call whose end is noted. */
function call(provider: { baseUrl: string }, bytes = 100) {
  const controller = new AbortController();
  const seen: { end: string | undefined; sent: number } = { end: undefined, sent: 0 };
  const ended = callUpstream(hold, {
    provider: Object.assign(provider, { headers: {} }),
    path: "/a",
    headers: {},
    body: handOver([new Uint8Array(bytes)]),
    onSent: () => (seen.sent += 1),
    stream: false,
    signal: controller.signal,
    limits: { clock, connectMs: 5_000, writeMs: 60_000 },
  }).then(
    ({ status }) => (seen.end = String(status)),
    (error: unknown) =>
      (seen.end =
        error instanceof GatewayError
          ? `${error.kind}, ${callFault(error)}: ${error.message}`
          : String(error)),
  );
  return { seen, ended, abort: (reason: Error) => controller.abort(reason) };
}

const UNCONNECTED = "timeout_error, not_sent: The provider could not be connected to in time.";

describe("a provider that cannot be connected to", () => {
  const ways = [
    ["whose packets are dropped", "http", startBlackHole],
    ["whose TLS handshake stalls", "https", startSilent],
  ] as const;
  for (const [name, scheme, start] of ways)
    // Only Linux drops attempts beyond its queue.
    test.skipIf(process.platform !== "linux")(
      `${name} is given up at the limit, and was sent nothing`,
      async () => {
        const server = await start();
        const { seen, ended } = call({ baseUrl: `${scheme}://127.0.0.1:${server.port}` });
        await server.tried();
        await clock.advance(4_999);
        expect(seen.end).toBeUndefined();
        await clock.advance(1);
        expect(await ended).toBe(UNCONNECTED);
        server.close();
      },
    );

  test("is given up by its caller before that", async () => {
    const { ended, abort } = call({ baseUrl: `https://127.0.0.1:${silent.port}` });
    abort(new Error("left"));
    expect(await ended).toBe("Error: left");
    expect(clock.timers()).toBe(0);
  });

  test("after it has answered is noticed when a call went without an answer for the limit", async () => {
    const provider = { baseUrl: double.url };
    expect(await call(provider).ended).toBe("200");
    provider.baseUrl = `https://127.0.0.1:${silent.port}`;
    const first = call(provider);
    await clock.advance(5_000);
    // The connection may have been one that was kept, so this one may have been sent.
    expect(first.seen.end).toBeUndefined();
    const second = call(provider);
    await clock.advance(5_000);
    expect(await second.ended).toBe(UNCONNECTED);
    provider.baseUrl = double.url;
    expect(await call(provider).ended).toBe("200");
    first.abort(new Error("left"));
    expect(await first.ended).toBe("Error: left");
  });

  test("after it has not been asked for longer than connections are kept is noticed at once", async () => {
    const provider = { baseUrl: double.url };
    expect(await call(provider).ended).toBe("200");
    await clock.advance(360_000);
    provider.baseUrl = `https://127.0.0.1:${silent.port}`;
    const { ended } = call(provider);
    await clock.advance(5_000);
    expect(await ended).toBe(UNCONNECTED);
  });

  test("because it breaks off the TLS handshake was sent nothing", async () => {
    const server = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: { open() {}, data: (socket) => socket.terminate() },
    });
    expect(await call({ baseUrl: `https://127.0.0.1:${server.port}` }).ended).toStartWith(
      "upstream_error, not_sent:",
    );
    server.stop(true);
  });
});

test("a provider that is connected has as long as its caller gives it", async () => {
  const gate = createGate();
  double.handle(() => gateAt(jsonAnswer(200, {}), "start", gate));
  const { seen, ended } = call({ baseUrl: double.url });
  await double.waitForRequest(1);
  await clock.advance(600_000);
  expect(seen.end).toBeUndefined();
  gate.release();
  expect(await ended).toBe("200");
  expect(clock.timers()).toBe(0);
});

/** A server that reads the beginning of a large request, then nothing until it is told to. */
async function startPausing() {
  const begun = Promise.withResolvers<Socket>();
  let read = 0;
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", ({ length }) => {
      const before = read;
      read += length;
      if (before < BEGINNING && read >= BEGINNING) begun.resolve(socket.pause());
      if (read > LARGE) socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { baseUrl: `http://127.0.0.1:${port}`, begun: begun.promise, close: () => server.close() };
}

describe("a provider that stops reading a large request", () => {
  test("is given up a minute after it took the last of it, and cannot have taken the request", async () => {
    const { begun, close, ...provider } = await startPausing();
    const { seen, ended } = call(provider, LARGE);
    const socket = await begun;
    await clock.advance(59_999);
    expect(seen.end).toBeUndefined();
    // The kernel may still have taken a piece by now, from which the minute counts anew.
    while (seen.end === undefined) await clock.advance(60_000);
    expect(await ended).toBe("timeout_error, not_sent: The provider did not take the request in time.");
    expect(seen.sent).toBe(1);
    expect(clock.timers()).toBe(0);
    socket.destroy();
    close();
  });

  test("and goes on within a minute gets all of it", async () => {
    const { begun, close, ...provider } = await startPausing();
    const { ended } = call(provider, LARGE);
    const socket = await begun;
    await clock.advance(59_000);
    socket.resume();
    expect(await ended).toBe("200");
    expect(clock.timers()).toBe(0);
    close();
  });
});
