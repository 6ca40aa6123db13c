import type { Clock } from "../core/time/clock.ts";
import type { Random } from "../core/random.ts";
import { fileSlice } from "../runtime/file.ts";
import { openS3Bucket, S3Failure } from "../runtime/s3.ts";
import { fileNameOf, isAssetName, isTaskId } from "./asset-name.ts";
import { type Assets, type AssetUrls, orphanedBeforeMs } from "./assets.ts";
import { openSpool } from "./disk-write.ts";
import { stored } from "./incoming.ts";
import { unavailable } from "./unavailable.ts";
import type { S3Address } from "./s3-address.ts";
import { LIFETIME_SEC } from "./signed-url.ts";

/** What a bucket of files is opened with. */
export interface S3AssetsParts {
  readonly address: S3Address;
  /** A folder of this machine for files on their way to the bucket; made when it is missing. */
  readonly spoolFolder: string;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Files in a bucket: `<prefix><task>/<name>`, with the store's own signed URLs. Rejects with one sentence when the
 * bucket or the folder cannot be written.
 */
export async function openS3Assets(parts: S3AssetsParts): Promise<Assets & AssetUrls> {
  const { address, spoolFolder, clock, random } = parts;
  const spool = await openSpool(spoolFolder, random);
  const bucket = openS3Bucket(address, clock);
  const { prefix } = address;
  const keyOf = (taskId: string, name: string): string => {
    if (!isTaskId(taskId)) throw new Error("This is no id of a task.");
    return `${prefix}${taskId}/${name}`;
  };

  try {
    await bucket.put(`${prefix}.writable`, new Blob(["1"]), "application/octet-stream");
    await bucket.list(prefix, "");
    await bucket.remove(`${prefix}.writable`);
  } catch (error) {
    if (!(error instanceof S3Failure)) throw error;
    throw new Error(
      `The bucket of ASSETS_URL cannot be written, listed and cleared (${error.code}). Check the bucket, its region and endpoint, and what AWS_ACCESS_KEY_ID may do.`,
      { cause: error },
    );
  }

  /** Where the next sweep goes on. */
  let after = "";
  return {
    async store(taskId, source, kind, insist = (work) => work()) {
      keyOf(taskId, "");
      // The name is made of the content, which is known once all of it has come.
      return spool.through(source, kind, async (path, { name, bytes, mediaType }) => {
        const key = keyOf(taskId, name);
        await insist(() => stored(bucket.put(key, fileSlice(path, 0, bytes), mediaType)));
      });
    },

    urlOf(taskId, { name }) {
      if (!isAssetName(name)) throw new Error("This is no result file of a task.");
      return bucket.presign(keyOf(taskId, name), LIFETIME_SEC, fileNameOf({ taskId, name }));
    },

    async read(taskId, name) {
      const key = keyOf(taskId, name);
      if (!isAssetName(name)) return undefined;
      return bucket.get(key).catch((cause: unknown) => {
        throw unavailable("read", cause);
      });
    },

    // URLs lead to the store itself.
    open: () => Promise.resolve(undefined),

    async remove(taskId) {
      // A task has few files; any beyond one listing are left to the sweep.
      const { objects } = await bucket.list(keyOf(taskId, ""), "");
      for (const { key } of objects) await bucket.remove(key);
    },

    async sweep(isNamed) {
      await spool.sweep(orphanedBeforeMs(clock));
      const { objects, more } = await bucket.list(prefix, after);
      let removed = 0;
      for (const { key, changedAtMs } of objects) {
        const [taskId = "", name = "", ...rest] = key.slice(prefix.length).split("/");
        const isOurs = rest.length === 0 && isTaskId(taskId) && isAssetName(name);
        if (isOurs && changedAtMs < orphanedBeforeMs(clock) && !(await isNamed(taskId, name))) {
          await bucket.remove(key);
          removed += 1;
        }
        after = key;
      }
      if (!more) after = "";
      return removed;
    },
  };
}
