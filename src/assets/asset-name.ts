import type { ResultFile } from "../core/task.ts";
import { type Content, MEDIA_TYPES } from "./content.ts";

/** A stored file: its task, and its name among the files of the task. */
export interface AssetName {
  readonly taskId: string;
  readonly name: string;
}

/** Ids of tasks, as `newId` makes them. */
const TASK_ID = /^(?:img|vid)_[0-9a-f]{32}$/;

/** The first 128 bits of the content's SHA-256, and the kind of file. */
const NAME = /^[0-9a-f]{32}\.(png|jpg|webp|mp4)$/;

/** Whether `text` is the id of a task. Nothing else becomes part of a path. */
export function isTaskId(text: string): boolean {
  return TASK_ID.test(text);
}

/** Whether `text` is a name of a stored file. */
export function isAssetName(text: string): boolean {
  return NAME.test(text);
}

/** The media type of a file with this name. Throws for text that is none. */
export function mediaTypeOf(name: string): string {
  const extension = NAME.exec(name)?.[1];
  const known = Object.entries(MEDIA_TYPES).find(([each]) => each === extension);
  if (known === undefined) throw new Error("This is no name of a result file.");
  return known[1];
}

/** The facts of a file with this content. */
export function resultFileOf(content: Content, bytes: number, sha256: string): ResultFile {
  const name = `${sha256.slice(0, 32)}.${content.extension}`;
  return { name, mediaType: content.mediaType, bytes, sha256 };
}

/** The name under which a browser saves the file. */
export function fileNameOf({ taskId, name }: AssetName): string {
  return `${taskId}-${name.slice(0, 8)}${name.slice(name.indexOf("."))}`;
}

/** The path of a file's URL, from the base of all URLs. */
export function pathOf({ taskId, name }: AssetName): string {
  return `/assets/${taskId}/${name}`;
}

/** The file of this path, compared letter by letter; `undefined` for any other path. */
export function readPath(path: string): AssetName | undefined {
  const [empty, assets, taskId = "", name = "", ...more] = path.split("/");
  const isOurs = empty === "" && assets === "assets" && more.length === 0;
  return isOurs && isTaskId(taskId) && isAssetName(name) ? { taskId, name } : undefined;
}
