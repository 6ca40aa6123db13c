import { sql } from "kysely";
import type { Engine } from "../../db/engine.ts";
import type { Database } from "../../db/schema.ts";
import type { AuditReport } from "../../ledger/audit/audit.ts";
import { storeTime } from "../../ledger/records.ts";
import type { TaskCount } from "../../tasks/task-counts.ts";

/** How the gateway stands, for its operator. */
export interface StatusView {
  readonly version: string;
  readonly started_at: number;
  readonly store: { readonly engine: Engine; readonly place: string; readonly files: string };
  /** Processes that share the store and are alive, this one included. */
  readonly processes: number;
  readonly queue: { readonly pending: number; readonly running: number };
  readonly open_holds: number;
  readonly providers: readonly ProviderStatus[];
  /** Settings in force, by the names of switchyard.yaml and of the variables; never a credential. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly audit: { readonly last_run_at: number | null; readonly ok: boolean | null };
}

/** A provider that there can be. */
export interface ProviderStatus {
  readonly id: string;
  /** Whether it can be called now. */
  readonly live: boolean;
  readonly credentials: number;
  /** Whether it is the sandbox, whose answers are invented. */
  readonly sandbox: boolean;
}

/** What a status is read from. */
export interface StatusParts {
  readonly version: string;
  readonly startedAtMs: number;
  readonly engine: Engine;
  readonly database: Database;
  /** Where the books and the files of results are, without a credential. */
  readonly places: { readonly store: string; readonly files: string };
  /** Holds in the memory of this process. */
  openHolds(): number;
  countTasks(): Promise<readonly TaskCount[]>;
  providers(): readonly ProviderStatus[];
  settings(): Readonly<Record<string, unknown>>;
  lastAudit(): { readonly atMs: number; readonly report: AuditReport } | undefined;
  steadyMs(): number;
}

/** Reads the status as it is now. */
export async function readStatus(parts: StatusParts): Promise<StatusView> {
  const { engine, database, places } = parts;
  const [processes, inTables, tasks] = [
    await countProcesses(parts),
    await countHolds(database),
    await parts.countTasks(),
  ];
  const count = (state: TaskCount["state"]): number =>
    tasks.filter((each) => each.state === state).reduce((sum, each) => sum + each.count, 0);
  const audit = parts.lastAudit();
  return {
    version: parts.version,
    started_at: parts.startedAtMs / 1000,
    store: { engine, place: places.store, files: places.files },
    processes,
    queue: { pending: count("pending"), running: count("running") },
    open_holds: inTables + parts.openHolds(),
    providers: parts.providers(),
    settings: asWritten(parts.settings()) as Readonly<Record<string, unknown>>,
    audit: {
      last_run_at: audit === undefined ? null : audit.atMs / 1000,
      ok: audit?.report.ok ?? null,
    },
  };
}

async function countProcesses({ engine, database, steadyMs }: StatusParts): Promise<number> {
  const { count } = await database
    .selectFrom("processes")
    .select(({ fn }) => fn.countAll().as("count"))
    .where(sql<boolean>`lease_until_ms > ${storeTime(engine, steadyMs())}`)
    .executeTakeFirstOrThrow();
  return Number(count);
}

async function countHolds(database: Database): Promise<number> {
  const { count } = await database
    .selectFrom("holds")
    .select(({ fn }) => fn.countAll().as("count"))
    // A constant in the statement's text: a partial index is used only where the statement itself has its condition.
    .where("state", "=", sql.lit("held" as const))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** A value of the settings as the file has it: names with underscores, times in seconds, lists for sets. */
function asWritten(value: unknown): unknown {
  if (value instanceof Map) return asWritten(Object.fromEntries(value));
  if (value instanceof Set) return asWritten([...value]);
  if (Array.isArray(value)) return value.map(asWritten);
  if (typeof value !== "object" || value === null) return value ?? null;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const isTime = name.endsWith("Ms") && typeof member === "number";
      const written = (isTime ? name.replace(/Ms$/, "Seconds") : name).replace(
        /[A-Z]/g,
        (letter) => `_${letter.toLowerCase()}`,
      );
      return [written, isTime ? member / 1000 : asWritten(member)];
    }),
  );
}
