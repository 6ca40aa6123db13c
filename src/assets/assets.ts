import type { Clock } from "../core/time/clock.ts";
import type { ResultFile } from "../core/task.ts";

/** Files that tasks made, where they are kept: a folder, or a store that speaks S3. */
export interface Assets {
  /**
   * Takes in a file of the wanted kind, durable when it resolves. The kind is told by the content: anything but a whole
   * image (PNG, JPEG, WebP) or video (MP4) is refused with a sentence, as soon as that is clear. It is checked, hashed
   * and written as it comes, and never held as a whole. The name is made of the content, so who stores the same again
   * overwrites it with itself. Rejects with what its source rejected with, or with an `overloaded_error` when it cannot
   * be kept now (the disk is full, the store is away): nothing of it is to be seen then, and it can be tried again.
   * What can be tried again without its source is tried by `insist`; absent: once.
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
   * The bytes of a file that was stored; `undefined` when it is not there any more. Rejects with an `overloaded_error`
   * when it cannot be read now.
   */
  read(taskId: string, name: string): Promise<Uint8Array | undefined>;
  /** Removes all that is kept of a task. */
  remove(taskId: string): Promise<void>;
  /**
   * Removes files older than an hour that nobody will name: `isNamed` says of each whether its task names it or is
   * still at work, and may name it yet. Looks at a bounded number each time and goes on there the next time. Tells how
   * many files it removed.
   */
  sweep(isNamed: (taskId: string, name: string) => Promise<boolean>): Promise<number>;
}

/** A file that comes: its bytes, or its pieces, one after the other. A piece is used until the next is asked for. */
export type FileSource = Uint8Array | AsyncIterable<Uint8Array>;

/** Does some work of the store, again as often as it likes where that rejects. */
export type Insist = <Done>(work: () => Promise<Done>) => Promise<Done>;

/** The files of `Assets` as their URLs are asked for. */
export interface AssetUrls {
  /**
   * The file that a URL of `urlOf` names, by its path and query as they were sent; `undefined` for any other URL, for one
   * whose time is over, for a file that is not there any more, and wherever URLs lead to the store itself. Rejects with
   * an `overloaded_error` when it cannot be read now.
   */
  open(path: string, query: string): Promise<OpenAsset | undefined>;
}

/** Why bytes were not kept. */
export interface NotStored {
  readonly notStored: string;
}

/** A file that may be sent. */
export interface OpenAsset {
  readonly taskId: string;
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: number;
  /** For how much longer the URL that named it is good. */
  readonly goodForSec: number;
  /** Its bytes from `start` to before `end`, read from where they are kept as they are taken. */
  slice(start: number, end: number): Blob;
}

/** A file that no task names is swept when it is older: what is younger may be of a task that is just ending. */
const ORPHAN_MS = 60 * 60 * 1000;

/** What was written before then is old enough: by the slower clock, so that none that was set forward makes a file old. */
export function orphanedBeforeMs(clock: Clock): number {
  return Math.min(clock.nowMs(), clock.steadyMs()) - ORPHAN_MS;
}
