import { readFileSync } from "node:fs";

/** The beginning of a command line that runs a program on certain cores. */
export interface Cores {
  readonly subject: readonly string[];
  readonly others: readonly string[];
  /** How the cores are shared, in a sentence. */
  readonly sentence: string;
}

/** One core for the process that is measured and the rest for the load and the upstream, where this can be done. */
export function shareCores(): Cores {
  const allowed = allowedCores();
  // Interrupts tend to come to the first cores.
  const subject = allowed.at(-1);
  if (Bun.which("taskset") === null || subject === undefined || allowed.length < 2) {
    return { subject: [], others: [], sentence: "not pinned: there is no taskset or only one core" };
  }
  const others = allowed.slice(0, -1).join(",");
  return {
    subject: ["taskset", "-c", String(subject)],
    others: ["taskset", "-c", others],
    sentence: `measured process pinned to core ${subject}, load and upstream to ${others} (taskset)`,
  };
}

/** The numbers in a list of the kernel's such as `0-2,5`. */
export function parseCpuList(list: string): number[] {
  return list
    .trim()
    .split(",")
    .flatMap((range) => {
      const [first = 0, last = first] = range.split("-").map(Number);
      return Array.from({ length: last - first + 1 }, (_, index) => first + index);
    });
}

function allowedCores(): number[] {
  try {
    const status = readFileSync("/proc/self/status", "utf8");
    return parseCpuList(/^Cpus_allowed_list:\s*(\S+)/m.exec(status)?.[1] ?? "0");
  } catch {
    return [0];
  }
}
