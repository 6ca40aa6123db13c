import { join } from "node:path";
import type { KeptTables } from "../db/kept-tables.ts";
import { createCipher } from "../runtime/cipher.ts";
import { createKeptResponses, type KeptParts, type KeptResponses } from "./kept.ts";
import { keptStoreOver } from "./tables.ts";
import { openThreadStore } from "./thread-store.ts";

/** Connections to a server, apart from those of the books; further writes wait for one. */
const MAX_CONNECTIONS = 4;

/** What the store of answers is opened with. */
export interface KeptPlace extends Pick<KeptParts, "clock" | "log" | "settings"> {
  /** The folder of this installation, for a file of its own there, */
  readonly home: string;
  /** or the books' server, which other processes share. */
  readonly databaseUrl: string | undefined;
  /** What answers are sealed with, the same in every process on the store. */
  readonly secret: string;
}

/** Answers that are kept, and what starts the thread that they need. */
export interface OpenKept extends KeptResponses {
  startThreads(): void;
}

/** Opens the store of answers. The books' tables must have been brought up to date. */
export async function openKept({ home, databaseUrl, secret, ...parts }: KeptPlace): Promise<OpenKept> {
  const cipher = createCipher(secret);
  if (databaseUrl === undefined) {
    const store = openThreadStore(join(home, "responses.db"));
    const kept = createKeptResponses({ ...parts, cipher, store });
    return { ...kept, startThreads: () => store.startThread() };
  }
  const { openPostgres } = await import("../db/postgres.ts");
  const store = keptStoreOver(openPostgres<KeptTables>(databaseUrl, MAX_CONNECTIONS));
  return { ...createKeptResponses({ ...parts, cipher, store }), startThreads: () => {} };
}
