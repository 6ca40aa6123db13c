import { expect, test } from "bun:test";
import {
  allItemsAt,
  createKnownValueStore,
  isKnownList,
  itemsAt,
  type KnownList,
  type KnownValue,
  standsAt,
} from "./known-values.ts";

const valueOf = (name: string, text: string): KnownValue => ({
  name,
  bytes: Buffer.from(text),
  value: text,
  isCompact: true,
});

test("one owner's values are not another's, nor those of another name", () => {
  const store = createKnownValueStore(100);
  const value = valueOf("a", "xxx");
  store.of("one").keep(value);
  expect(store.of("one").named("a")).toEqual([value]);
  expect(store.of("one").named("b")).toEqual([]);
  expect(store.of("other").named("a")).toEqual([]);
});

test("what was used last is looked at first, and what was not used for longest is forgotten", () => {
  const store = createKnownValueStore(10);
  const [a, b, c] = ["aaaa", "bbbb", "cccc"].map((text) => valueOf("n", text)) as [
    KnownValue,
    KnownValue,
    KnownValue,
  ];
  const own = store.of("key");
  own.keep(a);
  own.keep(b);
  own.keep(a);
  expect(own.named("n")).toEqual([a, b]);
  store.of("other").keep(c);
  expect(own.named("n")).toEqual([a]);
  expect(store.bytes).toBe(8);
});

test("what is larger than all that may be kept is not kept, and what it stands for goes", () => {
  const store = createKnownValueStore(10);
  const own = store.of("key");
  const before = valueOf("n", "12345678");
  own.keep(before);
  own.keep(valueOf("n", "12345678901"), before);
  expect([store.bytes, own.named("n")]).toEqual([0, []]);
});

test("the store fills up to its limit, and a value above the limit removes no other", () => {
  const store = createKnownValueStore(10);
  const own = store.of("key");
  const [a, b, whole] = ["aaaaa", "bbbbb", "cccccccccc"].map((text) => valueOf("n", text)) as [
    KnownValue,
    KnownValue,
    KnownValue,
  ];
  for (const value of [a, b, valueOf("n", "12345678901")]) own.keep(value);
  expect(own.named("n")).toEqual([b, a]);
  own.keep(whole);
  expect([own.named("n"), store.bytes]).toEqual([[whole], 10]);
});

test("of one name no more are kept than are looked through", () => {
  const store = createKnownValueStore(1_000);
  for (let i = 0; i < 40; i += 1) store.of("key").keep(valueOf("n", String(i + 10)));
  expect(store.of("key").named("n").length).toBe(32);
  expect(store.of("key").named("n")[0]?.value).toBe("49");
  expect(store.bytes).toBe(64);
});

test("items are counted as far as all of them stand there", () => {
  const list: KnownList = { ...valueOf("n", "[aa,bb,cc]"), items: { starts: [1, 4, 7], ends: [3, 6, 9] } };
  const at = (text: string, from: number, offset: number, least?: number): number =>
    itemsAt(list, from, Buffer.from(text), offset, least);
  expect(at("_aa,bb,cc", 0, 1)).toBe(3);
  expect(at("_aa,bb,c", 0, 1)).toBe(2);
  expect(at("_aa,bb,c", 0, 1, 3)).toBe(0);
  expect(at("_aa;bb,cc", 0, 1)).toBe(1);
  expect(at("bb,cc", 1, 0)).toBe(2);
  expect(at("cc", 2, 0)).toBe(1);
  expect(at("cc", 2, 0, 2)).toBe(0);
  expect(at("c", 2, 0)).toBe(0);
  expect([
    standsAt(list, Buffer.from("x[aa,bb,cc]y"), 1),
    standsAt(list, Buffer.from("[aa,bb,cc"), 0),
  ]).toEqual([true, false]);
});

test("a list's items are compared from the first to the last, and not the white space around them", () => {
  const list: KnownList = { ...valueOf("n", "[ aa,bb ]"), items: { starts: [2, 5], ends: [4, 7] } };
  const stand = (text: string): boolean => allItemsAt(list, Buffer.from(text), 1);
  expect(["[aa,bb]", "[aa,bb,cc]", "[aa,bc]", "[ba,bb]", "[aa,b"].map(stand)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
  expect([isKnownList(list), isKnownList(valueOf("n", "7"))]).toEqual([true, false]);
});

test("a long value stands where all of its bytes do: at its beginning, its middle and its end", () => {
  const letters = "x".repeat(6_000);
  const value = valueOf("n", letters);
  const stands = (text: string): boolean => standsAt(value, Buffer.from(text), 1);
  expect(stands(`_${letters}_`)).toBe(true);
  for (const other of [0, 1_000, 3_950, 3_953, 5_000, 5_991, 5_992, 5_999])
    expect([other, stands(`_${letters.slice(0, other)}y${letters.slice(other + 1)}_`)]).toEqual([
      other,
      false,
    ]);
  expect(stands(`_${letters.slice(1)}`)).toBe(false);
});
