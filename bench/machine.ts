import { readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem, type } from "node:os";
import { measureSyncMs } from "./disk-sync.ts";
import { spread } from "./rounds.ts";
import type { Cores } from "./cores.ts";

const SYNCED_WRITES = 200;
const WRITTEN_BYTES = 512;
const GIB = 2 ** 30;

/** What the figures were taken on, one line each; the disk's speed is measured in the given folder. */
export function describeMachine(folder: string, cores: Cores): string[] {
  const all = cpus();
  const sync = spread(measureSyncMs({ folder, bytes: WRITTEN_BYTES, writes: SYNCED_WRITES }));
  const [oneMinute = 0] = loadavg();
  return [
    `CPU: ${all[0]?.model ?? "unknown"}, ${all.length} cores; ${cores.sentence}`,
    `Memory: ${(totalmem() / GIB).toFixed(1)} GiB; load average before the run ${oneMinute.toFixed(2)}`,
    `OS: ${systemName()}, ${type()} ${release()} ${process.arch}; Bun ${Bun.version}`,
    `Disk: write + fdatasync of ${WRITTEN_BYTES} bytes in ${folder}: median ${us(sync.median)}, ${us(sync.min)}–${us(sync.max)} (${SYNCED_WRITES} writes)`,
  ];
}

function systemName(): string {
  try {
    return /^PRETTY_NAME="(.*)"$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? process.platform;
  } catch {
    return process.platform;
  }
}

function us(ms: number): string {
  return `${(ms * 1_000).toFixed(0)} µs`;
}
