/** Calls that return when what was written is on the disk. */
const SYNCS = /^\d+ +(?:(?:fsync|fdatasync|sync_file_range|syncfs)\(|msync\(.*MS_SYNC)/;
const SYNCED_OPEN = /^\d+ +openat\(.*?"([^"]+)", [^)]*O_D?SYNC/;
const WRITE = /^\d+ +(?:write|pwrite64|writev|pwritev2?)\(\d+<([^>]*)>/;

/** What strace is to write of, for `countSyncs`. */
export const TRACED =
  "trace=openat,fsync,fdatasync,sync_file_range,syncfs,msync,write,pwrite64,writev,pwritev,pwritev2";

/** The syncs in what strace wrote from `start` on: also each write to a file that was opened for synced writes. */
export function countSyncs(trace: string, start: number): number {
  const synced = new Set(trace.split("\n").flatMap((line) => SYNCED_OPEN.exec(line)?.[1] ?? []));
  return trace
    .slice(start)
    .split("\n")
    .filter((line) => SYNCS.test(line) || synced.has(WRITE.exec(line)?.[1] ?? "")).length;
}
