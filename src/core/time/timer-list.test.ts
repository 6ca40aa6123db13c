import { expect, test } from "bun:test";
import { createTimerList } from "./timer-list.ts";

/** A list of 100 ms on a clock that is moved by hand; one timer of the runtime's at most. */
function openList() {
  let now = 0;
  let running: { dueMs: number; run: () => void; isKept: boolean } | undefined;
  const said = { starts: 0, idle: 0 };
  const list = createTimerList(100, {
    now: () => now,
    start(delayMs, run) {
      expect(running).toBeUndefined();
      said.starts += 1;
      const started = { dueMs: now + delayMs, run, isKept: true };
      running = started;
      return { ref: () => (started.isKept = true), unref: () => (started.isKept = false) };
    },
    onIdle: () => (said.idle += 1),
  });
  const moveTo = (ms: number): void => {
    while (running !== undefined && running.dueMs <= ms) {
      now = running.dueMs;
      const { run } = running;
      running = undefined;
      run();
    }
    now = ms;
  };
  return { list, said, moveTo, isKept: () => running?.isKept };
}

test("each timer runs once, when it is due and in order, on one of the runtime's", () => {
  const { list, said, moveTo } = openList();
  const ran: string[] = [];
  list.add(() => ran.push("a"));
  moveTo(10);
  list.add(() => ran.push("b"));
  list.add(() => ran.push("c"));
  moveTo(99);
  expect([ran, said.starts]).toEqual([[], 1]);
  moveTo(100);
  expect(ran).toEqual(["a"]);
  moveTo(109);
  expect(ran).toEqual(["a"]);
  moveTo(110);
  expect(ran).toEqual(["a", "b", "c"]);
  moveTo(1_000);
  expect([ran.length, said.starts, said.idle]).toEqual([3, 2, 1]);
});

test("a timer that is cancelled does not run, wherever it stands, and cancelling again does nothing", () => {
  const { list, moveTo } = openList();
  const ran: number[] = [];
  const timers = [0, 1, 2, 3].map((i) => list.add(() => ran.push(i)));
  for (const i of [0, 2]) for (let again = 0; again < 2; again += 1) timers[i]?.cancel();
  moveTo(200);
  for (const timer of timers) timer.cancel();
  expect(ran).toEqual([1, 3]);
  list.add(() => ran.push(4));
  moveTo(300);
  expect(ran).toEqual([1, 3, 4]);
});

test("the process is kept only while a timer waits", () => {
  const { list, said, isKept, moveTo } = openList();
  const first = list.add(() => {});
  expect(isKept()).toBe(true);
  first.cancel();
  expect(isKept()).toBe(false);
  const second = list.add(() => {});
  expect([isKept(), said.starts]).toEqual([true, 1]);
  second.cancel();
  moveTo(100);
  expect([isKept(), said.idle]).toEqual([undefined, 1]);
});

test("a timer may add one, and cancel one that is due with it", () => {
  const { list, moveTo } = openList();
  const ran: string[] = [];
  list.add(() => {
    ran.push("first");
    second.cancel();
    list.add(() => ran.push("third"));
  });
  const second = list.add(() => ran.push("second"));
  moveTo(199);
  expect(ran).toEqual(["first"]);
  moveTo(200);
  expect(ran).toEqual(["first", "third"]);
});

test("a timer that adds one does not make those behind it late", () => {
  const { list, moveTo } = openList();
  const ran: string[] = [];
  list.add(() => {
    ran.push("first");
    list.add(() => ran.push("added"));
  });
  moveTo(30);
  list.add(() => ran.push("second"));
  moveTo(100);
  moveTo(130);
  expect(ran).toEqual(["first", "second"]);
  moveTo(200);
  expect(ran).toEqual(["first", "second", "added"]);
});

test("a timer that throws does not end the others", () => {
  const { list, moveTo } = openList();
  const ran: string[] = [];
  list.add(() => {
    throw new Error("first");
  });
  list.add(() => ran.push("second"));
  expect(() => moveTo(100)).toThrow("first");
  moveTo(101);
  expect(ran).toEqual(["second"]);
});
