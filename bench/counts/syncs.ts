import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** Calls that return when what was written is on the disk. */
const SYNCS = /^\d+ +(?:(?:fsync|fdatasync|sync_file_range|syncfs)\(|msync\(.*MS_SYNC)/;
const SYNCED_OPEN = /^\d+ +openat\(.*?"([^"]+)", [^)]*O_D?SYNC/;
const WRITE = /^\d+ +(?:write|pwrite64|writev|pwritev2?)\(\d+<([^>]*)>/;

/** What strace is to write of, for `countSyncs`. */
export const TRACED =
  "trace=openat,fsync,fdatasync,sync_file_range,syncfs,msync,write,pwrite64,writev,pwritev,pwritev2";

/** `O_DSYNC`, which is a part of `O_SYNC` too, as Linux shows it in `fdinfo`. */
const O_DSYNC = 0o10000;

/** The files that a process has open for synced writes. */
export function syncedFiles(processId: number): ReadonlySet<string> {
  const folder = `/proc/${processId}`;
  const files = readdirSync(`${folder}/fd`).flatMap((descriptor) => {
    try {
      const [, flags = ""] =
        /^flags:\s*(\d+)/m.exec(readFileSync(`${folder}/fdinfo/${descriptor}`, "utf8")) ?? [];
      return (Number.parseInt(flags, 8) & O_DSYNC) === 0 ? [] : [readlinkSync(`${folder}/fd/${descriptor}`)];
    } catch {
      // Closed meanwhile.
      return [];
    }
  });
  return new Set(files);
}

/** The syncs in what strace wrote; also each write to a file in `open`, or opened since, for synced writes. */
export function countSyncs(trace: string, open: ReadonlySet<string>): number {
  const lines = trace.split("\n");
  const synced = new Set([...open, ...lines.flatMap((line) => SYNCED_OPEN.exec(line)?.[1] ?? [])]);
  return lines.filter((line) => SYNCS.test(line) || synced.has(WRITE.exec(line)?.[1] ?? "")).length;
}
