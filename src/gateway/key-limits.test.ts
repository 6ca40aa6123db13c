import { expect, test } from "bun:test";
import { createFakeClock } from "../../test/gateway/fake-clock.ts";
import { GatewayError } from "../core/errors.ts";
import type { Limiter } from "../limits/limiter.ts";
import { passKeyLimits } from "./key-limits.ts";

const limits = { requestsPerMinute: 5, tokensPerMinute: null, concurrency: null };

function refusedFor(retryAfterMs: number | null): GatewayError {
  const noted: object[] = [];
  const limiter: Limiter = {
    admit: () => ({ ok: false, limit: "requestsPerMinute", retryAfterMs }),
    look: () => undefined,
    stateOf: () => ({}),
    usedOf: () => limits,
    size: 0,
  };
  try {
    passKeyLimits(
      { limiter, clock: createFakeClock(0) },
      {
        caller: { keyId: "k", limits } as never,
        format: { limitHeaders: () => ({ "x-left": "0" }) },
        record: { note: (fields: object) => noted.push(fields) } as never,
      },
      { input: 7, output: 0 },
    );
  } catch (error) {
    expect(noted).toEqual([{ limit: "requests_per_minute" }]);
    if (error instanceof GatewayError) return error;
  }
  throw new Error("It was let through.");
}

for (const [waitMs, seconds] of [
  [1, 1],
  [999, 1],
  [1_000, 1],
  [1_001, 2],
  [59_999, 60],
  [60_000, 60],
] as const)
  test(`a wait of ${waitMs} ms is told as ${seconds} s, so that who waits as long is let through`, () => {
    const error = refusedFor(waitMs);
    expect([error.kind, error.retryAfterSec, error.headers]).toEqual([
      "rate_limit_error",
      seconds,
      { "retry-after-ms": String(waitMs), "x-left": "0" },
    ]);
    expect(error.message).toEndWith(`Try again in ${seconds} s.`);
  });

test("what no wait helps is told as that, and not to be tried again", () => {
  const error = refusedFor(null);
  expect([error.retryAfterSec, error.headers["x-should-retry"]]).toEqual([undefined, "false"]);
});
