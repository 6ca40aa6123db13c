import { expect, test } from "bun:test";
import { readMemorySection } from "./memory-settings.ts";
import { machineMemory } from "./runtime/machine-memory.ts";

const MIB = 1024 * 1024;

test("bodies get a quarter of the machine's memory, enough for the largest one, or what is set", () => {
  const bodies = (machineMib: number, set: Parameters<typeof readMemorySection>[0] = {}): number =>
    readMemorySection(set, machineMib * MIB).bodiesBytes / MIB;
  expect([bodies(512), bodies(1_024), bodies(4_096), bodies(65_536)]).toEqual([320, 320, 1_024, 16_384]);
  expect([bodies(512, { bodies_mib: 7 }), bodies(65_536, { bodies_mib: 100 })]).toEqual([7, 100]);
});

test("the machine has some memory", () => {
  expect(machineMemory()).toBeGreaterThan(64 * MIB);
  expect(machineMemory()).toBeLessThan(2 ** 50);
});
