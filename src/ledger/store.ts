import type { Failpoint } from "../core/failpoint.ts";
import { parseFailpoint, noFailpoint } from "../core/failpoint.ts";
import type { Engine } from "../db/engine.ts";
import { migrate } from "../db/migrate.ts";
import { openUnhurried, openPostgres } from "../db/postgres.ts";
import type { Database } from "../db/schema.ts";
import { kyselyOver, openForReading, openForWriting } from "../db/sqlite.ts";
import { type Auditor, createAuditThreads, postgresAuditor } from "./audit/audit.ts";
import { createPostgresExecutor } from "./postgres/executor.ts";
import { createSqliteExecutor } from "./sqlite/executor.ts";
import type { Executor } from "./writer.ts";

/** An open store: typed reads, and the one way to change it. */
export interface Store {
  readonly engine: Engine;
  readonly database: Database;
  readonly executor: Executor;
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
}

/** Brings the schema up to date and opens the store. Throws one sentence when it cannot be used. */
export async function openStore({
  place,
  failpoint,
  writerFailpoint,
  kill,
  onLost,
}: StoreSettings): Promise<Store> {
  if ("file" in place) {
    await migrating(kyselyOver(openForWriting(place.file)), "sqlite", failpoint);
    const auditThreads = createAuditThreads(place.file);
    return {
      engine: "sqlite",
      database: openForReading(place.file),
      executor: createSqliteExecutor(
        { databaseFile: place.file, failpoint: writerFailpoint ?? null },
        onLost,
      ),
      auditor: (request) => auditThreads.run(request),
      startThreads: () => auditThreads.standBy(),
    };
  }
  await migrating(openUnhurried(place.url), "postgres", failpoint);
  return {
    engine: "postgres",
    database: openPostgres(place.url),
    executor: createPostgresExecutor(
      place.url,
      writerFailpoint === undefined ? noFailpoint : parseFailpoint(writerFailpoint, kill),
    ),
    auditor: postgresAuditor(place.url),
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
