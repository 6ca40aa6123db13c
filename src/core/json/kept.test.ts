import { describe, expect, test } from "bun:test";
import {
  createListFacts,
  createMadeOnce,
  createSeenLists,
  isKept,
  keep,
  keepList,
  makeOnce,
} from "./kept.ts";

const listOf = (count: number): object[] => Array.from({ length: count }, () => ({}));

describe("what is known of a list's first items", () => {
  test("is known of a list that begins with them, as far as that does", () => {
    const facts = createListFacts<string>();
    const first = listOf(6);
    keepList(first, undefined);
    for (let count = 1; count <= 6; count += 1) facts.add(first, count, () => `up to ${count}`);
    expect(facts.of(first)).toEqual({ count: 6, fact: "up to 6" });
    const known = [6, 5, 3, 2].map((count) => {
      const next = [...first.slice(0, count), {}];
      keepList(next, { list: first, count });
      return facts.of(next)?.count;
    });
    // Up to the last four items only.
    expect(known).toEqual([6, 5, 3, undefined]);
  });

  test("is not kept of a list that does not come again, nor found by one that only looks like it", () => {
    const facts = createListFacts<string>();
    const [once, again] = [listOf(2), listOf(2)];
    keepList(again, undefined);
    for (const list of [once, again]) facts.add(list, 2, () => "both");
    expect([facts.of(once), facts.of(again)?.fact, facts.of([...again])]).toEqual([
      undefined,
      "both",
      undefined,
    ]);
  });
});

test("a fact about a list is found out once, also of a list of one item", () => {
  const facts = createListFacts<number>();
  let found = 0;
  const list = listOf(1);
  keepList(list, undefined);
  for (let again = 0; again < 3; again += 1) facts.add(list, 1, () => (found += 1));
  expect([facts.of(list), found]).toEqual([{ count: 1, fact: 1 }, 1]);
});

test("a list forgets its beginning once a later list continues it, so that a session holds no more than two", () => {
  const facts = createListFacts<string>();
  const first = listOf(2);
  keepList(first, undefined);
  facts.add(first, 2, () => "both");
  const second = [...first, {}];
  keepList(second, { list: first, count: 2 });
  expect(facts.of(second)?.fact).toBe("both");
  keepList([...second, {}], { list: second, count: 3 });
  expect(facts.of(second)).toBeUndefined();
});

test("makeOnce makes one thing of an object that is kept, and keeps that too; of any other object it makes a new one", () => {
  const make = makeOnce(({ name }: { name: string }) => ({ made: name }));
  const [again, once] = [keep({ name: "again" }), { name: "once" }];
  expect([isKept(again), isKept(once)]).toEqual([true, false]);
  expect([make(again), make(once)]).toEqual([{ made: "again" }, { made: "once" }]);
  expect(make(again)).toBe(make(again));
  expect(make(once)).not.toBe(make(once));
  expect([make(again), make(once)].map(isKept)).toEqual([true, false]);
  const made = createMadeOnce<object, object>();
  for (const object of [again, once]) made.add(object, { of: object });
  expect([made.get(again), made.get(once)]).toEqual([{ of: again }, undefined]);
});

test("of a list that goes on where one ends that was seen, only the rest is to be looked at", () => {
  const seen = createSeenLists();
  const [first, once] = [listOf(3), listOf(3)];
  keepList(first, undefined);
  for (const list of [first, once]) seen.add(list);
  const next = [...first.slice(0, 2), {}, {}];
  keepList(next, { list: first, count: 2 });
  expect([first, once, next, [...first], "text", undefined].map((list) => seen.count(list))).toEqual([
    3, 0, 2, 0, 0, 0,
  ]);
  const last = [...next, {}];
  keepList(last, { list: next, count: 4 });
  // Nobody has looked at the one between.
  expect(seen.count(last)).toBe(0);
});
