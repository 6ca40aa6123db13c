import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Random } from "../core/random.ts";
import { createKeyedHash } from "../runtime/hash.ts";
import { openSqlite } from "../runtime/sqlite.ts";

/** The home folder of a running gateway: its files, and the lock that keeps a second process out. */
export interface Home {
  readonly databaseFile: string;
  /** Secret of this installation that API keys are hashed with. */
  readonly pepper: string;
  /** The admin token of this installation: made and shown on the first call ever, known by its hash after that. */
  adminToken(): AdminToken;
  /** Gives the lock back. */
  close(): void;
}

/** The text of a new token, or the keyed hash of one that was made before. */
export type AdminToken =
  | { readonly text: string; readonly isNew: true }
  | { readonly text: undefined; readonly hash: string; readonly isNew: false };

/** Makes the folder when it is missing and locks it. Throws one sentence when it cannot be used. */
export function openHome(folder: string, random: Random): Home {
  makeFolder(folder);
  const lock = lockFolder(folder);
  const pepper = readOrMakeSecret(join(folder, "pepper"), random);
  return {
    databaseFile: join(folder, "switchyard.db"),
    pepper,
    adminToken: () => readOrMakeToken(join(folder, "admin-token"), pepper, random),
    close: () => lock.close(),
  };
}

/** Reads the secret in `file` (mode 0600), made of 32 random bytes in hex when the file is missing. */
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

function readOrMakeToken(file: string, pepper: string, random: Random): AdminToken {
  if (existsSync(file)) return { text: undefined, hash: readFileSync(file, "utf8").trim(), isNew: false };
  const text = `adm-${random.bytes(24).toHex()}`;
  writeFileSync(file, `${createKeyedHash(pepper)(text)}\n`, { mode: 0o600, flag: "wx" });
  return { text, isNew: true };
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const probe = join(folder, ".writable");
    writeFileSync(probe, "");
  } catch (error) {
    throw new Error(
      `The data folder ${folder} cannot be written (${reasonOf(error)}). Give it to this user, or name another in SWITCHYARD_HOME.`,
      { cause: error },
    );
  }
}

/**
 * The lock is an open exclusive transaction on a file of its own: the system lets go of it when the process ends,
 * however it ends, so that a lock can never be left behind.
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

function reasonOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
