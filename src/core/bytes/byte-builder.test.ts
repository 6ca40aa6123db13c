import { heapStats } from "bun:jsc";
import { describe, expect, test } from "bun:test";
import { createByteBuilder } from "./byte-builder.ts";

const counting = (length: number, from = 0): Uint8Array => Uint8Array.from({ length }, (_, i) => from + i);

describe("pieces come out as one array", () => {
  // Few bytes are copied one by one, more by the runtime.
  for (const size of [1, 48, 49, 200])
    test(`of ${size} bytes each, whole and in part, beyond the room at the start`, () => {
      const builder = createByteBuilder(4);
      const piece = counting(size);
      builder.add(piece);
      builder.add(piece, 1);
      builder.add(piece, 0, size - 1);
      const whole = [...piece, ...piece.slice(1), ...piece.slice(0, size - 1)];
      expect(builder.length).toBe(whole.length);
      expect([...(builder.take() ?? [])]).toEqual(whole);
    });

  test("that fill the room at the start exactly, or one byte more", () => {
    for (const size of [7, 8, 9]) {
      const builder = createByteBuilder(8);
      builder.add(counting(3));
      builder.add(counting(size - 3, 3));
      expect(builder.take()).toEqual(counting(size));
    }
  });
});

test("a builder begins anew once its bytes are taken, and those stay as they were", () => {
  const builder = createByteBuilder();
  expect([builder.length, builder.take()]).toEqual([0, undefined]);
  builder.add(Uint8Array.of(1));
  const first = builder.take();
  expect([builder.length, builder.take()]).toEqual([0, undefined]);
  builder.add(Uint8Array.of(2, 3));
  expect(builder.take()).toEqual(Uint8Array.of(2, 3));
  expect(first).toEqual(Uint8Array.of(1));
});

test("builders that are used in turns do not write into one another's bytes", () => {
  const [one, other] = [createByteBuilder(4), createByteBuilder(4)];
  for (let i = 0; i < 40; i += 1) {
    one.add(counting(100, i));
    other.add(counting(i + 1, i));
    const taken = one.take();
    one.add(counting(3));
    expect(other.take()).toEqual(counting(i + 1, i));
    expect(taken).toEqual(counting(100, i));
    expect(one.take()).toEqual(counting(3));
  }
});

test("single bytes of two builders stay apart", () => {
  const [one, other] = [createByteBuilder(), createByteBuilder()];
  one.add(Uint8Array.of(1));
  other.add(Uint8Array.of(2));
  one.add(Uint8Array.of(3));
  expect([one.take(), other.take()]).toEqual([Uint8Array.of(1, 3), Uint8Array.of(2)]);
});

test("builders keep little memory for the next ones, however many or large they were", () => {
  const MIB = 1024 ** 2;
  const heldAfter = (builders: number, bytes: number): number => {
    const piece = new Uint8Array(Math.floor(bytes));
    const all = Array.from({ length: builders }, () => createByteBuilder());
    for (const builder of all) builder.add(piece);
    for (const builder of all.splice(0)) builder.take();
    Bun.gc(true);
    return heapStats().extraMemorySize;
  };
  const before = heldAfter(1, 1);
  expect(heldAfter(40, MIB) - before).toBeLessThan(8 * MIB);
  expect(heldAfter(400, MIB / 10) - before).toBeLessThan(8 * MIB);
});

describe("bytes that are lent", () => {
  const lender = counting(9);

  test("come out as they lie there, where they are all there is", () => {
    const builder = createByteBuilder();
    builder.lend(lender, 2, 5);
    expect(builder.length).toBe(3);
    const taken = builder.take();
    expect(taken).toEqual(counting(3, 2));
    expect(taken?.buffer).toBe(lender.buffer);
    expect([builder.length, builder.take()]).toEqual([0, undefined]);
  });

  test("are copied where others stand before or behind them", () => {
    const builder = createByteBuilder();
    builder.lend(lender, 0, 2);
    builder.lend(lender, 2, 4);
    builder.add(lender, 4, 5);
    const first = builder.take();
    expect(first).toEqual(counting(5));
    expect(first?.buffer).not.toBe(lender.buffer);
    builder.add(lender, 0, 1);
    builder.lend(lender, 1, 3);
    expect(builder.take()).toEqual(counting(3));
  });

  test("are none where the span is empty", () => {
    const builder = createByteBuilder();
    builder.lend(lender, 3, 3);
    expect(builder.take()).toBeUndefined();
  });
});
