import type { Failpoint } from "../core/failpoint.ts";
import { parseFailpoint, noFailpoint } from "../core/failpoint.ts";
import type { Engine } from "../db/engine.ts";
import { migrate } from "../db/migrate.ts";
import type { Database } from "../db/schema.ts";
import { kyselyOver, openForReading } from "../db/sqlite.ts";
import { openForWriting } from "../db/sqlite-file.ts";
import { type Auditor, createAuditThreads, postgresAuditor } from "./audit/audit.ts";
import type { OpenHolds } from "./open-holds.ts";
import type { Gap } from "./sqlite/gaps.ts";
import { keepBooks } from "./sqlite/keep-books.ts";
import type { Executor } from "./writer.ts";

/** An open store: typed reads, and the one way to change it. */
export interface Store {
  readonly engine: Engine;
  readonly database: Database;
  readonly executor: Executor;
  /** Where this process has the store to itself and keeps open holds in memory; absent where the tables have them. */
  readonly openHolds?: OpenHolds;
  /** Resolves when reads see everything that was answered before; rejects when they cannot now. */
  current(): Promise<void>;
  readonly auditor: Auditor;
  /** Starts the threads that are needed later, beside the writer's. */
  startThreads(): void;
}

/** What a store is opened with. */
export interface StoreSettings {
  /** A file of this machine, or the URL of a PostgreSQL server. */
  readonly place: { readonly file: string } | { readonly url: string };
  /** The failpoint of this process's start. */
  readonly failpoint: Failpoint;
  /** The failpoint of the writer, as `name:action[:nth]`. */
  readonly writerFailpoint: string | undefined;
  /** Ends this process at once, as a failpoint asks. */
  readonly kill: () => void;
  /** Called when the disk has failed to keep what was written: nothing is written any more. */
  readonly onLost?: (reason: string) => void;
  /** Called when the tables lack what a journal had, and clients were told of it. */
  readonly onGap?: (gap: Gap) => void;
}

/** Brings the schema up to date and opens the store. Throws one sentence when it cannot be used. */
export async function openStore({
  place,
  failpoint,
  writerFailpoint,
  kill,
  onLost,
  onGap,
}: StoreSettings): Promise<Store> {
  if ("file" in place) {
    await migrating(kyselyOver(openForWriting(place.file)), "sqlite", failpoint);
    const auditThreads = createAuditThreads(place.file);
    const { file } = place;
    const keeper = await keepBooks({ file, failpoint, threadFailpoint: writerFailpoint, onLost, onGap });
    return {
      engine: "sqlite",
      database: openForReading(place.file),
      executor: keeper,
      openHolds: keeper,
      current: () => keeper.current(),
      auditor: (request) => auditThreads.run(request),
      startThreads: () => auditThreads.standBy(),
    };
  }
  // The driver takes 1 MiB, which a gateway on SQLite has no use for.
  const [{ openPostgres, openUnhurried }, { createPostgresExecutor }] = await Promise.all([
    import("../db/postgres.ts"),
    import("./postgres/executor.ts"),
  ]);
  await migrating(openUnhurried(place.url), "postgres", failpoint);
  return {
    engine: "postgres",
    database: openPostgres(place.url),
    executor: createPostgresExecutor(
      place.url,
      writerFailpoint === undefined ? noFailpoint : parseFailpoint(writerFailpoint, kill),
    ),
    auditor: postgresAuditor(place.url),
    current: async () => {},
    startThreads: () => {},
  };
}

async function migrating(database: Database, engine: Engine, failpoint: Failpoint): Promise<void> {
  try {
    await migrate(database, engine, failpoint);
  } finally {
    await database.destroy();
  }
}
