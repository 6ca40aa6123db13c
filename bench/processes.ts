import { closeSync, openSync } from "node:fs";
import { onTearDown } from "./teardown.ts";
import type { Undo } from "./teardown.ts";

/** A process of ours that runs. */
export interface Child {
  readonly pid: number;
  /** Its exit code. */
  readonly exited: Promise<number>;
  /** Ends it with SIGTERM, and with SIGKILL when it does not obey; resolves when it is gone. */
  readonly stop: Undo;
}

/** A process that listens. */
export interface Server extends Child {
  readonly url: string;
}

/** How a process is started. */
export interface ChildForm {
  /** The beginning of the command line: the cores it runs on. */
  readonly on: readonly string[];
  /** A program in the place of Bun. */
  readonly program?: string;
  /** Flags of Bun, the entry file and its arguments; those of the program where there is one. */
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

// The variables that a process needs to run: settings of the developer's shell for a gateway must not reach it.
const KEPT = /^(PATH|HOME|TMPDIR|LANG|TZ|DO_NOT_TRACK|BUN_.*)$/;
// A process under the profiler writes its profile when it ends, for seconds.
const STOP_MS = 60_000;

/** Starts a process whose output goes into a file. */
export function startLogged(form: ChildForm, logFile: string): Child {
  const output = openSync(logFile, "a");
  const child = Bun.spawn(command(form), { env: environment(form), stdio: ["ignore", output, output] });
  closeSync(output);
  return adopt(child);
}

/** Starts a process that prints `{"url"}` as its first line when it listens. */
export async function startServer(form: ChildForm): Promise<Server> {
  const child = Bun.spawn(command(form), {
    env: environment(form),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const adopted = adopt(child);
  const line = await firstLine(child.stdout);
  if (line === undefined) throw new Error(`${form.args.join(" ")} ended before it listened`);
  const { url } = JSON.parse(line) as { readonly url: string };
  return { ...adopted, url };
}

/** Runs a process to its end and returns what it printed, also when it failed. */
export async function runToEnd(form: ChildForm): Promise<{ readonly code: number; readonly output: string }> {
  const child = Bun.spawn(command(form), {
    env: environment(form),
    stdio: ["ignore", "pipe", "inherit"],
  });
  adopt(child);
  const output = await new Response(child.stdout).text();
  return { code: await child.exited, output };
}

/** The environment of every process, and the additions of its kind. */
function environment({ env }: ChildForm): Record<string, string> {
  const kept = Object.entries(process.env).flatMap(([name, value]) =>
    value !== undefined && KEPT.test(name) ? [[name, value] as const] : [],
  );
  return { ...Object.fromEntries(kept), ...env };
}

// The launcher chose the binary and the flags that this process runs with; the gateway runs with the same.
function command({ on, program, args }: ChildForm): string[] {
  return [...on, ...(program === undefined ? [process.execPath, ...process.execArgv] : [program]), ...args];
}

function adopt(child: Bun.Subprocess): Child {
  const stop = onTearDown(async () => {
    child.kill("SIGTERM");
    const kill = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    await child.exited;
    clearTimeout(kill);
  });
  return { pid: child.pid, exited: child.exited, stop };
}

/** The first line of a stream, which is then read to its end so that its writer never blocks. */
function firstLine(stream: ReadableStream<Uint8Array>): Promise<string | undefined> {
  const line = Promise.withResolvers<string | undefined>();
  const readOn = async () => {
    const decoder = new TextDecoder();
    let text = "";
    for await (const bytes of stream) {
      if (text.includes("\n")) continue;
      text += decoder.decode(bytes, { stream: true });
      if (text.includes("\n")) line.resolve(text.slice(0, text.indexOf("\n")));
    }
    line.resolve(undefined);
  };
  void readOn();
  return line.promise;
}
