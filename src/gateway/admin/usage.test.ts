import { expect, test } from "bun:test";
import { createFakeClock } from "../../../test/gateway/fake-clock.ts";
import { usageOf, type UsageParts } from "./usage.ts";

const MINUTE = 60_000;

function asking(passesMs: number) {
  const clock = createFakeClock();
  const asked: boolean[] = [];
  const parts = {
    read: (rows: () => Promise<unknown>) => rows(),
    clock,
    thread: {
      async usage({ isOpen }: { readonly isOpen: boolean }) {
        asked.push(isOpen);
        clock.jump(passesMs);
        return new Uint8Array([asked.length]);
      },
    },
  } as unknown as UsageParts;
  const ask = (afterMs?: number) =>
    usageOf(parts, {
      interval: "all",
      groupBy: "none",
      filter: {},
      ...(afterMs === undefined ? {} : { toMs: clock.nowMs() + afterMs }),
    });
  return { ask, asked };
}

test("an end that is still to come after the read leaves nothing out, and none is all there is", async () => {
  for (const afterMs of [undefined, MINUTE]) {
    const { ask, asked } = asking(1);
    expect([...(await ask(afterMs))]).toEqual([1]);
    expect(asked).toEqual([true]);
  }
});

test("an end that has passed bounds what is read, also where it passed during the read", async () => {
  const past = asking(1);
  expect([...(await past.ask(-MINUTE))]).toEqual([1]);
  expect([...(await past.ask(0))]).toEqual([2]);
  expect(past.asked).toEqual([false, false]);
  const passing = asking(MINUTE);
  expect([...(await passing.ask(MINUTE))]).toEqual([2]);
  expect(passing.asked).toEqual([true, false]);
});
