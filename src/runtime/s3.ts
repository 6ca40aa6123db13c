import { S3Client } from "bun";
import type { Clock } from "../core/time/clock.ts";
import { fetchOnce } from "./fetch.ts";

/** A bucket of a store that speaks S3, with credentials. */
export interface S3Place {
  readonly bucket: string;
  readonly region: string;
  /** Address of a store that is not Amazon's, with its scheme; the bucket becomes the first part of the path. */
  readonly endpoint?: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** An object of a listing. */
export interface S3Object {
  readonly key: string;
  readonly changedAtMs: number;
}

/** Operations on a bucket. Every one but `presign` rejects with an `S3Failure`, at the latest at its time limit. */
export interface S3Bucket {
  /**
   * Puts an object in one request, so that readers see it whole or as it was before. A file is read as it is sent. A
   * request beyond its time limit is cancelled.
   */
  put(key: string, content: Blob, mediaType: string): Promise<void>;
  /** The object's bytes; `undefined` when there is none. */
  get(key: string): Promise<Uint8Array | undefined>;
  /** Removes an object; a missing one counts as removed. */
  remove(key: string): Promise<void>;
  /** Objects in the order of their keys: at most 1,000 of those that begin with `prefix` and come behind `after`. */
  list(
    prefix: string,
    after: string,
  ): Promise<{ readonly objects: readonly S3Object[]; readonly more: boolean }>;
  /** A URL by which anybody may read the object for `seconds`, as a file of this name. */
  presign(key: string, lifetimeSec: number, fileName: string): string;
}

/** The store's error code (`NoSuchBucket`), or `Timeout`. */
export class S3Failure extends Error {
  readonly code: string;

  constructor(code: string, cause?: unknown) {
    super(`The S3 store answered ${code}.`, { cause });
    this.name = "S3Failure";
    this.code = code;
  }
}

/** Time limit of any request, */
const REQUEST_MS = 30_000;

/** and of one with a file a millisecond more for this many bytes: a megabit a second. */
const BYTES_PER_MS = 128;

/** How long signatures of our own requests hold: a request takes less, and clocks may differ. */
const SIGNED_SEC = 3_600;

/** The origin of the URLs that `presign` makes. */
export function storeOrigin({ region, endpoint }: Pick<S3Place, "region" | "endpoint">): string {
  return endpoint ?? `https://s3.${region}.amazonaws.com`;
}

/** Opens a bucket by the runtime's client, which sends nothing yet. Takes nothing from the environment. */
export function openS3Bucket(place: S3Place, clock: Clock): S3Bucket {
  const { bucket, region, accessKeyId, secretAccessKey, sessionToken } = place;
  const client = new S3Client({
    bucket,
    region,
    endpoint: storeOrigin(place),
    accessKeyId,
    secretAccessKey,
    sessionToken: sessionToken ?? "",
  });
  // The client has no time limit and cannot be stopped: a late call is left running and ignored.
  const within = async <Answer>(ms: number, answer: Promise<Answer>): Promise<Answer> => {
    const late = Promise.withResolvers<never>();
    const timer = clock.setTimer(ms, () => late.reject(new S3Failure("Timeout")));
    try {
      return await Promise.race([answer, late.promise]);
    } catch (error) {
      throw failureOf(error);
    } finally {
      timer.cancel();
    }
  };
  return {
    async put(key, content, mediaType) {
      // The client would put a large file in parts, which a process that dies leaves in the bucket.
      const url = client.presign(key, { method: "PUT", expiresIn: SIGNED_SEC });
      const late = new AbortController();
      const ms = REQUEST_MS + content.size / BYTES_PER_MS;
      const timer = clock.setTimer(ms, () => late.abort(new S3Failure("Timeout")));
      try {
        const answer = await fetchOnce(url, {
          method: "PUT",
          headers: { "content-type": mediaType, "content-length": String(content.size) },
          body: () => content.stream(),
          signal: late.signal,
        });
        const text = await answer.text();
        if (!answer.ok) throw new S3Failure(wordIn(text) ?? `status ${answer.status}`);
      } catch (error) {
        // The runtime's error shows the URL with its signature, so it is dropped.
        throw late.signal.aborted ? late.signal.reason : new S3Failure(codeOf(error));
      } finally {
        timer.cancel();
      }
    },

    async get(key) {
      try {
        return await within(REQUEST_MS * 10, client.file(key).bytes());
      } catch (error) {
        if (error instanceof S3Failure && error.code === "NoSuchKey") return undefined;
        throw error;
      }
    },

    async remove(key) {
      await within(REQUEST_MS, client.delete(key));
    },

    async list(prefix, after) {
      const startAfter = after === "" ? {} : { startAfter: after };
      const { contents = [], isTruncated = false } = await within(
        REQUEST_MS,
        client.list({ prefix, maxKeys: 1_000, ...startAfter }),
      );
      const objects = contents.map(({ key, lastModified = "" }) => ({
        key,
        // An object without a date counts as just made.
        changedAtMs: Date.parse(lastModified) || clock.nowMs(),
      }));
      return { objects, more: isTruncated };
    },

    presign: (key, expiresIn, fileName) =>
      client.presign(key, {
        method: "GET",
        expiresIn,
        contentDisposition: `inline; filename="${fileName}"`,
      }),
  };
}

/** The store's error code, in its XML answer. */
function wordIn(text: string): string | undefined {
  return /<Code>(\w{1,100})<\/Code>/.exec(text)?.[1];
}

function failureOf(error: unknown): S3Failure {
  return error instanceof S3Failure ? error : new S3Failure(codeOf(error), error);
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "nothing";
}
