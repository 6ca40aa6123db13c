import { spawn } from "node:child_process";
import { join } from "node:path";
import type { KeptRequest } from "./kept-client.ts";

/** Requests that come at their own pace, whether those before have been answered or not. */
export interface OpenLoopPlan {
  readonly url: string;
  readonly request: KeptRequest;
  readonly perSecond: number;
  readonly ms: number;
}

/** What became of them. */
export interface OpenLoopResult {
  readonly asked: number;
  /** Answered with a 200. */
  readonly served: number;
  readonly seconds: number;
  /** How long each 503 with a good `Retry-After` took, in milliseconds. */
  readonly refusals: readonly number[];
  /** All other answers, and connections that ended without one. */
  readonly wrong: readonly string[];
}

/**
 * Sends them from a process of its own. The runtime's pauses grow with the connections that a process has ever opened,
 * and a refused request ends its connection. The pauses would be measured as the gateway's.
 */
export async function runOpenLoop(plan: OpenLoopPlan): Promise<OpenLoopResult> {
  const main = join(import.meta.dirname, "open-loop-main.ts");
  const child = spawn(process.execPath, ["--no-install", main, JSON.stringify(plan)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const pieces: Buffer[] = [];
  child.stdout.on("data", (piece: Buffer) => pieces.push(piece));
  const status = await new Promise((resolve) => child.on("close", resolve));
  if (status !== 0) throw new Error(`The client of the load has ended with ${String(status)}.`);
  return JSON.parse(Buffer.concat(pieces).toString()) as OpenLoopResult;
}
