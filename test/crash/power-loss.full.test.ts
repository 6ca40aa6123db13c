import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "bun:test";
import { keepBooks } from "../../src/ledger/sqlite/keep-books.ts";
import { openSqlite } from "../../src/runtime/sqlite.ts";
import { SQLITE } from "../gateway/engines.ts";
import { LONG, SEED } from "../runs.ts";
import { seededRandom } from "../upstream/cuts.ts";
import { faultsOfBooks, readBooks } from "./books.ts";
import { ADMIN_TOKEN, kill, openStation, type Station } from "./station.ts";
import { faultsOfTold, type Told } from "./told.ts";
import { admin, runWorkload, sendGrant } from "./workload.ts";

// What is left of a SQLite store after a loss of power, and after a kill while its log is folded back. PostgreSQL has
// tests of its own for this.

const folder = mkdtempSync(join(tmpdir(), "switchyard-power-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const fileOf = ({ place }: Station): string => ("file" in place.place ? place.place.file : "");
const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

/** Copies a store whose process is dead, with so many bytes of its log. */
function copyStore(file: string, name: string, logBytes?: number): string {
  const copy = join(folder, name);
  copyFileSync(file, copy);
  rmSync(`${copy}-wal`, { force: true });
  rmSync(`${copy}-shm`, { force: true });
  if (existsSync(`${file}-wal`))
    writeFileSync(`${copy}-wal`, readFileSync(`${file}-wal`).subarray(0, logBytes ?? sizeOf(`${file}-wal`)));
  return copy;
}

const JOURNAL_FILES = ["journal-a", "journal-b"];

/** The files of the journal without the empty rest of each. */
function readJournalFiles(file: string): readonly Buffer[] {
  return JOURNAL_FILES.map((name) => {
    const bytes = readFileSync(`${file}.${name}`);
    return Buffer.from(bytes.subarray(0, bytes.findLastIndex((byte) => byte !== 0) + 1));
  });
}

function writeJournalFiles(file: string, files: readonly Buffer[]): void {
  for (const [i, name] of JOURNAL_FILES.entries()) {
    const bytes = files[i];
    if (bytes === undefined) rmSync(`${file}.${name}`, { force: true });
    else writeFileSync(`${file}.${name}`, Buffer.concat([bytes, Buffer.alloc(1024 * 1024 - bytes.length)]));
  }
}

/** What the engine itself says about a file. */
function integrityOf(file: string): unknown {
  const database = openSqlite(file);
  try {
    return database.prepare("pragma integrity_check").get()?.integrity_check;
  } finally {
    database.close();
  }
}

test("a log cut at any place opens, and holds every commit that was acknowledged before it (K36)", async () => {
  const station = await openStation(SQLITE);
  const file = fileOf(station);
  const random = seededRandom(SEED);
  const gateway = station.start();
  const url = await gateway.ready();
  /** What was told when the log was so long: all of it is in every longer piece of the log. */
  const marks: {
    readonly bytes: number;
    readonly journal: readonly Buffer[];
    readonly told: readonly Told[];
  }[] = [];
  for (let i = 0; i < 12; i += 1) {
    await runWorkload({
      url,
      adminToken: ADMIN_TOKEN,
      tenants: station.tenants,
      random,
      told: station.told,
      onAnswered: () => mark(),
    });
    mark();
  }
  function mark(): void {
    // In this order: what was told is in the journal or the log, and what the journal stands on is in the log.
    const told = structuredClone(station.told);
    const journal = readJournalFiles(file);
    marks.push({ bytes: sizeOf(`${file}-wal`), journal, told });
  }
  await kill(gateway);
  const whole = sizeOf(`${file}-wal`);
  const cuts = LONG
    ? Array.from({ length: Math.ceil(whole / 4096) }, (_, i) => i * 4096)
    : Array.from({ length: 30 }, (_, i) => Math.floor((i * whole) / 30 / 4096) * 4096);
  for (let i = 0; i < (LONG ? 500 : 15); i += 1) cuts.push(Math.floor(random() * whole));
  for (const bytes of [...cuts, whole]) {
    const copy = copyStore(file, `cut-${bytes}.db`, bytes);
    expect([bytes, integrityOf(copy)]).toEqual([bytes, "ok"]);
    const { journal = [], told = [] } = marks.findLast((known) => known.bytes <= bytes) ?? {};
    // What was told by then stands in the log or in the journal: a start brings it together.
    writeJournalFiles(copy, journal);
    await (await keepBooks({ file: copy })).close();
    const books = await readBooks({ file: copy });
    expect([bytes, faultsOfBooks(books)]).toEqual([bytes, []]);
    // What began later may stand in the books as well, and notes of holds are not made durable: only what is missing
    // is a fault.
    const missing = faultsOfTold(books, told).filter(
      (fault) => !/without answer$|nobody asked|a hold$/.test(fault),
    );
    expect([bytes, missing]).toEqual([bytes, []]);
  }
  expect(marks.some((known) => known.told.length > 0 && known.bytes < whole)).toBe(true);
  await station.remove();
}, 1_200_000);

test("a kill while the log is folded back loses nothing, and neither does a copy made meanwhile (K35)", async () => {
  const station = await openStation(SQLITE);
  const file = fileOf(station);
  const random = seededRandom(SEED + 1);
  await fillLog(station, 3_000);
  const home = station.place.environment.SWITCHYARD_HOME ?? "";
  let mid = 0;
  // On a busy machine a kill comes late: then there are more of them, until one has come amid it.
  for (let run = 0; run < (LONG ? 150 : 8) || (mid === 0 && run < 60); run += 1) {
    const log = sizeOf(`${file}-wal`);
    const kept = join(folder, `folded-${run}`);
    mkdirSync(kept, { recursive: true });
    for (const name of readdirSync(home).filter((each) => /^(switchyard\.db(?!-shm)|pepper)/.test(each)))
      copyFileSync(join(home, name), join(kept, name));
    // A start folds the log of the process before it back.
    const gateway = station.start({ SWITCHYARD_HOME: kept });
    const target = join(kept, "switchyard.db");
    const before = statSync(target).mtimeMs;
    // Without a turn of the event loop between: folding back takes some milliseconds in all.
    const untilMs = performance.now() + 10_000;
    while (statSync(target).mtimeMs === before && performance.now() < untilMs);
    const killAtMs = performance.now() + random() * 4;
    while (performance.now() < killAtMs);
    await kill(gateway);
    if (sizeOf(`${target}-wal`) === log) mid += 1;
    const backup = join(folder, `backup-${run}.db`);
    const database = openSqlite(target);
    database.execute(`vacuum into '${backup}'`);
    database.close();
    for (const each of [target, backup]) {
      expect(integrityOf(each)).toBe("ok");
      const books = await readBooks({ file: each });
      expect([...faultsOfBooks(books), ...faultsOfTold(books, station.told)]).toEqual([]);
    }
    rmSync(kept, { recursive: true });
    rmSync(backup);
  }
  expect(mid).toBeGreaterThan(0);
  const again = station.start();
  expect(await station.verify(again)).toEqual([]);
  await station.remove();
}, 1_200_000);

/** Grants until the log has so many pages, then a kill: the next start has them to fold back. */
async function fillLog(station: Station, pages: number): Promise<void> {
  const file = fileOf(station);
  const gateway = station.start();
  const url = await gateway.ready();
  const target = { url, adminToken: ADMIN_TOKEN };
  let number = 0;
  const client = async (): Promise<void> => {
    while (sizeOf(`${file}-wal`) < pages * 4096) {
      number += 1;
      const account = station.tenants[number % 3]?.account ?? "";
      // Many of these are not looked for afterwards: they only make the log long.
      await admin(target, "POST", `/accounts/${account}/credits`, { amount: 1, reason: "r".repeat(200) });
      if (number % 40 !== 0) continue;
      const entry: Told = { kind: "grant", account, key: `fill-${number}`, amount: 5n, acknowledged: false };
      station.told.push(entry);
      entry.acknowledged = await sendGrant(target, entry);
    }
  };
  await Promise.all(Array.from({ length: 16 }, client));
  await kill(gateway);
}
