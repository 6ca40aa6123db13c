import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { BUN_FLAGS, bunBinary, runtimeEnvironment } from "../../bin/runtime.mjs";
import { readTestRun, testEnvironment } from "../../bin/test-run.mjs";

/** How a run of tests ended. */
export interface Run {
  readonly ended: "passed" | "failed" | "timed_out";
  /** The test files in which a test failed, as far as they are known. */
  readonly failedFiles: readonly string[];
}

/** More memory than the tests of a run need: a change may make a loop that keeps what it makes. */
const MOST_BYTES = 6 * 1024 ** 3;

const LEFT_OUT = new Set(["node_modules", ".git", "data"]);

/**
 * A copy of a checkout in a temporary folder, whose source may be changed and whose tests are run. It shares the
 * installed packages, and the folder `shared` that may stand beside the checkout.
 */
export class CheckoutCopy {
  readonly #scratch = mkdtempSync(join(tmpdir(), "switchyard-mutate-"));
  readonly root = join(this.#scratch, "checkout");

  constructor(checkout: string) {
    mkdirSync(this.root);
    cpSync(checkout, this.root, {
      recursive: true,
      filter: (path) => path === checkout || !LEFT_OUT.has(basename(path)) || dirname(path) !== checkout,
    });
    symlinkSync(join(checkout, "node_modules"), join(this.root, "node_modules"));
    const shared = join(checkout, "../shared");
    if (existsSync(shared)) symlinkSync(shared, join(this.#scratch, "shared"));
  }

  write(path: string, text: string): void {
    writeFileSync(join(this.root, path), text);
  }

  /**
   * Runs test files in one process as a suite does until a test fails. It runs for `seconds` at most and in bounded
   * memory, since a change may make an endless loop.
   */
  async test(files: readonly string[], seconds: number, suite: "quick" | "full"): Promise<Run> {
    const junit = join(this.#scratch, "junit.xml");
    rmSync(junit, { force: true });
    const report = ["--reporter=junit", `--reporter-outfile=${junit}`];
    const child = Bun.spawn({
      cmd: [
        bunBinary(),
        "test",
        ...BUN_FLAGS,
        ...report,
        "--bail=1",
        suite === "quick" ? "--timeout=60000" : "--timeout=120000",
        ...files.map((file) => `./${file}`),
      ],
      cwd: this.root,
      env: runtimeEnvironment(testEnvironment(process.env, { long: false, suite })),
      stdout: "pipe",
      stderr: "pipe",
      timeout: seconds * 1000,
      killSignal: "SIGKILL",
    });
    const watch = setInterval(() => {
      if (residentBytes(child.pid) > MOST_BYTES) child.kill("SIGKILL");
    }, 500);
    const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    clearInterval(watch);
    if (child.signalCode === "SIGKILL") return { ended: "timed_out", failedFiles: [] };
    if (child.exitCode === 0) return { ended: "passed", failedFiles: [] };
    const run = readTestRun({
      junit: existsSync(junit) ? readFileSync(junit, "utf8") : undefined,
      exitCode: child.exitCode ?? 1,
      output: output + errors,
    });
    return {
      ended: "failed",
      failedFiles: files.filter((file) => run.failures.some(({ name }) => name.includes(file))),
    };
  }

  remove(): void {
    rmSync(this.#scratch, { recursive: true, force: true });
  }
}

/** The memory that a process has; 0 where the system does not say, or it has ended. */
function residentBytes(pid: number): number {
  try {
    const [kib = "0"] = /(?<=^VmRSS:\s*)\d+/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Number(kib) * 1024;
  } catch {
    return 0;
  }
}
