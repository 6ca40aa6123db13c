import type { Clock } from "../core/time/clock.ts";
import type { ResultFile } from "../core/task.ts";

/** Stored files that tasks made: in a folder, or in a store that speaks S3. */
export interface Assets {
  /**
   * Stores a file of the wanted kind, durable when it resolves. It checks, hashes and writes the pieces as they come,
   * and never holds the whole. It refuses with a sentence all but a whole image (PNG, JPEG, WebP) or video (MP4), as
   * soon as the content shows it. The name is made of the content, so storing a file again overwrites it with itself.
   * Rejects with its source's error, or with an `overloaded_error` when the store cannot keep it now (the disk is full,
   * the store is away). Nothing of the file is visible then, and the caller can try again. What can be tried again
   * without its source is tried by `insist`; absent: once.
   */
  store(
    taskId: string,
    source: FileSource,
    kind: "image" | "video",
    insist?: Insist,
  ): Promise<ResultFile | NotStored>;
  /** A URL of the file, signed now; for an hour. */
  urlOf(taskId: string, file: ResultFile): string;
  /**
   * The bytes of a stored file; `undefined` when it is gone. Rejects with an `overloaded_error` when it cannot be read
   * now.
   */
  read(taskId: string, name: string): Promise<Uint8Array | undefined>;
  /** Removes all files of a task. */
  remove(taskId: string): Promise<void>;
  /**
   * Removes files older than an hour that no task will name: `isNamed` tells whether the file's task names it or is
   * still running and may name it. Each call looks at a bounded number of files and goes on where the last one stopped.
   * It resolves with the number of files that it removed.
   */
  sweep(isNamed: (taskId: string, name: string) => Promise<boolean>): Promise<number>;
}

/** A file that arrives: its bytes, or its pieces in order. A piece is valid until the next one is asked for. */
export type FileSource = Uint8Array | AsyncIterable<Uint8Array>;

/** Does work of the store, and may repeat it when it rejects. */
export type Insist = <Done>(work: () => Promise<Done>) => Promise<Done>;

/** The files of `Assets` as readers of their URLs get them. */
export interface AssetUrls {
  /**
   * The file of a URL that `urlOf` made, by its path and query as sent. `undefined` for any other URL, an expired one,
   * a file that is gone, and wherever URLs lead to the store itself. Rejects with an `overloaded_error` when the file
   * cannot be read now.
   */
  open(path: string, query: string): Promise<OpenAsset | undefined>;
}

/** Why a file was not stored. */
export interface NotStored {
  readonly notStored: string;
}

/** A file that may be sent. */
export interface OpenAsset {
  readonly taskId: string;
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: number;
  /** For how many seconds more its URL is valid. */
  readonly goodForSec: number;
  /** Its bytes from `start` to before `end`, read from the store as the reader takes them. */
  slice(start: number, end: number): Blob;
}

/** The sweep removes files without a task that are older: a younger one may be of a task that is just ending. */
const ORPHAN_MS = 60 * 60 * 1000;

/**
 * Files written before then are old enough. The slower of both clocks counts, so that setting the time forward makes no
 * file old.
 */
export function orphanedBeforeMs(clock: Clock): number {
  return Math.min(clock.nowMs(), clock.steadyMs()) - ORPHAN_MS;
}
