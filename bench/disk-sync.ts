import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

/** What is written and synced, and how often. */
export interface SyncProbe {
  /** Where: the disk that is measured. */
  readonly folder: string;
  readonly bytes: number;
  readonly writes: number;
}

/** Appends to a new file and syncs each write with fdatasync; returns the milliseconds of each. */
export function measureSyncMs({ folder, bytes, writes }: SyncProbe): number[] {
  const path = join(folder, "sync-probe");
  const file = openSync(path, "w");
  const written = Buffer.alloc(bytes, "x");
  const times = Array.from({ length: writes }, () => {
    const startedAt = performance.now();
    writeSync(file, written);
    fdatasyncSync(file);
    return performance.now() - startedAt;
  });
  closeSync(file);
  rmSync(path);
  return times;
}
