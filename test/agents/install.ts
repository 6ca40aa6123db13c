import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A program of the registry. */
export interface Installable {
  /** Its package, with the version. */
  readonly package: string;
  readonly binary: string;
  /** A script of the package that puts the program into its place. */
  readonly installer?: string;
}

/** Installs a program in a folder of the machine's temporary ones, once, and gives its path; throws where that fails. */
export function install({ package: wanted, binary, installer }: Installable): string {
  const folder = join(tmpdir(), "switchyard-agents", wanted.replaceAll("/", "-"));
  const path = join(folder, "node_modules/.bin", binary);
  const done = join(folder, "installed");
  if (existsSync(done)) return path;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "agents", private: true }));
  run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", wanted], folder);
  const name = wanted.slice(0, wanted.lastIndexOf("@"));
  if (installer !== undefined) run("node", [join(folder, "node_modules", name, installer)], folder);
  writeFileSync(done, "");
  return path;
}

/** What a program prints; throws where it fails. */
export function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = process.env,
): string {
  const options = { cwd, env, encoding: "utf8", timeout: 300_000, maxBuffer: 64 << 20 } as const;
  const { status, stdout, stderr, error } = spawnSync(command, args, options);
  if (status === 0) return stdout;
  throw new Error(`${command} ${args.join(" ")} ended with ${status}: ${error ?? stderr}`);
}
