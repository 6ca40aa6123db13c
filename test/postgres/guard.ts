import { chownSync, closeSync, mkdtempSync, openSync, readFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A shell that runs commands in a temporary folder, and outlives this process to clean up after it. */
export interface Guard {
  readonly folder: string;
  /** Runs a program and its arguments, parted by spaces; rejects with its output when it fails. */
  run(command: string): Promise<void>;
  /** Stops the server and removes the folder, as the death of this process does. */
  end(): Promise<void>;
}

/** Starts a guard that finds programs in `bin` first. PostgreSQL refuses root, so for root it is the user `postgres`. */
export function startGuard(bin: string): Guard {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-postgres-"));
  const isRoot = process.getuid?.() === 0;
  if (isRoot) giveToPostgres(folder);
  const asUser = isRoot ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"] : [];
  const pipe = openPipe(join(folder, "commands"));
  // The text and not the file: the user `postgres` may have no access to this checkout.
  const script = readFileSync(join(import.meta.dirname, "guard.sh"), "utf8");
  const child = Bun.spawn([...asUser, "bash", "-c", script], {
    cwd: folder,
    env: { PATH: `${bin}:${process.env.PATH ?? ""}`, LC_ALL: "C" },
    stdio: [pipe.input, "pipe", "inherit"],
    detached: true,
  });
  closeSync(pipe.input);

  const answers = child.stdout.getReader();
  const ask = async (command: string): Promise<void> => {
    writeSync(pipe.output, `${command}\n`);
    const { value } = await answers.read();
    if (new TextDecoder().decode(value).trim() === "0") return;
    const output = readFileSync(join(folder, "output"), "utf8").trim();
    throw new Error(`${command} failed: ${output}`);
  };
  let last: Promise<unknown> = Promise.resolve();
  return {
    folder,
    run(command) {
      const answer = last.then(() => ask(command));
      last = answer.catch(() => {});
      return answer;
    },
    async end() {
      await last;
      closeSync(pipe.output);
      await answers.read();
    },
  };
}

function giveToPostgres(folder: string): void {
  const numberOf = (kind: string): number =>
    Number(Bun.spawnSync(["id", kind, "postgres"], { stderr: "inherit" }).stdout.toString());
  chownSync(folder, numberOf("-u"), numberOf("-g"));
}

/**
 * Both ends of a named pipe: the reader sees its end when this process is gone. A pipe to standard input will not do,
 * as Bun closes that one when the child itself ends.
 */
function openPipe(path: string): { readonly input: number; readonly output: number } {
  if (!Bun.spawnSync(["mkfifo", path]).success) throw new Error(`cannot make the named pipe ${path}`);
  // Opening one end alone would wait for the other.
  const both = openSync(path, "r+");
  const input = openSync(path, "r");
  const output = openSync(path, "w");
  closeSync(both);
  return { input, output };
}
