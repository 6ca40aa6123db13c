import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Random } from "../core/random.ts";
import { openSqlite } from "../runtime/sqlite.ts";

/** The home folder of a running gateway: its files, and the lock that keeps a second process out. */
export interface Home {
  readonly databaseFile: string;
  /** Secret of this installation that API keys are hashed with. */
  readonly pepper: string;
  /** The hash of an admin token that an earlier version kept here; the store keeps it now. */
  readonly adminTokenHash: string | undefined;
  /** Releases the lock. */
  close(): void;
}

/** Makes the folder when it is missing and locks it. Throws one sentence when it cannot be used. */
export function openHome(folder: string, random: Random): Home {
  makeFolder(folder);
  const lock = lockFolder(folder);
  return {
    databaseFile: join(folder, "switchyard.db"),
    pepper: readOrMakeSecret(join(folder, "pepper"), random),
    adminTokenHash: readIfThere(join(folder, "admin-token")),
    close: () => lock.close(),
  };
}

/** Reads the secret in `file` (mode 0600); makes one of 32 random bytes in hex when the file is missing. */
export function readOrMakeSecret(file: string, random: Random): string {
  if (!existsSync(file)) {
    writeFileSync(file, `${random.bytes(32).toHex()}\n`, { mode: 0o600, flag: "wx" });
  }
  chmodSync(file, 0o600);
  const secret = readFileSync(file, "utf8").trim();
  if (secret.length < 32)
    throw new Error(`The secret in ${file} is empty or too short. Restore it from a backup.`);
  return secret;
}

function readIfThere(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, "utf8").trim() : undefined;
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const probe = join(folder, ".writable");
    writeFileSync(probe, "");
  } catch (error) {
    throw new Error(
      `The data folder ${folder} cannot be written (${(error as NodeJS.ErrnoException).code}). Give it to this user, or name another in SWITCHYARD_HOME.`,
      { cause: error },
    );
  }
}

/**
 * The lock is an open exclusive transaction on a file of its own. The system releases it however the process ends, so
 * that a lock is never left behind.
 */
function lockFolder(folder: string): { close(): void } {
  const file = join(folder, "lock");
  const lock = openSqlite(file);
  try {
    lock.execute("pragma busy_timeout = 0");
    lock.execute("pragma journal_mode = delete");
    lock.execute("begin exclusive");
  } catch (error) {
    lock.close();
    throw new Error(
      `The data folder ${folder} is in use by another Switchyard process. Stop that one, or name another folder in SWITCHYARD_HOME.`,
      { cause: error },
    );
  }
  return lock;
}
