import { describe, expect, test } from "bun:test";
import { type CallEnd, createBreaker } from "./breaker.ts";

/** A breaker with a clock of its own. `jitter` is the byte that all randomness is made of. */
function breakerOf({ failures = 3, ms = 10_000, jitter = 0 } = {}) {
  const breaker = createBreaker();
  const terms = {
    settings: { breakerFailures: failures, breakerMs: ms },
    random: { bytes: (count: number) => new Uint8Array(count).fill(jitter) },
  };
  let nowMs = 1_000_000;
  const end = (began: number, how: CallEnd): void => breaker.end(began, how, nowMs, terms);
  return {
    breaker,
    begin: (): number => breaker.begin(nowMs),
    end,
    pass: (ms: number): void => void (nowMs += ms),
    waitMs: (): number => breaker.waitMs(nowMs),
    /** A call that ends at once. */
    call: (how: CallEnd): void => end(breaker.begin(nowMs), how),
  };
}

describe("a breaker", () => {
  test("opens after so many failures in a row, and a success begins the count anew", () => {
    const { breaker, call, waitMs } = breakerOf();
    for (const how of ["failed", "failed", "ok", "failed", "neutral", "failed"] as const) call(how);
    expect([breaker.isOpen, breaker.failures, waitMs()]).toEqual([false, 2, 0]);
    call("failed");
    expect([breaker.isOpen, breaker.failures, waitMs()]).toEqual([true, 3, 10_000]);
  });

  test("counts a request once, however often it fails there, and opens again where it is half-open", () => {
    const { breaker, call, pass, waitMs } = breakerOf();
    for (const how of ["failed", "failed_again", "failed_again", "failed", "failed_again"] as const)
      call(how);
    expect([breaker.isOpen, breaker.failures]).toEqual([false, 2]);
    call("failed");
    expect([breaker.isOpen, waitMs()]).toEqual([true, 10_000]);
    pass(10_000);
    call("failed_again");
    expect([breaker.isOpen, waitMs()]).toEqual([true, 20_000]);
  });

  test("opens at once for a credential that is not accepted", () => {
    const { call, waitMs } = breakerOf();
    call("refused");
    expect(waitMs()).toBe(10_000);
  });

  test("lets one call through when its time is over, and closes when that succeeds", () => {
    const { breaker, begin, call, end, pass, waitMs } = breakerOf({ failures: 1 });
    call("failed");
    pass(9_999);
    expect(waitMs()).toBe(1);
    pass(1);
    expect([breaker.isOpen, waitMs()]).toEqual([true, 0]);
    const probe = begin();
    expect(waitMs()).toBe(1_000);
    pass(8_000);
    expect(waitMs()).toBe(1_000);
    end(probe, "ok");
    expect([breaker.isOpen, breaker.failures, waitMs()]).toEqual([false, 0, 0]);
  });

  test("lets another one through when the one before has told nothing for as long as it was open", () => {
    const { breaker, begin, call, end, pass, waitMs } = breakerOf({ failures: 1 });
    call("failed");
    pass(10_000);
    call("failed");
    pass(20_000);
    const slow = begin();
    pass(19_999);
    expect(waitMs()).toBe(1);
    pass(1);
    expect([breaker.isOpen, waitMs()]).toEqual([true, 0]);
    const other = begin();
    expect(waitMs()).toBe(1_000);
    end(other, "ok");
    expect([breaker.isOpen, waitMs()]).toEqual([false, 0]);
    end(slow, "neutral");
    expect([breaker.isOpen, breaker.failures]).toEqual([false, 0]);
  });

  describe("that was tried by two calls", () => {
    const tried = () => {
      const parts = breakerOf({ failures: 1 });
      parts.call("failed");
      parts.pass(10_000);
      const older = parts.begin();
      parts.pass(10_000);
      return { ...parts, older, newer: parts.begin() };
    };

    for (const failing of ["older", "newer"] as const)
      test(`is closed by the one that succeeds, though the ${failing} one has failed before`, () => {
        const { breaker, end, waitMs, older, newer, call } = tried();
        end(failing === "older" ? older : newer, "failed");
        expect([breaker.isOpen, waitMs()]).toEqual([true, 20_000]);
        end(failing === "older" ? newer : older, "ok");
        expect([breaker.isOpen, breaker.failures, waitMs()]).toEqual([false, 0, 0]);
        call("failed");
        expect(waitMs()).toBe(10_000);
      });

    test("is open for no longer where both fail, and is told nothing by one that says nothing", () => {
      for (const how of ["failed", "refused", "neutral"] as const) {
        const { breaker, end, waitMs, older, newer } = tried();
        end(older, "failed");
        end(newer, how);
        expect([breaker.isOpen, breaker.failures, waitMs()]).toEqual([true, 2, 20_000]);
      }
    });

    test("is closed by none of them once it has opened for a third time", () => {
      const { breaker, call, end, pass, older, newer } = tried();
      end(older, "failed");
      pass(20_000);
      call("failed");
      end(newer, "ok");
      expect(breaker.isOpen).toBe(true);
    });
  });

  test("lets another call through when the one before has told nothing", () => {
    const { breaker, call, pass, waitMs } = breakerOf({ failures: 1 });
    call("failed");
    pass(10_000);
    call("neutral");
    expect([breaker.isOpen, waitMs()]).toEqual([true, 0]);
  });

  const opened = (ms: number): number[] => {
    const { call, pass, waitMs } = breakerOf({ failures: 1, ms });
    return Array.from({ length: 5 }, () => {
      call("failed");
      const waited = waitMs();
      pass(waited);
      return waited;
    });
  };

  test("that fails again is open for twice as long, up to a minute, or as long as the operator says", () => {
    expect(opened(10_000)).toEqual([10_000, 20_000, 30_000, 30_000, 30_000]);
    expect(opened(50_000)).toEqual([50_000, 50_000, 50_000, 50_000, 50_000]);
    expect(opened(90_000)).toEqual([90_000, 90_000, 90_000, 90_000, 90_000]);
  });

  test("that closed is open for the first time again", () => {
    const { call, pass, waitMs } = breakerOf({ failures: 1 });
    call("failed");
    pass(10_000);
    call("failed");
    pass(20_000);
    call("ok");
    call("failed");
    expect(waitMs()).toBe(10_000);
  });

  test("that a probe closes opens again with the next failure, for twice as long, until a call succeeds", () => {
    const { breaker, call, end, waitMs } = breakerOf();
    call("refused");
    end(breaker.count, "found");
    expect([breaker.isOpen, breaker.failures, waitMs()]).toEqual([false, 2, 0]);
    call("failed");
    expect([breaker.isOpen, waitMs()]).toEqual([true, 20_000]);
    end(breaker.count, "found");
    call("ok");
    call("refused");
    expect([breaker.failures, waitMs()]).toEqual([1, 10_000]);
  });

  test("that is closed counts its failures whatever probes find", () => {
    const { breaker, call, end } = breakerOf();
    call("failed");
    end(breaker.count, "found");
    expect([breaker.isOpen, breaker.failures]).toEqual([false, 1]);
  });

  test("does not listen to probes that began before it opened", () => {
    const { breaker, call, end, waitMs } = breakerOf({ failures: 1 });
    const noted = breaker.count;
    call("failed");
    end(noted, "found");
    expect(waitMs()).toBe(10_000);
  });

  test("is open for up to a tenth longer", () => {
    const { call, waitMs } = breakerOf({ jitter: 255 });
    call("refused");
    expect(waitMs()).toBe(11_000);
  });

  test("does not listen to calls that began before it opened", () => {
    const { begin, call, end, pass, waitMs } = breakerOf({ failures: 1 });
    const [slow, slower] = [begin(), begin()];
    call("failed");
    end(slow, "ok");
    expect(waitMs()).toBe(10_000);
    pass(10_000);
    const probe = begin();
    end(slower, "failed");
    expect(waitMs()).toBe(1_000);
    end(probe, "ok");
    expect(waitMs()).toBe(0);
  });
});
