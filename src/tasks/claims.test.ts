import { expect, test } from "bun:test";
import { createFakeClock } from "../../test/gateway/fake-clock.ts";
import type { Picked } from "./queue/queue.ts";
import { createClaims } from "./claims.ts";

type Parts = Parameters<typeof createClaims>[0];

test("a task that was given up unasked rests here for ten seconds, to the millisecond", async () => {
  const clock = createFakeClock();
  const parts = {
    clock,
    leaseMs: 30_000,
    storeEngine: "sqlite",
    bootId: "boot_me",
    writer: { submit: async () => ({ ok: true, epoch: 1 }) },
    failpoint: () => {},
    log: { info: () => {}, warn: () => {}, error: () => {} },
  } as unknown as Parts;
  const ended = Promise.withResolvers<void>();
  const claims = createClaims(parts, ended.resolve);
  const task = { id: "img_1", deadlineMs: clock.steadyMs() + 600_000 };
  const claiming = claims.claim({ task, provider: "p", providerLimit: 1 } as unknown as Picked);
  claims.stop("img_1", "shutdown");
  await claiming;
  await ended.promise;
  expect(claims.count()).toBe(0);
  await clock.advance(9_999);
  expect([...claims.unclaimable()]).toEqual(["img_1"]);
  await clock.advance(1);
  expect([...claims.unclaimable()]).toEqual([]);
});
