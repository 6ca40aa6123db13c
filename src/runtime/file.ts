/**
 * A part of the file at `path`, read as the reader takes it. As the body of an answer the system sends it without
 * passing it through this process. The file must have these bytes and keep them. It is opened at the first read, and an
 * open file stays whole though it is removed.
 */
export function fileSlice(path: string, start: number, end: number): Blob {
  return Bun.file(path).slice(start, end);
}
