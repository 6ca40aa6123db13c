import { describe, expect, test } from "bun:test";
import { createListFacts, isKept } from "./kept.ts";
import { createKnownValueStore } from "./known-values.ts";
import { readKnown } from "./read-known.ts";

const BOUNDS = { depth: 64, values: 200_000 };
const encoder = new TextEncoder();
const parse = (bytes: Uint8Array): unknown => JSON.parse(Buffer.from(bytes).toString());

/** The texts of one owner, which are lists of messages. */
function openSession() {
  const store = createKnownValueStore(1_000_000);
  const owner = store.of("key");
  const read = (text: string) => readKnown(encoder.encode(text), BOUNDS, owner, parse)?.value;
  return {
    read,
    readList: (items: readonly object[]) =>
      read(JSON.stringify({ messages: items }))?.messages as readonly object[],
    keptOf: (name: string) => owner.named(name),
    bytes: () => store.bytes,
  };
}

const item = (name: string, length = 1_200): object => ({ name, content: "x".repeat(length) });
const items = (names: string): object[] => Array.from(names, (name) => item(name));

/** Which items of a list are the very objects of an earlier one; `-` for each that is not. */
function sameOf(list: readonly { name?: string }[], ...earlier: (readonly object[])[]): string {
  return list.map((one) => (earlier.some((other) => other.includes(one)) ? one.name : "-")).join("");
}

describe("items of an earlier list are found", () => {
  const cases = [
    { name: "one alone", before: "a", after: "ab", same: "a-" },
    { name: "the last one behind a new one", before: "abc", after: "axc", same: "a-c" },
    { name: "behind a first one that is new", before: "abc", after: "xabc", same: "-abc" },
    { name: "one step on, where none was missed", before: "abcdef", after: "ac", same: "ac" },
    { name: "but not two", before: "abcdef", after: "ad", same: "a-" },
    { name: "two steps on, where one was missed", before: "abcdef", after: "axd", same: "a-d" },
    { name: "but not three", before: "abcdef", after: "axe", same: "a--" },
    {
      name: "and again one step on behind one that was found",
      before: "abcdef",
      after: "axbd",
      same: "a-bd",
    },
    { name: "but not two behind that", before: "abcdef", after: "axbe", same: "a-b-" },
    { name: "eight steps on", before: "abcdefghijk", after: "a12345678j", same: "a--------j" },
    { name: "but never nine", before: "abcdefghijk", after: "a123456789k", same: "a----------" },
  ];
  for (const { name, before, after, same } of cases)
    test(`${name}: of ${before} in ${after}`, () => {
      const session = openSession();
      const earlier = session.readList(items(before));
      expect(sameOf(session.readList(items(after)), earlier)).toBe(same);
    });

  test("in the list that begins most like it, also where another was used since", () => {
    for (const [after, same] of [
      ["aw", "a-"],
      ["abw", "ab-"],
    ] as const) {
      const session = openSession();
      const [first = [], last = []] = ["abc", "xyz"].map((names) => session.readList(items(names)));
      expect(sameOf(session.readList(items(after)), first, last)).toBe(same);
    }
  });

  test("in the list that was used last, where none begins like it", () => {
    const session = openSession();
    const [first = [], last = []] = ["abc", "xyz"].map((names) => session.readList(items(names)));
    expect(sameOf(session.readList(items("wxyz")), first, last)).toBe("-xyz");
  });
});

test("white space before known items counts, though there is none within them", () => {
  const session = openSession();
  const [a, b, c] = items("abc").map((one) => JSON.stringify(one));
  const compactOf = (text: string) =>
    readKnown(encoder.encode(text), BOUNDS, { named: session.keptOf, keep: () => {} }, parse)?.shape
      .isCompact;
  session.read(`{"messages":[${a},${b?.replace(":", ": ")}]}`);
  expect(compactOf(`{"messages":[${a},${c}]}`)).toBe(true);
  expect(compactOf(`{"messages":[ ${a},${c}]}`)).toBe(false);
});

describe("a value that is kept", () => {
  const isKeptAs = (text: string): boolean => {
    const session = openSession();
    session.read(`{"filler":"${"f".repeat(900)}","a":${text}}`);
    return session.keptOf("a").length === 1;
  };

  test("is a text, an object or a list of at least 1,024 bytes, and no number", () => {
    const filled = (before: string, after: string, length: number): string =>
      before + "1".repeat(length - before.length - after.length) + after;
    for (const [before, after] of [
      ['"', '"'],
      ['{"b":"', '"}'],
      ['["', '"]'],
    ] as const)
      expect([1_023, 1_024].map((length) => isKeptAs(filled(before, after, length)))).toEqual([false, true]);
    expect(isKeptAs("1".repeat(2_000))).toBe(false);
  });

  test("has at least eight bytes for each value in it", () => {
    // An object, a list and 201 texts.
    const padded = (length: number): string => {
      const before = `{"b":[${'"12345",'.repeat(200)}"`;
      return `${before}${"1".repeat(length - before.length - 3)}"]}`;
    };
    expect([203 * 8 - 1, 203 * 8].map((length) => isKeptAs(padded(length)))).toEqual([false, true]);
  });

  test("has at least sixteen bytes for each item of a list", () => {
    const padded = (less: number): string => `[${'"1234567890123",'.repeat(99)}"${"1".repeat(13 - less)}"]`;
    expect([1, 2].map((less) => [padded(less).length, isKeptAs(padded(less))])).toEqual([
      [1_600, true],
      [1_599, false],
    ]);
  });

  test("is kept whatever else is in the text", () => {
    const session = openSession();
    session.read(`{"zeros":[${"0,".repeat(2_000)}0],"a":[${JSON.stringify(item("a"))}]}`);
    expect([session.keptOf("zeros"), session.keptOf("a")].map(({ length }) => length)).toEqual([0, 1]);
  });

  test("is kept once, however often it comes", () => {
    const session = openSession();
    const text = JSON.stringify({ a: item("a"), b: "b".repeat(2_000), c: [item("c")] });
    const first = session.read(text);
    const bytes = session.bytes();
    const again = session.read(text);
    expect(again).toEqual(first);
    expect(["a", "c"].map((name) => again?.[name] === first?.[name])).toEqual([true, true]);
    expect(["a", "b", "c"].map((name) => session.keptOf(name).length)).toEqual([1, 1, 1]);
    expect(session.bytes()).toBe(bytes);
  });

  test("is a list of objects only where all its items are objects, and there are some", () => {
    const session = openSession();
    const digits = "1".repeat(2_000);
    session.read(
      `{"a":[${digits}],"b":[${" ".repeat(2_000)}],"c":["${digits}"],"d":[${JSON.stringify(item("d"))}]}`,
    );
    expect(["a", "b", "c", "d"].map((name) => session.keptOf(name)[0]?.items?.starts)).toEqual([
      undefined,
      undefined,
      undefined,
      [1],
    ]);
    expect(session.read(`{"a":[${digits}2]}`)).toEqual({ a: [Number(`${digits}2`)] });
  });

  test("is marked as one that comes again, with its items, and a list with its beginning", () => {
    const session = openSession();
    const facts = createListFacts<string>();
    const first = session.readList(items("abc"));
    const whole = session.read(JSON.stringify({ tools: item("t") }));
    expect([first, ...first, whole?.tools as object].map(isKept)).toEqual([true, true, true, true, true]);
    facts.add(first, 3, () => "three");
    const grown = session.readList(items("abcd"));
    expect(grown.map(isKept)).toEqual([true, true, true, true]);
    expect(facts.of(grown)).toEqual({ count: 3, fact: "three" });
    const changed = session.readList(items("axby"));
    expect(changed.map(isKept)).toEqual([true, true, true, true]);
    facts.add(changed, 4, () => "four");
    // It begins with the second of the earlier ones.
    expect(facts.of(session.readList(items("xby")))).toBeUndefined();
  });
});

describe("the memory of a list", () => {
  const roomAfter = (before: readonly object[], after: readonly object[]) => {
    const session = openSession();
    session.readList(before);
    const [earlier] = session.keptOf("messages");
    session.readList(after);
    const all = session.keptOf("messages");
    return { lists: all.length, isTaken: all[0]?.room === earlier?.room, bytes: session.bytes() };
  };
  const lengthOf = (list: readonly object[]): number => JSON.stringify(list).length;

  test("is taken over by one that has grown, as long as it fits", () => {
    const before = items("abcdefgh");
    const room = Math.ceil(lengthOf(before) * 1.25);
    const free = room - lengthOf([...before, item("i", 0)]);
    expect(roomAfter(before, [...before, item("i", free)])).toEqual({ lists: 1, isTaken: true, bytes: room });
    expect(roomAfter(before, [...before, item("i", free + 1)])).toEqual({
      lists: 1,
      isTaken: false,
      bytes: Math.ceil((room + 1) * 1.25),
    });
  });

  test("is at most twice its text", () => {
    const [before, after] = [items("abcdefghij"), items("abcdef")];
    expect(roomAfter(before, after)).toEqual({
      lists: 1,
      isTaken: false,
      bytes: Math.ceil(lengthOf(after) * 1.25),
    });
  });

  test("stays beside that of a new one which has no more than half of its items", () => {
    expect(["abxy", "abcx"].map((names) => roomAfter(items("abcd"), items(names)).lists)).toEqual([2, 1]);
  });
});
