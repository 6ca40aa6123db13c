import {
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  rmdirSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { runCaptured } from "./child.mjs";
import { LaunchError, ROOT, bunPath, readJson } from "./runtime.mjs";

/**
 * A package as package-lock.json and npm's own list of what it installed describe it.
 * @typedef {object} LockedPackage
 * @property {string} [version]
 * @property {string} [integrity]
 * @property {boolean} [dev]
 * @property {boolean} [optional]
 * @property {boolean} [devOptional]
 */

const MODULES = join(ROOT, "node_modules");
// npm writes this list as the last step of every install, so it is there only when an install was finished.
const INSTALLED = join(MODULES, ".package-lock.json");
// Not in node_modules, which `npm ci` empties.
const SCRATCH = join(ROOT, ".tmp");
const LOCK = join(SCRATCH, "install.lock");
const POLL_MS = 200;
const LONGEST_WAIT_MS = 10 * 60_000;
const LONGEST_CLAIM_MS = 10_000;
const SHOWN_LINES = 20;

/**
 * Returns when node_modules is what package-lock.json says, made so by `npm ci` where it was not.
 * Development packages are installed when asked for, and kept up to date when they are there already.
 * @param {{ dev: boolean }} options
 * @returns {Promise<void>}
 */
export async function ensureInstalled({ dev }) {
  if (isInstalled({ dev })) return;
  await claim();
  if (isInstalled({ dev })) removeLock();
  else await install({ dev: dev || mayHaveDev() });
}

/**
 * Whether what npm installed is what the lockfile says, with or without the development packages.
 * @param {Record<string, LockedPackage>} locked
 * @param {Record<string, LockedPackage>} installed
 * @param {{ dev: boolean }} options
 * @returns {boolean}
 */
export function matchesLock(locked, installed, { dev }) {
  /** @param {string} path */
  const same = (path) =>
    locked[path]?.version === installed[path]?.version &&
    locked[path]?.integrity === installed[path]?.integrity;
  const needed = Object.keys(locked).filter((path) => {
    const entry = locked[path];
    if (path === "" || entry?.optional) return false;
    return dev || !(entry?.dev || entry?.devOptional);
  });
  return needed.every(same) && Object.keys(installed).every(same);
}

/** @param {{ dev: boolean }} options */
function isInstalled({ dev }) {
  if (!existsSync(bunPath()) || !existsSync(INSTALLED)) return false;
  const locked = readJson(join(ROOT, "package-lock.json")).packages;
  return matchesLock(locked, readJson(INSTALLED).packages, { dev });
}

/** Whether there may be development packages that an install without them would remove. */
function mayHaveDev() {
  if (!existsSync(MODULES)) return false;
  if (!existsSync(INSTALLED)) return true;
  /** @type {LockedPackage[]} */
  const packages = Object.values(readJson(INSTALLED).packages);
  return packages.some((entry) => entry.dev);
}

/** @param {{ dev: boolean }} options */
async function install({ dev }) {
  console.error("installing dependencies (once)");
  rmSync(INSTALLED, { force: true });
  const args = [
    "ci",
    "--loglevel=error",
    "--ignore-scripts",
    "--install-strategy=hoisted",
    "--include=optional",
  ];
  args.push(dev ? "--include=dev" : "--omit=dev");
  const npm = process.env.npm_execpath ?? "";
  const viaNode = npm.endsWith("npm-cli.js");
  /** @type {string | undefined} */
  let owner;
  // The lock is npm's and not ours: npm goes on when we are killed.
  const onStart = (/** @type {number} */ pid) => writeFileSync(join(LOCK, (owner = String(pid))), "");
  const { code, output } = await runCaptured(
    viaNode ? process.execPath : "npm",
    viaNode ? [npm, ...args] : args,
    { onStart },
  ).finally(() => removeLock(owner));
  if (code === 0) return;
  // The first lines, not the last: npm names the cause at once and may end with a page of help.
  const cause = output.trimEnd().split("\n").slice(0, SHOWN_LINES).join("\n");
  throw new LaunchError(`npm could not install the dependencies (exit code ${code}); it said:\n${cause}`);
}

/** Returns when this process alone holds the lock. */
async function claim() {
  const deadline = Date.now() + LONGEST_WAIT_MS;
  for (let attempt = 0; !tryClaim(); attempt++) {
    if (attempt === 1) console.error("waiting for another process that installs the dependencies");
    if (Date.now() > deadline) {
      throw new LaunchError(`${LOCK} is held: if nothing is installing, delete that folder and start again`);
    }
    await sleep(POLL_MS);
  }
}

function tryClaim() {
  try {
    mkdirSync(SCRATCH, { recursive: true });
    mkdirSync(LOCK);
    return true;
  } catch (cause) {
    if (codeOf(cause) !== "EEXIST") {
      throw new LaunchError(`cannot write to ${SCRATCH}: make this folder writable (${codeOf(cause)})`, {
        cause,
      });
    }
    removeDeadLock();
    return false;
  }
}

function removeDeadLock() {
  try {
    const [owner] = readdirSync(LOCK);
    if (owner === undefined && Date.now() - statSync(LOCK).mtimeMs > LONGEST_CLAIM_MS) removeLock();
    if (owner !== undefined && !isAlive(Number(owner))) removeLock(owner);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}

/**
 * Removes the lock of an owner, or one that has none yet. Of many processes that try, the one that removes the
 * owner's file removes the folder: the others cannot hit a lock that was claimed since.
 * @param {string} [owner]
 */
function removeLock(owner) {
  try {
    if (owner !== undefined) unlinkSync(join(LOCK, owner));
    rmdirSync(LOCK);
  } catch (error) {
    if (codeOf(error) !== "ENOENT" && codeOf(error) !== "ENOTEMPTY") throw error;
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}

/** @param {unknown} error */
function codeOf(error) {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
