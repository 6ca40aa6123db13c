import { constants, type Stats } from "node:fs";
import { lstat, open, readdir, rm, rmdir, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../core/time/clock.ts";
import type { Random } from "../core/random.ts";
import { fileSlice } from "../runtime/file.ts";
import { type Assets, type AssetUrls, orphanedBeforeMs } from "./assets.ts";
import { type AssetName, isAssetName, isTaskId, mediaTypeOf, pathOf, readPath } from "./asset-name.ts";
import { unavailable } from "./unavailable.ts";
import { createPlace, isMissing } from "./disk-write.ts";
import { createUrlSigner } from "./signed-url.ts";

/** What a folder of files is opened with. */
export interface DiskAssetsParts {
  /** The folder, ours alone; made when it is missing. Processes that share a store of tasks must share it. */
  readonly folder: string;
  /** Base of the URLs that are handed out. */
  readonly publicUrl: () => string;
  /** The secret that URLs are signed under, the same in all those processes. */
  readonly signingSecret: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Tasks whose files one sweep looks at. */
  readonly tasksPerSweep?: number;
}

/**
 * Files in a folder of this machine: `<task>/<name>`, readable by this user alone, with URLs that are signed here.
 * Rejects with one sentence when the folder cannot be written.
 */
export async function openDiskAssets(parts: DiskAssetsParts): Promise<Assets & AssetUrls> {
  const { folder, publicUrl, signingSecret, clock, random, tasksPerSweep = 1_000 } = parts;
  const place = createPlace(folder, random);
  await place.prove();
  const signer = createUrlSigner(signingSecret, clock);
  const sweep = createSweep(folder, tasksPerSweep, clock);
  return {
    async store(taskId, source, kind) {
      checkTaskId(taskId);
      return place.write(taskId, source, kind);
    },

    urlOf(taskId, { name }) {
      const path = pathOf({ taskId, name });
      if (readPath(path) === undefined) throw new Error("This is no result file of a task.");
      return `${publicUrl()}${path}?${signer.sign(path)}`;
    },

    async read(taskId, name) {
      checkTaskId(taskId);
      if (!isAssetName(name)) return undefined;
      try {
        return await readWhole(folder, { taskId, name });
      } catch (cause) {
        throw unavailable("read", cause);
      }
    },

    async open(path, query) {
      const asset = readPath(path);
      const goodForSec = signer.check(path, query);
      if (asset === undefined || goodForSec === undefined) return undefined;
      const bytes = await sizeOf(folder, asset).catch((cause: unknown) => {
        throw unavailable("read", cause);
      });
      if (bytes === undefined) return undefined;
      return {
        ...asset,
        mediaType: mediaTypeOf(asset.name),
        bytes,
        goodForSec,
        slice: (start, end) => fileSlice(join(folder, asset.taskId, asset.name), start, end),
      };
    },

    async remove(taskId) {
      checkTaskId(taskId);
      await rm(join(folder, taskId), { recursive: true, force: true });
    },

    sweep,
  };
}

/** Ids come from our own store: another text is a fault of ours, and must not become a path. */
function checkTaskId(taskId: string): void {
  if (!isTaskId(taskId)) throw new Error("This is no id of a task.");
}

async function readWhole(folder: string, asset: AssetName): Promise<Uint8Array | undefined> {
  const file = await openForReading(folder, asset);
  if (file === undefined) return undefined;
  try {
    return new Uint8Array(await file.readFile());
  } finally {
    await file.close();
  }
}

async function sizeOf(folder: string, asset: AssetName): Promise<number | undefined> {
  const file = await openForReading(folder, asset);
  if (file === undefined) return undefined;
  try {
    return (await file.stat()).size;
  } finally {
    await file.close();
  }
}

/** Opens the file itself: anything else of its name, such as a link to elsewhere, counts as missing. */
async function openForReading(folder: string, { taskId, name }: AssetName): Promise<FileHandle | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  let file: FileHandle | undefined;
  try {
    if ((await look(join(folder, taskId)))?.isDirectory() !== true) return undefined;
    file = await open(join(folder, taskId, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if ((await file.stat()).isFile()) return file;
  } catch (error) {
    await file?.close();
    if (isMissing(error)) return undefined;
    throw error;
  }
  await file.close();
  return undefined;
}

/** Goes round the folders of all tasks in the order of their names, a bounded number at a time. */
function createSweep(folder: string, tasksPerSweep: number, clock: Clock): Assets["sweep"] {
  let after = "";
  return async (isNamed) => {
    const tasks = (await readdir(folder)).filter(isTaskId).sort();
    const next = tasks.filter((task) => task > after).slice(0, tasksPerSweep);
    let removed = 0;
    for (const taskId of next) {
      removed += await sweepTask(folder, taskId, orphanedBeforeMs(clock), isNamed);
      after = taskId;
    }
    if (next.length < tasksPerSweep) after = "";
    return removed;
  };
}

async function sweepTask(
  folder: string,
  taskId: string,
  beforeMs: number,
  isNamed: (taskId: string, name: string) => Promise<boolean>,
): Promise<number> {
  const place = join(folder, taskId);
  const isOld = async (path: string): Promise<boolean> => {
    const found = await look(path);
    return found !== undefined && found.mtimeMs < beforeMs;
  };
  let removed = 0;
  let left = 0;
  for (const name of await namesIn(place)) {
    // A file without a name of ours was being written when its process died.
    const isOrphan =
      (await isOld(join(place, name))) && !(isAssetName(name) && (await isNamed(taskId, name)));
    if (isOrphan) {
      await rm(join(place, name), { recursive: true, force: true });
      removed += 1;
    } else left += 1;
  }
  if (left === 0 && (removed > 0 || (await isOld(place)))) await removeEmpty(place);
  return removed;
}

/** The entry at `path` itself, also a link; `undefined` when there is none. */
async function look(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** The entries of a folder; links to folders are not followed. */
async function namesIn(place: string): Promise<readonly string[]> {
  if ((await look(place))?.isDirectory() !== true) return [];
  try {
    return await readdir(place);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** A folder into which a file has come meanwhile stays. */
async function removeEmpty(place: string): Promise<void> {
  try {
    await rmdir(place);
  } catch (error) {
    if (!isMissing(error) && !(error instanceof Error && "code" in error && error.code === "ENOTEMPTY"))
      throw error;
  }
}
