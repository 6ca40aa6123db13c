import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A gateway as its own process, started as a user starts it. */
export interface GatewayProcess {
  readonly child: ChildProcess;
  /** All it has printed so far, on both outputs. */
  output(): string;
  /** Resolves with the base URL once it listens; rejects with its output when it ends first. */
  ready(): Promise<string>;
  /** Resolves once it has printed `text`; rejects with its output when it ends first. */
  prints(text: string): Promise<void>;
  /** Resolves with the exit code. */
  exited(): Promise<number>;
}

/** The key that a first start shows; `undefined` when it has shown none so far. */
export function shownKey(output: string): string | undefined {
  return [...output.matchAll(/^export SWITCHYARD_KEY=(sk-\w+)$/gm)].at(-1)?.[1];
}

const ROOT = join(import.meta.dirname, "../..");

/** A temporary folder, removed by `remove`. */
export function temporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "switchyard-process-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** How a gateway's process is started. */
export interface ProcessOptions {
  /** It can have no more descriptors than these. */
  readonly descriptors?: number;
  /** A file of code that is loaded before its own. */
  readonly preload?: string;
}

/**
 * Runs `src/main.ts` on this runtime with `environment` alone, beside what every process needs. It is not warmed unless
 * `environment` says so: most live for a few seconds.
 */
export function startProcess(
  environment: Readonly<Record<string, string>>,
  { descriptors, preload }: ProcessOptions = {},
): GatewayProcess {
  const loaded = preload === undefined ? [] : ["--preload", preload];
  const command = [process.execPath, "--no-install", "--no-env-file", ...loaded, join(ROOT, "src/main.ts")];
  const limited = ["sh", "-c", `ulimit -n ${descriptors}; exec "$@"`, "sh", ...command];
  const [program = "", ...args] = descriptors === undefined ? command : limited;
  const child = spawn(program, args, {
    cwd: ROOT,
    env: {
      PATH: process.env.PATH ?? "",
      BUN_CONFIG_MAX_HTTP_REQUESTS: "20000",
      PORT: "0",
      SHUTDOWN_DELAY_SECONDS: "0",
      SWITCHYARD_WARM_UP: "off",
      ...environment,
    },
  });
  let output = "";
  const watchers = new Set<() => void>();
  const add = (chunk: Buffer): void => {
    output += chunk.toString();
    for (const watcher of watchers) watcher();
  };
  child.stdout.on("data", add);
  child.stderr.on("data", add);
  const exit = new Promise<number>((resolve) =>
    child.on("close", (code, signal) => resolve(code ?? (signal === null ? -1 : 128))),
  );
  const until = <Found>(find: () => Found | undefined): Promise<Found> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = find();
        if (found !== undefined) resolve(found);
      };
      watchers.add(look);
      look();
      void exit.then(() => reject(new Error(`The gateway ended: ${output}`)));
    });
  return {
    child,
    output: () => output,
    exited: () => exit,
    ready: () => until(() => /listens on (http:\S+)/.exec(output)?.[1]),
    prints: async (text) => void (await until(() => (output.includes(text) ? text : undefined))),
  };
}
