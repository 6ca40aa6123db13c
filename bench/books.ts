import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { findPostgres, startCluster } from "../test/postgres/cluster.ts";
import type { Checkout } from "./checkout.ts";
import { measureSyncMs } from "./disk-sync.ts";
import { markdownTable } from "./figures/table.ts";
import { median } from "./percentile.ts";
import { threadCpuSeconds } from "./process-cpu.ts";
import { startServer } from "./processes.ts";
import type { Pace } from "./request-path.ts";
import { shown, spread } from "./rounds.ts";
import { onTearDown } from "./teardown.ts";

/** The result of one load of a books server. A pair is a hold and its settlement. */
export interface BooksLoad {
  readonly pairs: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** CPU time of the process, all its threads. */
  readonly cpuSeconds: number;
  /** Transactions that were written, each of which is synced once. */
  readonly commits: number;
}

/** What the stage needs to know. */
export interface BooksForm {
  /** A temporary folder on the disk that is measured. */
  readonly folder: string;
  /** A commit whose books are measured in turns with ours. */
  readonly theirs: Checkout | undefined;
  readonly pace: Pace;
}

/** One round of one row, and the disk's own syncs beside it. */
interface BooksRound extends BooksLoad {
  readonly serverCpuSeconds: number | undefined;
  readonly syncMs: readonly number[];
}

/** One line of the table. */
export interface BooksRow {
  readonly store: StoreName;
  /** Whose books: ours, or those of the other commit, by its name. */
  readonly theirs: string | undefined;
  readonly accounts: number;
  readonly callers: number;
  readonly rounds: readonly BooksRound[];
}

type StoreName = "SQLite" | "PostgreSQL";

interface Subject {
  readonly store: StoreName;
  readonly theirs: string | undefined;
  load(bounds: Bounds): Promise<BooksLoad>;
  /** CPU time of the database's own server so far; undefined when it has none. */
  serverCpuSeconds(): number | undefined;
}

interface Bounds {
  readonly callers: number;
  readonly accounts: number;
  readonly seconds: number;
}

const CALLERS = [1, 8, 64];
const ACCOUNTS = [1, 64];
const PACES: Readonly<Record<Pace, { rounds: number; seconds: number; warmUpSeconds: number }>> = {
  quick: { rounds: 2, seconds: 0.4, warmUpSeconds: 1 },
  full: { rounds: 3, seconds: 1, warmUpSeconds: 2 },
};
/** What ours may cost on PostgreSQL, with its server, as a multiple of what it cost before processes reserved. */
const POSTGRES_GOALS: Readonly<Record<number, number>> = { 8: 0.2, 64: 0.35 };
const SYNCED_BYTES = 4_096;
const SYNCS = 40;

/**
 * Measures a hold and its settlement in the gateway's own ledger over each store, by rounds in turns. `report` gets
 * progress, and the name of a store that is not there.
 */
export async function measureBooks(form: BooksForm, report: (line: string) => void): Promise<BooksRow[]> {
  const { rounds, seconds, warmUpSeconds } = PACES[form.pace];
  const subjects = await startSubjects(form, report);
  for (const subject of subjects) {
    report(`books on ${subject.store}, ${subject.theirs ?? "ours"}: warm-up …`);
    for (const callers of CALLERS)
      await subject.load({ callers, accounts: 64, seconds: warmUpSeconds / CALLERS.length });
  }
  const rows = subjects.flatMap((subject) =>
    ACCOUNTS.flatMap((accounts) =>
      CALLERS.map((callers) => ({
        subject,
        store: subject.store,
        theirs: subject.theirs,
        accounts,
        callers,
        rounds: [] as BooksRound[],
      })),
    ),
  );
  // In turns, so that changes of the machine meet all stores alike.
  const turns = rows.toSorted((a, b) => a.accounts - b.accounts || a.callers - b.callers);
  for (let round = 1; round <= rounds; round++) {
    report(`books: round ${round} of ${rounds} …`);
    for (const { subject, accounts, callers, rounds: done } of turns)
      done.push(await measureRound(form.folder, subject, { accounts, callers, seconds }));
  }
  return rows;
}

async function measureRound(folder: string, subject: Subject, bounds: Bounds): Promise<BooksRound> {
  const syncMs = measureSyncMs({ folder, bytes: SYNCED_BYTES, writes: SYNCS });
  const before = subject.serverCpuSeconds();
  const load = await subject.load(bounds);
  const after = subject.serverCpuSeconds();
  const serverCpuSeconds = before === undefined || after === undefined ? undefined : after - before;
  return { ...load, serverCpuSeconds, syncMs };
}

async function startSubjects(form: BooksForm, report: (line: string) => void): Promise<Subject[]> {
  const postgres = findPostgres() === undefined ? undefined : await startPostgres();
  if (postgres === undefined) report("books on PostgreSQL: skipped, it is not installed");
  const subjects: Subject[] = [];
  for (const checkout of new Set([form.theirs, undefined])) {
    const folder = join(form.folder, `books-${checkout?.name ?? "ours"}`);
    mkdirSync(folder);
    const file = join(folder, "switchyard.db");
    subjects.push(await startSubject({ checkout, folder }, "SQLite", ["--file", file], () => undefined));
    if (postgres === undefined) continue;
    const { url } = await postgres.database();
    // Autovacuum and writers of other databases count, too: all of them work for what is measured.
    const cpu = () => postgres.processes().reduce((sum, pid) => sum + cpuSecondsOf(pid), 0);
    subjects.push(await startSubject({ checkout, folder }, "PostgreSQL", ["--url", url], cpu));
  }
  return subjects;
}

async function startPostgres() {
  // The server's own default; the tests' is smaller.
  const cluster = await startCluster({ fsync: true, settings: { shared_buffers: "128MB" } });
  onTearDown(() => cluster.remove());
  return cluster;
}

async function startSubject(
  { checkout, folder }: { readonly checkout: Checkout | undefined; readonly folder: string },
  store: StoreName,
  place: readonly string[],
  serverCpuSeconds: () => number | undefined,
): Promise<Subject> {
  // The one of that checkout, so that it loads that checkout's books.
  const entry = join(checkout?.root ?? join(import.meta.dir, ".."), "bench/books-server.ts");
  const server = await startServer({ on: [], args: [entry, ...place], env: { SWITCHYARD_HOME: folder } });
  return {
    store,
    theirs: checkout?.name,
    serverCpuSeconds,
    async load({ callers, accounts, seconds }) {
      const question = `callers=${callers}&accounts=${accounts}&seconds=${seconds}`;
      const answer = await fetch(`${server.url}/?${question}`, { timeout: false });
      if (!answer.ok) throw new Error(`books on ${store}: ${await answer.text()}`);
      return (await answer.json()) as BooksLoad;
    },
  };
}

/** A process that ends meanwhile has used nothing that matters. */
function cpuSecondsOf(pid: number): number {
  try {
    return threadCpuSeconds(pid).reduce((sum, { seconds }) => sum + seconds, 0);
  } catch {
    return 0;
  }
}

const HEAD = [
  "store",
  "accounts",
  "at once",
  "ms for each p50 / p99",
  "each second",
  "CPU µs gateway",
  "CPU µs database server",
  "syncs for each",
  "disk's own sync µs",
];

/** The rows as a table in Markdown; "each" is a hold and its settlement. */
export function booksTable(rows: readonly BooksRow[]): string {
  const others = new Set(rows.flatMap(({ theirs }) => theirs ?? []));
  const head = [...HEAD, ...[...others].flatMap((name) => [`together × ${name}`, "goal"])];
  return markdownTable(
    head,
    rows.map((row) => [...cells(row), ...comparisonCells(row, rows)]),
  );
}

function cells({ store, theirs, accounts, callers, rounds }: BooksRow): string[] {
  const middle = (figure: (round: BooksRound) => number): number => median(rounds.map(figure));
  const micros = (figure: (round: BooksRound) => number): string =>
    shown(spread(rounds.map((round) => (figure(round) * 1e6) / round.pairs)), 0);
  const hasServer = rounds.every(({ serverCpuSeconds }) => serverCpuSeconds !== undefined);
  return [
    theirs === undefined ? store : `${store}, ${theirs}`,
    String(accounts),
    String(callers),
    `${middle(({ p50Ms }) => p50Ms).toFixed(2)} / ${middle(({ p99Ms }) => p99Ms).toFixed(2)}`,
    middle(({ pairs, seconds }) => pairs / seconds).toFixed(0),
    micros(({ cpuSeconds }) => cpuSeconds),
    hasServer ? micros(({ serverCpuSeconds }) => serverCpuSeconds ?? 0) : "–",
    middle(({ commits, pairs }) => commits / pairs).toFixed(3),
    (median(rounds.flatMap(({ syncMs }) => syncMs)) * 1_000).toFixed(0),
  ];
}

/** CPU of gateway and server together, beside that of the other commit's same row in the same round. */
function comparisonCells(row: BooksRow, rows: readonly BooksRow[]): string[] {
  const beside = rows.find(
    ({ store, theirs, accounts, callers }) =>
      theirs !== undefined && store === row.store && accounts === row.accounts && callers === row.callers,
  );
  if (row.theirs !== undefined || beside === undefined) return [];
  const together = ({ cpuSeconds, serverCpuSeconds = 0, pairs }: BooksRound): number =>
    (cpuSeconds + serverCpuSeconds) / pairs;
  const ratio = spread(
    row.rounds.flatMap((round, index) => {
      const other = beside.rounds[index];
      return other === undefined ? [] : [together(round) / together(other)];
    }),
  );
  const goal = row.store === "PostgreSQL" ? POSTGRES_GOALS[row.callers] : undefined;
  const judged = goal === undefined ? "–" : `${ratio.median <= goal ? "✓" : "✗"} ≤ ${goal}`;
  return [shown(ratio, 2), judged];
}
