/** A sampled CPU profile as the runtime writes it; only what is read here. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly hitCount?: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      /** From 0. */
      readonly lineNumber: number;
    };
  }[];
}

/** A function and its share of the sampled time at the top of the stack. */
export interface SelfTime {
  readonly name: string;
  readonly samples: number;
  readonly share: number;
}

/**
 * The functions of a profile by their own time, the most first; paths are shortened by `root`. Counted in samples:
 * the time between two of them may be one in which no code of ours ran.
 */
export function selfTimes(profile: CpuProfile, root: string): SelfTime[] {
  const samples = new Map<string, number>();
  let total = 0;
  for (const { callFrame, hitCount = 0 } of profile.nodes) {
    const name = nameOf(callFrame, root);
    samples.set(name, (samples.get(name) ?? 0) + hitCount);
    total += hitCount;
  }
  return Array.from(samples, ([name, count]) => ({ name, samples: count, share: count / Math.max(1, total) }))
    .filter((entry) => entry.samples > 0)
    .sort((a, b) => b.samples - a.samples);
}

function nameOf({ functionName, url, lineNumber }: CpuProfile["nodes"][number]["callFrame"], root: string) {
  const name = functionName === "" ? "(anonymous)" : functionName;
  if (url === "") return `${name} (native)`;
  const path = url.replace(/^file:\/\//, "").replace(`${root}/`, "");
  return `${name} ${path}:${lineNumber + 1}`;
}
