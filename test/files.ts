import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/** This process's open descriptors, as Linux tells them. */
const OPEN = "/proc/self/fd";

/** The descriptors of this process that lead to paths which begin with `prefix`. Linux only. */
export function descriptorsAt(prefix: string): number[] {
  return readdirSync(OPEN).flatMap((descriptor) => {
    const link = join(OPEN, descriptor);
    return existsSync(link) && readlinkSync(link).startsWith(prefix) ? [Number(descriptor)] : [];
  });
}

/**
 * What `script` prints in a process whose files may have so many blocks. A write beyond that fails as on a full disk. A
 * shell counts blocks of 512 bytes or of 1 KiB.
 */
export function printedOnFullDisk(script: string, blocks = 8): string {
  const limit = `trap '' XFSZ; ulimit -f ${blocks}; exec "$@"`;
  const limited = ["sh", "-c", limit, "sh", process.execPath, "-e", script];
  const { stdout } = Bun.spawnSync(limited, {
    // The runtime's own files are no larger than that either: it writes none.
    env: { ...process.env, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" },
    timeout: 10_000,
  });
  return stdout.toString();
}
