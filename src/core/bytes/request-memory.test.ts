import { expect, test } from "bun:test";
import { createRequestMemory, JSON_FACTOR, type RequestMemory } from "./request-memory.ts";

/** How many requests of `bytes` an owner gets in. */
function fill(memory: RequestMemory, owner: string, bytes: number): number {
  let count = 0;
  while (memory.open(owner).take(bytes)) count += 1;
  return count;
}

test("one owner gets about half, the next half of the rest, and there is always room for one more", () => {
  const memory = createRequestMemory(() => 1_000);
  const counts = ["a", "b", "c", "d"].map((owner) => fill(memory, owner, 10));
  expect(counts).toEqual([50, 25, 13, 6]);
  expect(memory.taken()).toBe(940);
});

test("an owner that holds nothing takes all that is free at once, but no more", () => {
  const memory = createRequestMemory(() => 1_000);
  expect(memory.open("a").take(600)).toBe(true);
  expect(memory.open("a").take(1)).toBe(false);
  expect(memory.open("b").take(401)).toBe(false);
  expect(memory.open("b").take(400)).toBe(true);
  expect(memory.open("c").take(1)).toBe(false);
});

test("what comes in pieces gets as much as what comes at once", () => {
  const memory = createRequestMemory(() => 1_000);
  memory.open("a").take(100);
  const share = memory.open("b");
  let held = 0;
  while (share.take(10)) held += 10;
  expect(held).toBe(900);
});

test("a request that is larger than the whole budget comes when it is alone, piece by piece too", () => {
  const memory = createRequestMemory(() => 100);
  const large = memory.open("a");
  expect([large.take(90), large.take(90), large.take(90)]).toEqual([true, true, true]);
  const other = memory.open("b");
  expect(other.take(1)).toBe(false);
  large.hold(0);
  expect(other.take(1)).toBe(true);
  expect(large.take(100)).toBe(false);
});

test("what is held in place of what was taken is not refused, and counts for the next", () => {
  const memory = createRequestMemory(() => 100);
  const share = memory.open("a");
  share.take(10);
  share.hold(500);
  expect(memory.taken()).toBe(500);
  expect(memory.open("b").take(1)).toBe(false);
  share.hold(20);
  share.hold(20);
  expect(memory.taken()).toBe(20);
  expect(memory.open("b").take(1)).toBe(true);
});

test("an end that comes twice is one, and leaves nothing behind", () => {
  const memory = createRequestMemory(() => 100);
  const shares = Array.from({ length: 10 }, () => memory.open("a"));
  for (const share of shares) share.take(5);
  for (const share of [...shares, ...shares]) share.hold(0);
  expect(memory.taken()).toBe(0);
  expect(fill(memory, "a", 10)).toBe(5);
});

test("requests are counted while they hold anything, a single byte too", () => {
  const memory = createRequestMemory(() => 100);
  const [one, other] = [memory.open("a"), memory.open("a")];
  const counts = (): number[] => [memory.requests(), memory.owners(), memory.taken(), one.free()];
  expect(counts()).toEqual([0, 0, 0, 100]);
  one.hold(1);
  expect(counts()).toEqual([1, 1, 1, 99]);
  other.hold(40);
  one.hold(3);
  expect(counts()).toEqual([2, 1, 43, 57]);
  other.hold(1);
  one.hold(0);
  expect(counts()).toEqual([1, 1, 1, 99]);
  other.hold(0);
  expect(counts()).toEqual([0, 0, 0, 100]);
});

test("a byte of JSON takes eight of memory", () => {
  expect(JSON_FACTOR).toBe(8);
});

test("a limit that changes holds from the next request on", () => {
  let limit = 100;
  const memory = createRequestMemory(() => limit);
  const share = memory.open("a");
  share.take(60);
  limit = 50;
  expect(memory.open("b").take(1)).toBe(false);
  limit = 200;
  expect(memory.open("b").take(100)).toBe(true);
});

test("an owner is forgotten with the last that it holds", () => {
  const memory = createRequestMemory(() => 1_000);
  const [one, two, other] = [memory.open("a"), memory.open("a"), memory.open("b")];
  for (const share of [one, two, other]) share.take(10);
  const owners = [one, two, other].map((share) => {
    share.hold(0);
    return memory.owners();
  });
  expect(owners).toEqual([2, 1, 0]);
});

test("a part of a share is counted with it, and is held and let go beside the rest", () => {
  const memory = createRequestMemory(() => 100);
  const share = memory.open("a");
  const part = share.openPart();
  share.hold(30);
  part.hold(20);
  expect([memory.taken(), memory.requests()]).toEqual([50, 1]);
  // A request that is alone has room for more than the budget, by its part too.
  expect([part.take(60), memory.taken()]).toEqual([true, 110]);
  expect(memory.open("b").take(1)).toBe(false);
  share.hold(0);
  expect([memory.taken(), memory.requests()]).toEqual([80, 1]);
  expect([share.take(10), memory.taken()]).toEqual([true, 90]);
  part.hold(0);
  expect([memory.taken(), memory.requests()]).toEqual([10, 1]);
  memory.open("b").hold(90);
  expect([part.take(1), memory.taken()]).toEqual([false, 100]);
  share.hold(0);
  part.hold(0);
  expect(memory.owners()).toBe(1);
});
