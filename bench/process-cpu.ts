import { dlopen, ptr } from "bun:ffi";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** A thread and the CPU time it has used since it began. */
export interface ThreadCpu {
  readonly name: string;
  readonly seconds: number;
}

const NANOSECONDS_PER_SECOND = 1e9;

/** The clock of CPU time of a process and all its threads, as clock_getcpuclockid(3) makes its number. */
const CPUCLOCK_SCHED = 2;
const seconds = new BigInt64Array(2);
let libc: ReturnType<typeof openLibc> | undefined;

/**
 * The CPU time of a process so far, user and system, of all its threads, also of those that have ended. To the
 * nanosecond: /proc counts in hundredths of a second, which is too coarse for a load that leaves the process idle.
 */
export function processCpuSeconds(pid: number): number {
  libc ??= openLibc();
  if (libc.symbols.clock_gettime((~pid << 3) | CPUCLOCK_SCHED, ptr(seconds)) !== 0)
    throw new Error(`process ${pid} has no CPU clock: CPU time is measured on Linux, of a process that runs`);
  return Number(seconds[0]) + Number(seconds[1]) / NANOSECONDS_PER_SECOND;
}

function openLibc() {
  return dlopen("libc.so.6", { clock_gettime: { args: ["i32", "ptr"], returns: "i32" } });
}

/** The CPU time of each living thread of a process, the busiest first; threads of one name are added up. */
export function threadCpuSeconds(pid: number): ThreadCpu[] {
  const folder = `/proc/${pid}/task`;
  const seconds = new Map<string, number>();
  for (const id of readdirSync(folder)) {
    const name = readFileSync(join(folder, id, "comm"), "utf8").trim();
    const used = parseRunSeconds(readFileSync(join(folder, id, "schedstat"), "utf8"));
    seconds.set(name, (seconds.get(name) ?? 0) + used);
  }
  const threads = Array.from(seconds, ([name, seconds]) => ({ name, seconds }));
  return threads.sort((a, b) => b.seconds - a.seconds);
}

/** The time on a CPU from the text of /proc/<pid>/task/<id>/schedstat. */
export function parseRunSeconds(schedstat: string): number {
  return Number(schedstat.split(" ")[0]) / NANOSECONDS_PER_SECOND;
}
