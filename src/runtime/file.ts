/**
 * A part of the file at `path`, read as it is taken; as the body of an answer it is sent by the system without passing
 * through this process. The file must have these bytes and keep them: it is opened when the first are taken, and what
 * is open then stays whole though the file is removed.
 */
export function fileSlice(path: string, start: number, end: number): Blob {
  return Bun.file(path).slice(start, end);
}
