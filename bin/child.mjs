import { spawn } from "node:child_process";
import { constants } from "node:os";
import { LaunchError, ROOT } from "./runtime.mjs";

/**
 * @typedef {object} ChildOptions
 * @property {NodeJS.ProcessEnv} [env]
 * @property {(pid: number) => void} [onStart] told the child's process id as soon as it runs
 */

const FORWARDED = /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]);
const ECHO_MS = 400;
const PARENT_POLL_MS = 250;

/**
 * Runs a program in the root folder on our own input and output, and passes signals on to it. Returns its exit code
 * (128 + n when signal n ended it).
 * @param {string} program
 * @param {readonly string[]} args
 * @param {ChildOptions} [options]
 * @returns {Promise<number>}
 */
export async function run(program, args, options = {}) {
  return await finish(() => start(program, args, "inherit", options), options);
}

/**
 * As `run`, but without input and with all output kept, standard output and errors in the order of their arrival.
 * @param {string} program
 * @param {readonly string[]} args
 * @param {ChildOptions & { onOutput?: (chunk: Buffer) => void }} [options] `onOutput` is told of output as it comes
 * @returns {Promise<{ code: number, output: string }>}
 */
export async function runCaptured(program, args, options = {}) {
  /** @type {Buffer[]} */
  const chunks = [];
  const begin = () => {
    const child = start(program, args, ["ignore", "pipe", "pipe"], options);
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (chunk) => {
        chunks.push(chunk);
        options.onOutput?.(chunk);
      });
    }
    return child;
  };
  const code = await finish(begin, options);
  return { code, output: Buffer.concat(chunks).toString("utf8") };
}

/**
 * @param {string} program
 * @param {readonly string[]} args
 * @param {import("node:child_process").StdioOptions} stdio
 * @param {ChildOptions} options
 */
function start(program, args, stdio, { env }) {
  // Its own process group: a terminal's Ctrl-C reaches the child once, through us, and not a second time directly.
  return spawn(program, args, { cwd: ROOT, env, stdio, detached: process.platform !== "win32" });
}

/**
 * @param {() => import("node:child_process").ChildProcess} begin
 * @param {ChildOptions} options
 * @returns {Promise<number>}
 */
function finish(begin, { onStart }) {
  return new Promise((resolve, reject) => {
    // Listening comes first: a signal may come as soon as the child runs.
    /** @type {import("node:child_process").ChildProcess | undefined} */
    let started;
    const release = forwardSignals((signal) => started?.kill(signal));
    const child = (started = begin());
    child.once("spawn", () => onStart?.(Number(child.pid)));
    child.once("error", (cause) => {
      release();
      reject(new LaunchError(`cannot run ${child.spawnfile}: ${cause.message}`, { cause }));
    });
    child.once("close", (code, signal) => {
      release();
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
    });
  });
}

/**
 * Passes our signals on until the returned function is called.
 * @param {(signal: NodeJS.Signals) => void} send
 * @returns {() => void}
 */
function forwardSignals(send) {
  const underNpm = process.env.npm_lifecycle_event !== undefined;
  const parent = process.ppid;
  /** @type {Map<string, number>} */
  const lastAt = new Map();
  /** @param {NodeJS.Signals} signal */
  const forward = (signal) => {
    const previous = lastAt.get(signal) ?? -Infinity;
    lastAt.set(signal, performance.now());
    // npm sends us what the terminal sends us too; as a second signal it would cut the gateway's orderly stop short.
    if (underNpm && performance.now() - previous < ECHO_MS) return;
    send(signal);
  };
  // An npm that was killed cannot tell us, and it never ends before us otherwise. (A shell may: `nohup … &`.)
  const watch = setInterval(() => {
    if (!underNpm || process.ppid === parent) return;
    clearInterval(watch);
    send("SIGTERM");
  }, PARENT_POLL_MS);
  for (const signal of FORWARDED) process.on(signal, forward);
  return () => {
    clearInterval(watch);
    for (const signal of FORWARDED) process.off(signal, forward);
  };
}
