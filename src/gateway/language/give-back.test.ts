import { expect, test } from "bun:test";
import { createFakeClock } from "../../../test/gateway/fake-clock.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Admission } from "./admit.ts";
import { giveBack } from "./give-back.ts";
import type { CallParts } from "./paid-call.ts";

/** A held request, and what the ledger was told of its hold in the order in which it was told. */
function held() {
  const told: unknown[] = [];
  const clock = createFakeClock();
  const hold = { id: "hold_1" };
  const ledger = {
    void: async (...given: unknown[]): Promise<void> => {
      await Promise.resolve();
      told.push(given);
    },
  };
  const parts = { services: { ledger, clock }, hold, heldAtMs: clock.nowMs() } as unknown as CallParts;
  const admission = { provider: { id: "openai" }, admittedAtMs: clock.nowMs() } as unknown as Admission;
  return { told, hold, nowMs: clock.nowMs(), back: giveBack.bind(undefined, parts, admission) };
}

test("a request that cannot be sent after all has its hold given back before its caller hears why", async () => {
  const { told, hold, nowMs, back } = held();
  const why = new GatewayError("overloaded_error", "The store is away.");
  expect(await back(why).catch((error: unknown) => [error, told.length])).toEqual([why, 1]);
  const timeline = { provider: "openai", admittedAtMs: nowMs, heldAtMs: nowMs, firstByteAtMs: null };
  const ending = { outcome: "overloaded_error", timeline: { ...timeline, endedAtMs: nowMs, attempts: [] } };
  expect(told).toEqual([[hold, ending]]);
});
