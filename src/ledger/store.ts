import { join } from "node:path";
import type { Failpoint } from "../core/failpoint.ts";
import { parseFailpoint, noFailpoint } from "../core/failpoint.ts";
import { type Clock, systemClock } from "../core/time/clock.ts";
import type { Engine } from "../db/engine.ts";
import { migrate } from "../db/migrate.ts";
import type { Database } from "../db/schema.ts";
import { kyselyOver, openForReading } from "../db/sqlite.ts";
import { openForWriting } from "../db/sqlite-file.ts";
import { type Auditor, createAuditThreads, postgresAuditor } from "./audit/audit.ts";
import type { OpenHolds } from "./open-holds.ts";
import type { Gap } from "./sqlite/gaps.ts";
import { contentHash } from "../runtime/hash.ts";
import { keepBooks } from "./sqlite/keep-books.ts";
import type { HoldRow } from "./rows.ts";
import type { Executor, Writer } from "./writer.ts";

/** An open store: typed reads, and the one way to change it. */
export interface Store {
  readonly engine: Engine;
  readonly database: Database;
  readonly executor: Executor;
  /** Open holds in this process's memory. */
  readonly openHolds?: OpenHolds;
  /** The writer as requests and the operator use it: nothing is refused that other processes have set aside. */
  recalling(writer: Writer): Writer;
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
  /** By which leases and holds go. */
  readonly clock?: Clock;
  /** Where a process on a shared store notes its open holds, for the next one on this machine. */
  readonly notesFolder?: string | undefined;
  /** Called when the disk has failed to keep what was written: nothing is written any more. */
  readonly onLost?: (reason: string) => void;
  /** Called when the tables lack what a journal had, and clients were told of it. */
  readonly onGap?: (gap: Gap) => void;
  /** Called when a shared store refuses for good to book what a hold of a dead process probably cost. */
  readonly onUnbooked?: ((hold: HoldRow, reason: string) => void) | undefined;
}

/** Brings the schema up to date and opens the store. Throws one sentence when it cannot be used. */
export async function openStore({
  place,
  failpoint,
  writerFailpoint,
  kill,
  clock = systemClock,
  notesFolder,
  onLost,
  onGap,
  onUnbooked,
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
      recalling: (writer) => writer,
      current: () => keeper.current(),
      auditor: (request) => auditThreads.run(request),
      startThreads: () => auditThreads.standBy(),
    };
  }
  await migrating((await import("../db/postgres.ts")).openUnhurried(place.url), "postgres", failpoint);
  return openShared(place.url, {
    clock,
    notesFolder,
    onUnbooked,
    failpoint: writerFailpoint === undefined ? noFailpoint : parseFailpoint(writerFailpoint, kill),
  });
}

/** The driver takes 1 MiB, which a gateway on SQLite has no use for. */
async function openShared(
  url: string,
  {
    clock,
    notesFolder,
    onUnbooked,
    failpoint,
  }: Pick<StoreSettings, "notesFolder" | "onUnbooked" | "failpoint"> & { readonly clock: Clock },
): Promise<Store> {
  const { openPostgres } = await import("../db/postgres.ts");
  const { openSharedTables } = await import("./postgres/allotment-tables.ts");
  const { openHoldNotes } = await import("./postgres/hold-notes.ts");
  const { openSharedKeeper } = await import("./postgres/keeper.ts");
  const { withRecalls } = await import("./postgres/recalls.ts");
  const keeper = openSharedKeeper({
    openTables: (events) => openSharedTables(url, failpoint, events),
    clock,
    notes: notesFolder === undefined ? undefined : openHoldNotes(join(notesFolder, folderOf(url))),
    onUnbooked,
  });
  return {
    engine: "postgres",
    database: openPostgres(url),
    executor: keeper,
    openHolds: keeper,
    recalling: (writer) => withRecalls(writer, keeper),
    auditor: postgresAuditor(url),
    current: async () => {},
    startThreads: () => {},
  };
}

/** A name for the books at `url`, so that no notes of others are read: another user or password changes nothing. */
function folderOf(url: string): string {
  const [place = ""] = url.replace(/\/\/[^/]*@/, "//").split("?");
  return contentHash(place).slice(0, 16);
}

async function migrating(database: Database, engine: Engine, failpoint: Failpoint): Promise<void> {
  try {
    await migrate(database, engine, failpoint);
  } finally {
    await database.destroy();
  }
}
