import type { Clock } from "../../core/time/clock.ts";
import type { Engine } from "../../db/engine.ts";
import { atOneMoment } from "../../db/one-moment.ts";
import type { Database } from "../../db/schema.ts";
import { createStandby, type Standby } from "../../runtime/worker.ts";
import type { OpenHolds } from "../open-holds.ts";
import { type Check, check, checkBooks, type Findings } from "./checks.ts";
import type { AuditRequest } from "./request.ts";
import type { Writer } from "../writer.ts";

/** The result of an audit: whether every invariant of the books holds. */
export interface AuditReport {
  readonly ok: boolean;
  readonly checks: readonly Check[];
}

/** An audit, and when it ended. */
export interface AuditEnd {
  readonly atMs: number;
  readonly report: AuditReport;
}

/** Checks the books without blocking the writer. */
export interface Audit {
  /** Checks what is new since the last audit, or everything when `full`. Calls at the same time share one run. */
  run(full: boolean): Promise<AuditReport>;
  /** The last that has ended in this process. */
  last(): AuditEnd | undefined;
}

/** Checks one snapshot of the store. */
export type Auditor = (request: AuditRequest) => Promise<Findings>;

/** Marks of one command at most. */
const MAX_MARKS = 500;

/** What an audit is made of. */
export interface AuditParts {
  readonly auditor: Auditor;
  /** Resolves when the tables have everything that was answered before. */
  readonly current: () => Promise<void>;
  /** Where holds are kept in this process's memory, and charges go to a journal first. */
  readonly openHolds?: Pick<OpenHolds, "compare" | "compareJournal"> | undefined;
  readonly writer: Writer;
  readonly clock: Clock;
  /** Since when this process has run without a break of its own or of the store; `undefined` during one. */
  readonly thereSinceMs: () => number | undefined;
}

/** An audit by `auditor`. It stores marks of what it found right, from which the next one goes on. */
export function createAudit({ auditor, current, openHolds, writer, clock, thereSinceMs }: AuditParts): Audit {
  const running = new Map<boolean, Promise<AuditReport>>();
  let last: AuditEnd | undefined;

  const run = async (full: boolean): Promise<AuditReport> => {
    await current();
    const nowMs = clock.steadyMs();
    const { checks, marks } = await auditor({ full, nowMs, thereSinceMs: thereSinceMs() ?? nowMs });
    const beside = openHolds === undefined ? [] : [memoryCheck(await openHolds.compare())];
    const ofJournal = await openHolds?.compareJournal?.();
    if (ofJournal !== undefined) beside.push(journalCheck(ofJournal));
    // One command marks an account and its keys, so that marks that belong together are written together.
    let group: (typeof marks)[number][number][] = [];
    const flush = async (): Promise<void> => {
      if (group.length > 0) await writer.submit({ kind: "mark_audited", marks: group });
      group = [];
    };
    for (const ofAccount of marks) {
      if (group.length + ofAccount.length > MAX_MARKS) await flush();
      group.push(...ofAccount);
    }
    await flush();
    const all = [...checks, ...beside];
    const report = { ok: all.every((check) => check.ok), checks: all };
    last = { atMs: clock.nowMs(), report };
    return report;
  };

  return {
    run(full) {
      const shared = running.get(full) ?? run(full).finally(() => running.delete(full));
      running.set(full, shared);
      return shared;
    },
    last: () => last,
  };
}

/** What this process decides by is what the tables and its open holds come to. */
function memoryCheck(wrong: readonly string[]): Check {
  return check(
    "memory",
    wrong,
    "the balances and budgets in memory are those of the tables, less what is held",
    "memory has another balance or budget than the tables",
  );
}

/** The journal has what was written to it, and the tables with what follows their mark come to what memory says. */
function journalCheck(wrong: readonly string[]): Check {
  return check(
    "journal",
    wrong,
    "the journal has every record that was written, and with those the tables come to what memory says",
    "the journal, the tables and memory do not come to the same",
  );
}

/** Audits a database file on a thread for each run. */
export function createAuditThreads(databaseFile: string): Standby<AuditRequest, Findings> {
  return createStandby(new URL("./thread.ts", import.meta.url), databaseFile);
}

/** Audits a PostgreSQL database, over a connection for each run. */
export function postgresAuditor(url: string): Auditor {
  return async (request) => {
    const { openUnhurried } = await import("../../db/postgres.ts");
    const database = openUnhurried(url);
    try {
      return await checkSnapshot(database, "postgres", request);
    } finally {
      await database.destroy();
    }
  };
}

/** Checks one snapshot of the books. */
export function checkSnapshot(database: Database, engine: Engine, request: AuditRequest): Promise<Findings> {
  return atOneMoment(database, (tx) => checkBooks(tx, engine, request));
}
