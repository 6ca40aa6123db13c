import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** A thread and the CPU time it has used since it began. */
export interface ThreadCpu {
  readonly name: string;
  readonly seconds: number;
}

// USER_HZ: fixed at 100 in the kernel's interface on every architecture that Bun runs on.
const TICKS_PER_SECOND = 100;
const NANOSECONDS_PER_SECOND = 1e9;

/** The CPU time of a process so far, user and system, of all its threads, also of those that have ended. */
export function processCpuSeconds(pid: number): number {
  return parseCpuSeconds(read(`/proc/${pid}/stat`));
}

/** The CPU time of each living thread of a process, the busiest first; threads of one name are added up. */
export function threadCpuSeconds(pid: number): ThreadCpu[] {
  const folder = `/proc/${pid}/task`;
  const seconds = new Map<string, number>();
  for (const id of readdirSync(folder)) {
    const name = read(join(folder, id, "comm")).trim();
    const used = parseRunSeconds(read(join(folder, id, "schedstat")));
    seconds.set(name, (seconds.get(name) ?? 0) + used);
  }
  const threads = Array.from(seconds, ([name, seconds]) => ({ name, seconds }));
  return threads.sort((a, b) => b.seconds - a.seconds);
}

/** User and system time from the text of /proc/<pid>/stat. */
export function parseCpuSeconds(stat: string): number {
  // The name is in parentheses and may itself hold spaces and parentheses: only the last one ends it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = Number(fields[11]) + Number(fields[12]);
  if (!Number.isFinite(ticks)) throw new Error(`/proc/<pid>/stat is not as expected: ${stat.slice(0, 200)}`);
  return ticks / TICKS_PER_SECOND;
}

/** The time on a CPU from the text of /proc/<pid>/task/<id>/schedstat. */
export function parseRunSeconds(schedstat: string): number {
  return Number(schedstat.split(" ")[0]) / NANOSECONDS_PER_SECOND;
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const message = `cannot read ${path}: CPU time is measured through Linux's /proc, of a process that runs`;
    throw new Error(message, { cause });
  }
}
