import { descriptorCount, descriptorLimit } from "./descriptors.ts";

/** What this process uses of its machine. */
export interface ProcessFigures {
  readonly startedAtSec: number;
  /** The runtime's name and version. */
  readonly runtime: string;
  cpuSec(): number;
  residentBytes(): number;
  /** Descriptors that are open, and that may be; `undefined` where the system does not tell. */
  openDescriptors(): number | undefined;
  readonly mostDescriptors: number | undefined;
}

/** The figures of this process; each takes a few microseconds to read. */
export function createProcessFigures(): ProcessFigures {
  const mostDescriptors = descriptorLimit();
  const count = mostDescriptors === undefined ? undefined : descriptorCount(mostDescriptors);
  return {
    startedAtSec: performance.timeOrigin / 1_000,
    runtime: `bun ${process.versions.bun}`,
    cpuSec() {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
    residentBytes: () => process.memoryUsage.rss(),
    openDescriptors: () => count?.(),
    mostDescriptors,
  };
}
