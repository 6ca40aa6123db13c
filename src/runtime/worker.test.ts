import { expect, test } from "bun:test";
import { createStandby } from "./worker.ts";

/** Threads that count their starts. */
function open() {
  const starts = new Int32Array(new SharedArrayBuffer(4));
  const file = new URL("../../test/gateway/counting-thread.ts", import.meta.url);
  const started = async (count: number): Promise<void> => {
    while (Atomics.load(starts, 0) < count) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  return {
    threads: createStandby<"ask" | "end", number>(file, starts),
    started,
    count: () => Atomics.load(starts, 0),
  };
}

test("a thread that stands by has started before there is work, and the next takes its place", async () => {
  const { threads, started, count } = open();
  threads.standBy();
  await started(1);
  expect(await threads.run("ask")).toBe(1);
  await started(2);
  expect(await threads.run("ask")).toBe(2);
  await started(3);
  expect(count()).toBe(3);
});

test("work at once is done on threads of its own, and one stands by afterwards", async () => {
  const { threads, started } = open();
  threads.standBy();
  await started(1);
  const numbers = await Promise.all([threads.run("ask"), threads.run("ask"), threads.run("ask")]);
  expect([numbers.includes(1), new Set(numbers).size]).toEqual([true, 3]);
  await started(4);
  expect(numbers).not.toContain(await threads.run("ask"));
});

test("a thread that ends without an answer is said to have ended, and the next works", async () => {
  const { threads, started } = open();
  threads.standBy();
  await started(1);
  const ended = await threads.run("end").catch((error: Error) => error.message);
  expect(ended).toMatch(/^The thread ended: [^]*told to end/);
  expect(await threads.run("ask")).toBe(2);
});

test("without standing by a thread starts with its work, and none after it", async () => {
  const { threads, count } = open();
  expect(count()).toBe(0);
  expect(await threads.run("ask")).toBe(1);
  expect(await threads.run("ask")).toBe(2);
  expect(count()).toBe(2);
});
