import { type ChildProcess, spawn } from "node:child_process";
import { describe, test } from "bun:test";

const isThere = Bun.which("strace") !== null;

/** Tests that make calls of the system fail; where there is no strace, one line that says so. */
export function describeWithStrace(name: string, tests: () => void): void {
  if (isThere) {
    describe(name, tests);
    return;
  }
  const reason = "strace is not installed";
  if (process.env.SWITCHYARD_REQUIRE_ALL === "1") {
    test(name, () => {
      throw new Error(`${reason}, and SWITCHYARD_REQUIRE_ALL is set.`);
    });
  } else test.skip(`${name} (${reason})`, () => {});
}

/** Calls of a running process that fail from now on. */
export interface Injection {
  /** Resolves when the calls work again. */
  end(): Promise<void>;
}

/** Makes calls of all threads of a process fail, e.g. with `fsync,fdatasync:error=EIO`; resolves once they do. */
export async function inject(processId: number, what: string): Promise<Injection> {
  const calls = what.slice(0, what.indexOf(":"));
  const filter = ["-e", `trace=${calls}`, "-e", `inject=${what}`];
  const tracer = spawn("strace", ["-f", "-p", String(processId), ...filter, "-o", "/dev/null"]);
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
