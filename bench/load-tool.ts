import { join } from "node:path";
import type { LoadResult } from "./load-client.ts";
import { runToEnd } from "./processes.ts";

/** One load, by the tool's own options. */
export interface LoadToolCall {
  /** Its name in errors. */
  readonly name: string;
  readonly options: Readonly<Record<string, string | number>>;
  /** The cores it runs on. */
  readonly on: readonly string[];
}

/** Runs the load tool to its end. Throws its output where an answer was wrong. */
export async function runLoadTool({ name, options, on }: LoadToolCall): Promise<LoadResult> {
  const args = Object.entries(options).flatMap(([option, value]) => [`--${option}`, String(value)]);
  const run = await runToEnd({ on, args: [join(import.meta.dir, "load.ts"), ...args] });
  if (run.output === "") throw new Error(`the load tool ended with code ${run.code} and said nothing`);
  const result = JSON.parse(run.output) as LoadResult;
  if (run.code !== 0) throw new Error(`${name}: ${result.errors} errors, the first: ${result.firstError}`);
  return result;
}
