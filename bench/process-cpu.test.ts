import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { parseCpuSeconds, parseRunSeconds, processCpuSeconds, threadCpuSeconds } from "./process-cpu.ts";

const stat = (name: string) => `42 (${name}) S 1 42 42 0 -1 4194304 9 0 0 0 150 25 0 0 20 0 8 0 100 200 300`;

for (const name of ["bun", "HTTP Client", "a) S 1 (b", "()"]) {
  test(`user and system time are found behind the name ${name}`, () => {
    expect(parseCpuSeconds(stat(name))).toBe(1.75);
  });
}

test("a text that is no stat is refused", () => {
  expect(() => parseCpuSeconds("42 (bun) S 1")).toThrow("not as expected");
});

test("the time on a CPU is the first number, in nanoseconds", () => {
  expect(parseRunSeconds("2500000000 41833 2\n")).toBe(2.5);
});

test.skipIf(!existsSync("/proc/self/stat"))("a process and its threads have used some time", () => {
  expect(processCpuSeconds(process.pid)).toBeGreaterThanOrEqual(0);
  expect(threadCpuSeconds(process.pid)[0]?.seconds).toBeGreaterThan(0);
});

test("a process that is not there is named, with what is needed", () => {
  expect(() => processCpuSeconds(2 ** 30)).toThrow(/\/proc\/1073741824\/stat: .*Linux/);
});
