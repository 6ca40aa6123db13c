import type { ResultFile } from "../core/task.ts";

/** Files that tasks made, where they are kept: a folder, or a store that speaks S3. */
export interface Assets {
  /**
   * Keeps the bytes of a result, durable when it resolves. The kind is told by the content: anything but a whole
   * picture (PNG, JPEG, WebP) or film (MP4) of the wanted kind is refused with a sentence.
   */
  store(taskId: string, bytes: Uint8Array, kind: "image" | "video"): Promise<ResultFile | NotStored>;
  /** A URL of the file, signed now. */
  urlOf(taskId: string, file: ResultFile): string;
  /** The bytes of a file that was stored; `undefined` when it is not there any more. */
  read(taskId: string, name: string): Promise<Uint8Array | undefined>;
  /** Removes all that is kept of a task. */
  remove(taskId: string): Promise<void>;
  /** Removes what was left behind by processes that died: files older than an hour of tasks that do not name them. */
  sweep(isNamed: (taskId: string, name: string) => Promise<boolean>): Promise<number>;
}

/** Why bytes were not kept. */
export interface NotStored {
  readonly notStored: string;
}
