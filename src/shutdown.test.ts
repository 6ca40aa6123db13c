import { expect, test } from "bun:test";
import { createFakeClock } from "../test/gateway/fake-clock.ts";
import { createShutdown, type EndSignal } from "./shutdown.ts";

/** A shutdown, what it has done so far, and how its requests end. */
function open(delayMs: number, drainMs = 60_000) {
  const did: string[] = [];
  const clock = createFakeClock();
  const requests = Promise.withResolvers<void>();
  const shutdown = createShutdown({
    services: {
      drain: () => void did.push("not ready"),
      endCalls: () => void did.push("calls ended"),
      close: async () => void did.push("closed"),
    },
    listener: {
      drain() {
        did.push("listener closed");
        return requests.promise;
      },
      async stop() {
        did.push("connections ended");
        requests.resolve();
      },
    },
    delayMs,
    drainMs,
    clock,
    flush: () => void did.push("flushed"),
    exit: (code) => void did.push(`exit ${code}`),
  });
  return { did, clock, requests, shutdown: (signal: EndSignal) => void shutdown(signal) };
}

test("after SIGTERM the listener stays open for the time that is set, while it says that it is not ready", async () => {
  const { did, clock, requests, shutdown } = open(5_000);
  shutdown("SIGTERM");
  await clock.advance(4_999);
  expect(did).toEqual(["not ready"]);
  await clock.advance(1);
  expect(did).toEqual(["not ready", "listener closed"]);
  requests.resolve();
  await clock.advance(0);
  expect(did.slice(2)).toEqual(["closed", "flushed", "exit 0"]);
});

for (const [signal, delayMs] of [
  ["SIGINT", 5_000],
  ["SIGHUP", 5_000],
  ["SIGTERM", 0],
] as const) {
  test(`after ${signal} with a delay of ${delayMs} ms the listener closes at once`, () => {
    const { did, shutdown } = open(delayMs);
    shutdown(signal);
    expect(did).toEqual(["not ready", "listener closed"]);
  });
}

test("requests have the time that is set from the moment that the listener closes, then they are ended, then cut", async () => {
  const { did, clock, shutdown } = open(5_000, 20_000);
  shutdown("SIGTERM");
  await clock.advance(24_999);
  expect(did).toEqual(["not ready", "listener closed"]);
  await clock.advance(1);
  expect(did.at(-1)).toBe("calls ended");
  await clock.advance(6_000);
  expect(did.slice(3)).toEqual(["connections ended", "closed", "flushed", "exit 0"]);
});

test("a second signal ends the process at once, during the delay and after it", async () => {
  for (const waitedMs of [0, 6_000]) {
    const { did, clock, shutdown } = open(5_000);
    shutdown("SIGTERM");
    await clock.advance(waitedMs);
    shutdown("SIGTERM");
    expect(did.slice(-2)).toEqual(["flushed", "exit 130"]);
  }
});
