import { open } from "node:fs/promises";
import type { ResultFile } from "../core/task.ts";
import { createContentHash } from "../runtime/hash.ts";
import { resultFileOf } from "./asset-name.ts";
import type { FileSource, NotStored } from "./assets.ts";
import { type MAX_FILE_BYTES, openContentCheck } from "./content.ts";
import { unavailable } from "./unavailable.ts";

/** Bytes at hand are taken in pieces of so much; between two of them others get their turn. */
const PIECE_BYTES = 512 * 1024;

/** A file that is being taken in. */
export interface Incoming {
  readonly source: FileSource;
  readonly kind: keyof typeof MAX_FILE_BYTES;
  /** Whether it shall outlive a failure of power once it was taken in. */
  readonly durable: boolean;
}

/**
 * Writes a file that comes to `path`, where there must be none, and tells what it is: checked, hashed and counted on the
 * way, never held as a whole. Stops as soon as it is not wanted. Rejects with what the source rejected with, or with an
 * `overloaded_error` when the disk does not take it. Unless a file is told of, the caller removes what is there.
 */
export async function takeIn(
  path: string,
  { source, kind, durable }: Incoming,
): Promise<ResultFile | NotStored> {
  const check = openContentCheck(kind);
  const hash = createContentHash();
  let length = 0;
  const file = await stored(open(path, "wx", 0o600));
  try {
    for await (const piece of piecesOf(source)) {
      const refused = check.push(piece);
      if (refused !== undefined) return refused;
      hash.update(piece);
      length += piece.length;
      await stored(writeWhole(file, piece));
    }
    const content = check.end();
    if ("notStored" in content) return content;
    if (durable) await stored(file.sync());
    return resultFileOf(content, length, hash.digest());
  } finally {
    await stored(file.close());
  }
}

/** The same work, whose failure is one of the store. */
export async function stored<Done>(work: Promise<Done>): Promise<Done> {
  try {
    return await work;
  } catch (cause) {
    throw unavailable("stored", cause);
  }
}

function piecesOf(source: FileSource): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  return source instanceof Uint8Array ? cut(source) : source;
}

function* cut(bytes: Uint8Array): Iterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}

/** Writes a piece to the end, however little of it the disk takes at once. */
export async function writeWhole(
  file: { write: (...args: [Uint8Array, number, number]) => Promise<{ bytesWritten: number }> },
  piece: Uint8Array,
): Promise<void> {
  for (let at = 0; at < piece.length;) {
    const { bytesWritten } = await file.write(piece, at, piece.length - at);
    if (bytesWritten === 0) throw new Error("The disk takes no more.");
    at += bytesWritten;
  }
}
