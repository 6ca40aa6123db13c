import { expect, test } from "bun:test";
import { parseRunSeconds, processCpuSeconds, threadCpuSeconds } from "./process-cpu.ts";

const onLinux = process.platform === "linux";

test("the time on a CPU is the first number, in nanoseconds", () => {
  expect(parseRunSeconds("2500000000 41833 2\n")).toBe(2.5);
});

test.skipIf(!onLinux)(
  "a process's CPU time is that of its threads, and as the process itself knows it",
  () => {
    const { user, system } = process.cpuUsage();
    const before = processCpuSeconds(process.pid);
    expect(before).toBeGreaterThanOrEqual((user + system) / 1e6 - 0.01);
    expect(processCpuSeconds(process.pid)).toBeGreaterThan(before);
    expect(threadCpuSeconds(process.pid)[0]?.seconds).toBeGreaterThan(0);
  },
);

test.skipIf(!onLinux)("a process that is not there is named", () => {
  expect(() => processCpuSeconds(2 ** 22 + 1)).toThrow(/process 4194305 has no CPU clock/);
});
