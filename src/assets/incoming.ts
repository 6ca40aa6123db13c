import { open } from "node:fs/promises";
import type { ResultFile } from "../core/task.ts";
import { createContentHash } from "../runtime/hash.ts";
import { resultFileOf } from "./asset-name.ts";
import type { FileSource, NotStored } from "./assets.ts";
import { type MAX_FILE_BYTES, openContentCheck } from "./content.ts";
import { unavailable } from "./unavailable.ts";

/** Bytes at hand are read in pieces of this size; other work runs between two of them. */
const PIECE_BYTES = 512 * 1024;

/** A file that is being stored. */
export interface Incoming {
  readonly source: FileSource;
  readonly kind: keyof typeof MAX_FILE_BYTES;
  /** Whether it must survive a power failure once it is stored. */
  readonly durable: boolean;
}

/**
 * Writes a file to `path`, where there must be none, and tells what it is. It checks, hashes and counts the file as it
 * comes, and never holds the whole. Stops as soon as the file is not wanted. Rejects with its source's error, or with
 * an `overloaded_error` when the disk does not take it. Unless it resolves with a file, the caller removes what it has
 * written.
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

/** The same work; its failure is one of the store. */
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

/** Writes a whole piece, however little of it the disk takes at once. */
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
