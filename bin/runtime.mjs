import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The root folder of this checkout, without a slash at its end. */
export const ROOT = fileURLToPath(new URL("..", import.meta.url)).replace(/[/\\]$/, "");

/** What every call of Bun is given: it ends with the launcher, and takes nothing from .env files or the network by itself. */
export const BUN_FLAGS = ["--no-orphans", "--no-install", "--no-env-file"];

/** What the user can put right: its message is printed as it is, without a stack. */
export class LaunchError extends Error {}

const OLDEST_NODE = 20;
/** @type {Record<string, string>} */
const SYSTEMS = { android: "linux", win32: "windows" };
/** @type {Record<string, string>} */
const PROCESSORS = { arm64: "aarch64" };

/**
 * The sentence for a Node that is too old to run the launcher, or nothing.
 * @param {string} version as in `process.versions.node`
 * @returns {string | undefined}
 */
export function nodeProblem(version) {
  if (Number.parseInt(version, 10) >= OLDEST_NODE) return undefined;
  return `this is Node ${version}, and Switchyard needs Node ${OLDEST_NODE} or newer: install one from https://nodejs.org and start again`;
}

/**
 * The npm package that holds Bun for a platform; whether it exists is for the lockfile to say.
 * @param {{ platform: string, arch: string, musl: boolean }} machine
 * @returns {string}
 */
export function bunPackage({ platform, arch, musl }) {
  const variant = platform === "android" ? "-android" : musl ? "-musl" : "";
  return `@oven/bun-${SYSTEMS[platform] ?? platform}-${PROCESSORS[arch] ?? arch}${variant}`;
}

/**
 * Where the pinned Bun's binary is once installed. Throws a LaunchError when this machine has no build of it.
 * @param {string} [root]
 * @param {string} [name] the package that holds it
 * @returns {string}
 */
export function bunPath(root = ROOT, name = bunPackage(thisMachine())) {
  const { version } = readJson(join(root, "package-lock.json")).packages[`node_modules/${name}`] ?? {};
  if (version !== undefined)
    return join(root, "node_modules", name, "bin", isWindows(name) ? "bun.exe" : "bun");
  throw new LaunchError(
    `Bun has no build for this machine (the package ${name} is not in package-lock.json): use Linux, macOS, FreeBSD or Windows on x64 or arm64`,
  );
}

/**
 * The binary of the installed Bun. Throws a LaunchError when it is missing or not the pinned version.
 * @param {string} [root]
 * @param {string} [name] the package that holds it
 * @returns {string}
 */
export function bunBinary(root = ROOT, name = bunPackage(thisMachine())) {
  const binary = bunPath(root, name);
  const pin = readJson(join(root, "package.json")).dependencies.bun;
  if (!existsSync(binary)) {
    throw new LaunchError(`${binary} is missing: delete the folder node_modules and start again`);
  }
  const { version } = readJson(join(root, "node_modules", name, "package.json"));
  if (version !== pin) {
    throw new LaunchError(
      `${name} is ${version}, but package.json pins ${pin}: delete the folder node_modules and start again`,
    );
  }
  return binary;
}

/**
 * The environment Bun is started in: a copy of the given one and what Bun reads only at its own start.
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {NodeJS.ProcessEnv}
 */
export function runtimeEnvironment(env = process.env) {
  return {
    ...env,
    // Bun queues all upstream calls above this number, and its default of 256 is for the whole process.
    BUN_CONFIG_MAX_HTTP_REQUESTS: env.BUN_CONFIG_MAX_HTTP_REQUESTS || "20000",
    // How long memory is free before the allocator gives it back to the system, in ms. Its own 100 give back in each burst
    // of requests what the next one takes again.
    MIMALLOC_PURGE_DELAY: env.MIMALLOC_PURGE_DELAY || "1000",
    MIMALLOC_PURGE_HOLES_MIN_INTERVAL: env.MIMALLOC_PURGE_HOLES_MIN_INTERVAL || "1000",
    BUN_ENABLE_CRASH_REPORTING: "0",
    DO_NOT_TRACK: "1",
  };
}

/**
 * Runs a command of this folder and leaves with the exit code it returns; a LaunchError becomes one line on stderr.
 * @param {() => Promise<number>} command
 * @returns {Promise<void>}
 */
export async function main(command) {
  try {
    const problem = nodeProblem(process.versions.node);
    if (problem !== undefined) throw new LaunchError(problem);
    process.exitCode = await command();
  } catch (error) {
    console.error(error instanceof LaunchError ? `switchyard: ${error.message}` : error);
    process.exitCode = 1;
  }
}

/**
 * What a JSON file holds.
 * @param {string} path
 * @returns {any}
 */
export function readJson(path) {
  return JSON.parse(readFileSync(path, "utf8"));
}

/** @param {string} name */
function isWindows(name) {
  return name.startsWith("@oven/bun-windows-");
}

function thisMachine() {
  return { platform: process.platform, arch: process.arch, musl: process.platform === "linux" && isMusl() };
}

function isMusl() {
  // Without this the report looks up the names of all network peers, which can take seconds.
  Object.assign(process.report, { excludeNetwork: true });
  /** @type {any} */
  const report = process.report.getReport();
  return report.header.glibcVersionRuntime === undefined;
}
