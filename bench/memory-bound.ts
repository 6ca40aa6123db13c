import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTearDown } from "./teardown.ts";

/** A bound on the memory of a process, where this machine lets one be made. */
export interface MemoryBound {
  /** The beginning of a command line that runs a program within it. */
  readonly on: readonly string[];
  /** The most that its processes have used so far, in bytes; `undefined` where the kernel does not count it. */
  peakBytes(): number | undefined;
  /** The bound in a sentence. */
  readonly sentence: string;
}

/** The names of the files of a memory cgroup, by the kernel's interface. */
const FILES = {
  v1: {
    limit: "memory.limit_in_bytes",
    swap: "memory.memsw.limit_in_bytes",
    peak: "memory.max_usage_in_bytes",
  },
  v2: { limit: "memory.max", swap: "memory.swap.max", peak: "memory.peak" },
} as const;

/** Makes a cgroup of so many bytes below the one that this process is in; it is removed at the tear-down. */
export function boundMemory(bytes: number): MemoryBound {
  for (const version of ["v1", "v2"] as const) {
    const parent = cgroupOf(version);
    if (parent === undefined) continue;
    const folder = join(parent, `switchyard-bench-${process.pid}`);
    const files = FILES[version];
    try {
      mkdirSync(folder);
      onTearDown(() => rmdirSync(folder));
      writeFileSync(join(folder, files.limit), String(bytes));
    } catch {
      continue;
    }
    // Where the kernel has no control of swap, the bound on memory must do.
    tryWrite(join(folder, files.swap), version === "v1" ? String(bytes) : "0");
    return {
      on: ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', folder],
      peakBytes: () => readNumber(join(folder, files.peak)),
      sentence: `the gateway is in a memory cgroup (${version}) of ${Math.round(bytes / 2 ** 20)} MiB`,
    };
  }
  return {
    on: [],
    peakBytes: () => undefined,
    sentence: "the gateway's memory is NOT bounded: no memory cgroup can be made here",
  };
}

/** The folder of the memory cgroup that this process is in. */
function cgroupOf(version: keyof typeof FILES): string | undefined {
  const lines = readFileSync("/proc/self/cgroup", "utf8").split("\n");
  const found = lines
    .map((line) => /^\d+:([^:]*):(.*)$/.exec(line))
    .find((line) => (version === "v1" ? line?.[1]?.split(",").includes("memory") : line?.[1] === ""));
  if (found === null || found === undefined) return undefined;
  return join("/sys/fs/cgroup", version === "v1" ? "memory" : "", found[2] ?? "");
}

function tryWrite(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch {
    // The kernel has no such file, or it cannot be set here.
  }
}

function readNumber(file: string): number | undefined {
  try {
    return Number(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}
