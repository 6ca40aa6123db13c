import { expect, test } from "bun:test";
import { watchAttention } from "./attention.ts";

test("a reader is away a minute after the last sign, and back with the next one", () => {
  const page = new EventTarget();
  let nowMs = 5_000;
  const attention = watchAttention(page, () => nowMs);
  nowMs += 59_999;
  expect(attention.isAway()).toBe(false);
  nowMs += 1;
  expect(attention.isAway()).toBe(true);
  page.dispatchEvent(new Event("load"));
  expect(attention.isAway()).toBe(true);
  for (const sign of ["keydown", "pointerdown", "wheel", "touchmove"]) {
    page.dispatchEvent(new Event(sign));
    expect([sign, attention.isAway()]).toEqual([sign, false]);
    nowMs += 60_000;
  }
});
