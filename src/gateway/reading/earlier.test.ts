import { expect, test } from "bun:test";
import { createEarlier } from "./earlier.ts";

const bodyOf = (beginning: string, end = ""): Uint8Array =>
  new TextEncoder().encode(beginning.padEnd(512, ".") + "x".repeat(8_000) + end);

test("a body that begins like none before is not kept; the next step of its session is", () => {
  const earlier = createEarlier();
  expect(earlier.of("key", bodyOf("a", "1"))).toBeUndefined();
  expect(earlier.of("key", bodyOf("b", "1"))).toBeUndefined();
  expect(earlier.of("key", bodyOf("a", "2"))).toBeDefined();
});

test("what another key has sent tells nothing, and small bodies and those of nobody are not looked at", () => {
  const earlier = createEarlier();
  earlier.of("key", bodyOf("a"));
  expect(earlier.of("other", bodyOf("a"))).toBeUndefined();
  for (const small of [new Uint8Array(100), new Uint8Array(100)])
    expect(earlier.of("key", small)).toBeUndefined();
  expect(earlier.of(undefined, bodyOf("a"))).toBeUndefined();
  expect(earlier.of(undefined, bodyOf("a"))).toBeUndefined();
});

test("of many beginnings the one that was not used for longest is forgotten", () => {
  const earlier = createEarlier();
  earlier.of("key", bodyOf("first"));
  earlier.of("key", bodyOf("second"));
  for (let i = 0; i < 1_022; i += 1) earlier.of("key", bodyOf(`other ${i}`));
  expect(earlier.of("key", bodyOf("first"))).toBeDefined();
  earlier.of("key", bodyOf("one more"));
  expect(earlier.of("key", bodyOf("second"))).toBeUndefined();
  expect(earlier.of("key", bodyOf("first"))).toBeDefined();
});
