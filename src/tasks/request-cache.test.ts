import { expect, test } from "bun:test";
import { createFakeClock } from "../../test/gateway/fake-clock.ts";
import { createByteBudget, UNCOUNTED_BYTES } from "../core/bytes/byte-budget.ts";
import { createRequestCache } from "./request-cache.ts";

/** More than work may hold uncounted. */
const UNIT = UNCOUNTED_BYTES + 1;

function open(units: number) {
  const memory = createByteBudget(() => units * UNIT);
  const clock = createFakeClock();
  const cache = createRequestCache(memory, clock);
  const keep = (task: string, of = 1): void =>
    cache.keep(task, `request of ${task}`, { bytes: of * UNIT, keptMs: 1_000 });
  return { memory, clock, cache, keep };
}

test("a request is given out once", () => {
  const { cache, keep } = open(3);
  keep("a");
  expect(cache.take("a")).toMatchObject({ payload: "request of a" });
  expect(cache.take("a")).toBeUndefined();
  expect(cache.take("b")).toBeUndefined();
});

test("what has no room is not kept; what was taken makes room", () => {
  const { cache, keep } = open(2);
  for (const task of ["a", "b", "c"]) keep(task);
  cache.take("a");
  keep("d");
  expect(["b", "c", "d"].map((task) => cache.take(task)?.payload)).toEqual([
    "request of b",
    undefined,
    "request of d",
  ]);
});

test("work that needs the room gets it at once: the eldest requests go first", async () => {
  const { cache, keep, memory } = open(4);
  for (const task of ["a", "b", "c", "d"]) keep(task);
  const account = memory.open();
  const { signal } = new AbortController();
  await account.take(2 * UNIT, signal);
  expect(memory.taken()).toBe(2 * UNIT);
  keep("e");
  expect(["a", "b", "c", "d", "e"].filter((task) => cache.take(task) !== undefined)).toEqual(["c", "d"]);
  keep("f", 2);
  await account.take(UNIT, signal);
  expect(cache.take("f")).toBeUndefined();
  account.close();
  keep("g", 4);
  expect(cache.take("g")).toBeDefined();
});

test("a request that no run of this process takes is kept no longer than its task has", async () => {
  const { cache, keep, clock } = open(2);
  keep("a", 2);
  await clock.advance(999);
  keep("b");
  await clock.advance(1);
  keep("c", 2);
  expect(["a", "b", "c"].filter((task) => cache.take(task) !== undefined)).toEqual(["c"]);
  await clock.advance(1_000);
});
