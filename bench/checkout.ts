import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { onTearDown } from "./teardown.ts";

/** Another commit of this repository, ready to run. */
export interface Checkout {
  /** Its short hash. */
  readonly name: string;
  readonly root: string;
}

const OURS = join(import.meta.dir, "..");

/** Checks a commit out below `folder` until the tear-down. It shares our packages where it has the same. */
export async function checkOut(commit: string, folder: string): Promise<Checkout> {
  const root = join(folder, "checkout");
  await run(["git", "worktree", "add", "--quiet", "--detach", root, commit], OURS);
  onTearDown(() => run(["git", "worktree", "remove", "--force", root], OURS).then(() => {}));
  const name = (await run(["git", "rev-parse", "--short", "HEAD"], root)).trim();
  const packages = [OURS, root].map((path) => readFileSync(join(path, "package-lock.json"), "utf8"));
  if (packages[0] === packages[1] && existsSync(join(OURS, "node_modules")))
    symlinkSync(join(OURS, "node_modules"), join(root, "node_modules"));
  else await run(["npm", "ci", "--no-audit", "--no-fund"], root);
  return { name, root };
}

async function run(command: readonly string[], cwd: string): Promise<string> {
  const child = Bun.spawn([...command], { cwd, stdout: "pipe", stderr: "inherit", stdin: "ignore" });
  const output = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")} failed`);
  return output;
}
