import { lstat, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Random } from "../core/random.ts";
import type { ResultFile } from "../core/task.ts";
import type { FileSource, NotStored } from "./assets.ts";
import { type Incoming, stored, takeIn } from "./incoming.ts";

/** A folder in which each file is there as a whole or not at all, also after a crash. */
export interface Place {
  /** Makes the folder, and tries whether a file in it can be made durable. Rejects with one sentence when not. */
  prove(): Promise<void>;
  /**
   * Stores a file of the wanted kind in `<folder>/<task>` under its name, durable when it resolves. When it rejects, as
   * `takeIn` does, or tells that the file is not stored, nothing is left of it.
   */
  write(taskId: string, source: FileSource, kind: Incoming["kind"]): Promise<ResultFile | NotStored>;
}

/** Writes into `folder`. */
export function createPlace(folder: string, random: Random): Place {
  return {
    async prove() {
      try {
        await makeFolder(folder);
        const probe = join(folder, partialName(random));
        const file = await open(probe, "wx", 0o600);
        await file.write(new Uint8Array(1));
        await file.sync();
        await file.close();
        await rm(probe);
      } catch (cause) {
        throw notWritable(`The folder of result files ${folder}`, "ASSETS_URL", cause);
      }
    },

    async write(taskId, source, kind) {
      const task = join(folder, taskId);
      await stored(makeTaskFolder(task));
      const temporary = join(task, partialName(random));
      let isThere = false;
      try {
        const file = await takeIn(temporary, { source, kind, durable: true });
        if ("notStored" in file) return file;
        await stored(rename(temporary, join(task, file.name)));
        isThere = true;
        await stored(syncFolder(task));
        return file;
      } finally {
        if (!isThere) await rm(temporary, { force: true }).catch(() => {});
      }
    },
  };
}

/** A folder of this process's files that are on their way to a bucket. */
export interface Spool {
  /**
   * Stores a file of the wanted kind and gives its path to `send`; removes it before it resolves, or rejects as
   * `takeIn` and `send` do.
   */
  through(
    source: FileSource,
    kind: Incoming["kind"],
    send: (path: string, file: ResultFile) => Promise<void>,
  ): Promise<ResultFile | NotStored>;
  /** Removes what dead processes have left before this time. */
  sweep(beforeMs: number): Promise<void>;
}

/** A spool in `folder`, which is made when it is missing. Rejects with one sentence when it cannot be. */
export async function openSpool(folder: string, random: Random): Promise<Spool> {
  await makeFolder(folder).catch((cause: unknown) => {
    throw notWritable(`The folder ${folder} of files on their way to ASSETS_URL`, "SWITCHYARD_HOME", cause);
  });
  return {
    async through(source, kind, send) {
      const path = join(folder, partialName(random));
      try {
        const file = await takeIn(path, { source, kind, durable: false });
        if (!("notStored" in file)) await send(path, file);
        return file;
      } finally {
        await rm(path, { force: true }).catch(() => {});
      }
    },

    async sweep(beforeMs) {
      for (const name of (await readdir(folder)).filter(isPartialName)) {
        const path = join(folder, name);
        const found = await lstat(path).catch(() => undefined);
        if (found !== undefined && found.mtimeMs < beforeMs) await rm(path, { force: true });
      }
    },
  };
}

/** A name for a file that readers must not see yet. */
function partialName(random: Random): string {
  return `.${random.bytes(16).toHex()}.partial`;
}

function isPartialName(name: string): boolean {
  return /^\.[0-9a-f]{32}\.partial$/.test(name);
}

/** One sentence about a folder that cannot be used, with the variable that names another. */
function notWritable(folder: string, variable: string, cause: unknown): Error {
  const code = codeOf(cause) ?? String(cause);
  return new Error(`${folder} cannot be written (${code}). Give it to this user, or set ${variable}.`, {
    cause,
  });
}

/** Whether a file system says that there is nothing by this name, or something else than was asked for. */
export function isMissing(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "ELOOP", "ENXIO"].includes(codeOf(error) ?? "");
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined;
}

/** The folder, for this user alone. */
async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  // A new folder survives a power failure once the one above it is durable.
  if (first !== undefined) await syncFolder(dirname(folder));
}

async function makeTaskFolder(task: string): Promise<void> {
  await makeFolder(task);
  if (!(await lstat(task)).isDirectory()) throw new Error("A link stands where the folder of a task should.");
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
