import { lstat, mkdir, open, rename, rm, type FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Random } from "../core/random.ts";
import { createContentHash } from "../runtime/hash.ts";

/** Bytes that are hashed and written at once; between two of them others get their turn. */
const PIECE_BYTES = 1024 * 1024;

/** A folder that files are put into so that each is there as a whole or not at all, whatever dies when. */
export interface Place {
  /** Makes the folder, and tries whether a file in it can be made durable. Rejects with one sentence when not. */
  prove(): Promise<void>;
  /**
   * Writes `bytes` into `<folder>/<task>` by the name that `fileOf` makes of their SHA-256 in hex. Durable when it
   * resolves; when it rejects, nothing is left of it.
   */
  write<File extends { readonly name: string }>(
    taskId: string,
    bytes: Uint8Array,
    fileOf: (sha256: string) => File,
  ): Promise<File>;
}

/** What is written in `folder`. */
export function createPlace(folder: string, random: Random): Place {
  const partial = (): string => `.${random.bytes(16).toHex()}.partial`;
  return {
    async prove() {
      try {
        await makeFolder(folder);
        const probe = join(folder, partial());
        await writeDurably(probe, new Uint8Array(1));
        await rm(probe);
      } catch (cause) {
        throw new Error(
          `The folder of result files ${folder} cannot be written (${codeOf(cause) ?? String(cause)}). Give it to this user, or set ASSETS_URL.`,
          { cause },
        );
      }
    },

    async write(taskId, bytes, fileOf) {
      const task = join(folder, taskId);
      await makeFolder(task);
      if (!(await lstat(task)).isDirectory())
        throw new Error("A link stands where the folder of a task should.");
      const temporary = join(task, partial());
      try {
        const file = fileOf(await writeDurably(temporary, bytes));
        await rename(temporary, join(task, file.name));
        await syncFolder(task);
        return file;
      } catch (error) {
        await rm(temporary, { force: true }).catch(() => {});
        throw error;
      }
    },
  };
}

/** Whether a file system says that there is nothing by this name, or not what was asked for. */
export function isMissing(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "ELOOP", "ENXIO"].includes(codeOf(error) ?? "");
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined;
}

/** The folder, for this user alone. */
async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  // A new folder is there after a power failure once the one above it is durable.
  if (first !== undefined) await syncFolder(dirname(folder));
}

/** Writes a new file and returns the SHA-256 of its content in hex. */
async function writeDurably(path: string, bytes: Uint8Array): Promise<string> {
  const hash = createContentHash();
  const file = await open(path, "wx", 0o600);
  try {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      const piece = bytes.subarray(at, at + PIECE_BYTES);
      hash.update(piece);
      await writeWhole(file, piece);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return hash.digest();
}

async function writeWhole(file: FileHandle, piece: Uint8Array): Promise<void> {
  for (let at = 0; at < piece.length;) {
    const { bytesWritten } = await file.write(piece, at, piece.length - at);
    if (bytesWritten === 0) throw new Error("The disk takes no more.");
    at += bytesWritten;
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
