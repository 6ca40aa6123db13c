import { describe, expect, test } from "bun:test";
import { createFakeClock, type FakeClock } from "../../../test/gateway/fake-clock.ts";
import { createLease, type Lease } from "./lease.ts";

const LEASE_MS = 30_000;
const granted = async (): Promise<{ readonly ok: boolean }> => ({ ok: true });

function open(): { readonly clock: FakeClock; readonly lease: Lease; overAt(): number | undefined } {
  const clock = createFakeClock(0);
  let at: number | undefined;
  const lease = createLease(clock, () => (at = clock.steadyMs()));
  return { clock, lease, overAt: () => at };
}

describe("a lease is over at its very moment, counted from before it was asked for", () => {
  test("when it was given once", async () => {
    const { clock, lease, overAt } = open();
    const asked = lease.extend(LEASE_MS, async () => {
      await clock.advance(1_000);
      return granted();
    });
    await asked;
    await clock.advance(LEASE_MS - 1_001);
    expect(overAt()).toBeUndefined();
    await clock.advance(1);
    expect(overAt()).toBe(LEASE_MS);
  });

  test("when it was lengthened", async () => {
    const { clock, lease, overAt } = open();
    await lease.extend(LEASE_MS, granted);
    await clock.advance(10_000);
    await lease.extend(LEASE_MS, granted);
    await clock.advance(LEASE_MS - 1);
    expect(overAt()).toBeUndefined();
    await clock.advance(1);
    expect(overAt()).toBe(10_000 + LEASE_MS);
  });

  test("whatever was refused or failed since", async () => {
    const { clock, lease, overAt } = open();
    await lease.extend(LEASE_MS, granted);
    await clock.advance(10_000);
    await lease.extend(LEASE_MS, async () => ({ ok: false }));
    await lease.extend(LEASE_MS, () => Promise.reject(new Error("away"))).catch(() => {});
    await clock.advance(LEASE_MS - 10_001);
    expect(overAt()).toBeUndefined();
    await clock.advance(1);
    expect(overAt()).toBe(LEASE_MS);
  });
});

test("a lease that nobody needs any more is never over", async () => {
  const { clock, lease, overAt } = open();
  await lease.extend(LEASE_MS, granted);
  lease.end();
  await lease.extend(LEASE_MS, granted);
  await clock.advance(3 * LEASE_MS);
  expect(overAt()).toBeUndefined();
});
