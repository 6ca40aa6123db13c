import { percentile } from "../../bench/percentile.ts";

/**
 * Figures of load beside what they should be, printed as one table when all are there. Times are never judged: other work
 * is in them.
 */
export interface LoadTable {
  add(row: string, size: string, figures: string, goal?: string): void;
  print(): void;
}

/** A table without rows. */
export function createLoadTable(): LoadTable {
  const rows: string[] = [];
  return {
    add: (row, size, figures, goal = "") => void rows.push(`| ${row} | ${size} | ${figures} | ${goal} |`),
    print: () => console.log(["| row | at | seen | goal |", "|---|---|---|---|", ...rows].join("\n")),
  };
}

export const mib = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(0)} MiB`;
export const kib = (bytes: number): string => `${(bytes / 1024).toFixed(1)} KiB`;

/** The middle and the worst hundredth of times. */
export function spread(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const ms = (share: number): string => percentile(sorted, share).toFixed(1);
  return `p50 ${ms(0.5)} ms, p99 ${ms(0.99)} ms`;
}
