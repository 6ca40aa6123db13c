import { type ChildProcess, spawn } from "node:child_process";
import { describeWhere } from "../required.ts";

const isThere = Bun.which("strace") !== null;

/** Tests that make calls of the system fail; where there is no strace, one line that says so. */
export function describeWithStrace(name: string, tests: () => void): void {
  describeWhere(isThere, "strace is not installed", name, tests);
}

/** A strace of a running process. */
export interface Tracing {
  /** Resolves when the process runs without it again. */
  end(): Promise<void>;
}

/**
 * Makes calls of all threads of a process fail, e.g. with `fsync,fdatasync:error=EIO`; only those on `files`, where any
 * are named. Resolves once they do.
 */
export function inject(processId: number, what: string, files: readonly string[] = []): Promise<Tracing> {
  const calls = what.slice(0, what.indexOf(":"));
  const only = files.flatMap((file) => ["-P", file]);
  return traceCalls(processId, ["-e", `trace=${calls}`, "-e", `inject=${what}`, ...only, "-o", "/dev/null"]);
}

/** Traces all threads of a process by strace's own `options`; resolves once it does. */
export async function traceCalls(processId: number, options: readonly string[]): Promise<Tracing> {
  const tracer = spawn("strace", ["-f", "-p", String(processId), ...options]);
  await attached(tracer);
  return {
    async end() {
      if (tracer.exitCode !== null || tracer.signalCode !== null) return;
      const ended = new Promise((resolve) => tracer.once("close", resolve));
      tracer.kill("SIGINT");
      await ended;
    },
  };
}

function attached(tracer: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = "";
    tracer.stderr?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes("attached")) resolve();
    });
    tracer.on("close", () => reject(new Error(`strace ended: ${said}`)));
  });
}
