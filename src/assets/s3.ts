import type { Clock } from "../core/clock.ts";
import { createContentHash } from "../runtime/hash.ts";
import { openS3Bucket, S3Failure } from "../runtime/s3.ts";
import { fileNameOf, isAssetName, isTaskId, resultFileOf } from "./asset-name.ts";
import { type Assets, type AssetUrls, ORPHAN_MS } from "./assets.ts";
import { contentOf } from "./content.ts";
import { unavailable } from "./unavailable.ts";
import type { S3Address } from "./s3-address.ts";
import { LIFETIME_SEC } from "./signed-url.ts";

/** Bytes that are hashed at once; between two of them others get their turn. */
const PIECE_BYTES = 4 * 1024 * 1024;

/**
 * Files in a bucket: `<prefix><task>/<name>`, reached by the store's own signed URLs. Rejects with one sentence when
 * the bucket cannot be written.
 */
export async function openS3Assets(address: S3Address, clock: Clock): Promise<Assets & AssetUrls> {
  const bucket = openS3Bucket(address, clock);
  const { prefix } = address;
  const keyOf = (taskId: string, name: string): string => {
    if (!isTaskId(taskId)) throw new Error("This is no id of a task.");
    return `${prefix}${taskId}/${name}`;
  };

  try {
    await bucket.put(`${prefix}.writable`, new Uint8Array(1), "application/octet-stream");
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
    async store(taskId, bytes, kind) {
      keyOf(taskId, "");
      const content = contentOf(bytes, kind);
      if ("notStored" in content) return content;
      const file = resultFileOf(content, bytes.length, await hashOf(bytes));
      try {
        await bucket.put(keyOf(taskId, file.name), bytes, file.mediaType);
      } catch (cause) {
        throw unavailable("stored", cause);
      }
      return file;
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

    // Its URLs lead to the store itself.
    open: () => Promise.resolve(undefined),

    async remove(taskId) {
      // A task has few files; what is beyond a listing is left to the sweep.
      const { objects } = await bucket.list(keyOf(taskId, ""), "");
      for (const { key } of objects) await bucket.remove(key);
    },

    async sweep(isNamed) {
      const { objects, more } = await bucket.list(prefix, after);
      let removed = 0;
      for (const { key, changedAtMs } of objects) {
        const [taskId = "", name = "", ...rest] = key.slice(prefix.length).split("/");
        const isOurs = rest.length === 0 && isTaskId(taskId) && isAssetName(name);
        if (isOurs && changedAtMs < clock.nowMs() - ORPHAN_MS && !(await isNamed(taskId, name))) {
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

async function hashOf(bytes: Uint8Array): Promise<string> {
  const hash = createContentHash();
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    hash.update(bytes.subarray(at, at + PIECE_BYTES));
    await new Promise((resolve) => setImmediate(resolve));
  }
  return hash.digest();
}
