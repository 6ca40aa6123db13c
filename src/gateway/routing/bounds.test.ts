import { describe, expect, test } from "bun:test";
import { seededRandom } from "../../../test/upstream/cuts.ts";
import { type CallBounds, createCallUse } from "./bounds.ts";

describe("the bounds of a credential", () => {
  test("without any, calls never wait", () => {
    const use = createCallUse();
    for (let i = 0; i < 1_000; i += 1) use.begin(i, {});
    expect([use.waitMs(1_000, {}), use.underWay]).toEqual([0, 1_000]);
  });

  test("a call waits for one of those under way, and looks again after a second", () => {
    const use = createCallUse();
    const bounds: CallBounds = { concurrency: 2 };
    use.begin(0, bounds);
    use.begin(0, bounds);
    expect(use.waitMs(0, bounds)).toBe(1_000);
    use.end();
    expect(use.waitMs(0, bounds)).toBe(0);
  });

  test("a call waits until the minute has room, to the millisecond", () => {
    const use = createCallUse();
    const bounds: CallBounds = { requestsPerMinute: 2 };
    for (const atMs of [1_000, 5_000]) {
      expect(use.waitMs(atMs, bounds)).toBe(0);
      use.begin(atMs, bounds);
      use.end();
    }
    expect(use.waitMs(5_000, bounds)).toBe(56_000);
    expect(use.waitMs(60_999, bounds)).toBe(1);
    expect(use.waitMs(61_000, bounds)).toBe(0);
  });

  test("of the two waits the longer counts", () => {
    const use = createCallUse();
    const bounds: CallBounds = { requestsPerMinute: 1, concurrency: 1 };
    use.begin(0, bounds);
    expect(use.waitMs(0, bounds)).toBe(60_000);
    expect(use.waitMs(59_500, bounds)).toBe(1_000);
  });

  test("a changed bound holds at once", () => {
    const use = createCallUse();
    for (let i = 0; i < 5; i += 1) use.begin(i, { requestsPerMinute: 5, concurrency: 5 });
    expect(use.waitMs(10, { requestsPerMinute: 6, concurrency: 6 })).toBe(0);
    expect(use.waitMs(10, { requestsPerMinute: 3, concurrency: 6 })).toBe(59_992);
    expect(use.waitMs(10, {})).toBe(0);
  });

  test("no minute has more calls than are allowed, whenever callers come", () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const random = seededRandom(seed);
      const bounds = { requestsPerMinute: 1 + Math.floor(random() * 30) };
      const use = createCallUse();
      const made: number[] = [];
      for (let nowMs = 0; nowMs < 300_000; nowMs += Math.floor(random() * 2_000)) {
        if (use.waitMs(nowMs, bounds) > 0) continue;
        use.begin(nowMs, bounds);
        made.push(nowMs);
      }
      const most = Math.max(...made.map((at) => made.filter((t) => t > at - 60_000 && t <= at).length));
      expect([seed, most]).toEqual([seed, bounds.requestsPerMinute]);
    }
  });
});
