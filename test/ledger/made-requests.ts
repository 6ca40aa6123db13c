import { afterEach, beforeEach } from "bun:test";
import { migrate } from "../../src/db/migrate.ts";
import { openPostgres, openUnhurried } from "../../src/db/postgres.ts";
import type { Database } from "../../src/db/schema.ts";
import { kyselyOver } from "../../src/db/sqlite.ts";
import { openForFigures, openForWriting } from "../../src/db/sqlite-file.ts";
import { DAY_MS } from "../../src/ledger/usage/views.ts";
import type { TestEngine, TestPlace } from "../gateway/engines.ts";
import { SEED } from "../runs.ts";
import { seededRandom } from "../upstream/cuts.ts";

/** A request as a test makes it. */
export interface Made {
  readonly model: string;
  readonly provider: string | null;
  readonly account: string;
  readonly key: string;
  readonly outcome: string;
  readonly charge: bigint;
  readonly cost: bigint | null;
  readonly input: number;
  readonly cacheRead: number;
  readonly output: number;
  readonly images: number;
  readonly seconds: number;
  readonly admittedMs: number;
  readonly firstByteMs: number | null;
  readonly endedMs: number;
}

/** When the first of them can be, and over how many days they are. */
export const START = Date.UTC(2026, 9, 1);
export const DAYS = 4;

/** One of few names, at any time of a few days. */
export function makeRequest(random: () => number): Made {
  const below = (most: number): number => Math.floor(random() * most);
  const oneOf = <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item;
  const account = oneOf(["a1", "a2", "a3"]);
  // Not in the order of numbers: a clock is set back, and a task ends long after it began.
  const admittedMs = START + below(DAYS * DAY_MS);
  const endedMs = admittedMs + below(90_000);
  return {
    model: oneOf(["m/1", "m/2", "m/3"]),
    provider: oneOf(["p", "q", null]),
    account,
    key: `${account}-${oneOf(["k1", "k2"])}`,
    outcome: oneOf(["completed", "completed", "completed", "client_gone", "upstream_error", "process_died"]),
    charge: BigInt(below(2 ** 40)),
    cost: oneOf([null, BigInt(below(2 ** 40))]),
    input: below(1000),
    cacheRead: below(1000),
    output: below(1000),
    images: below(3),
    seconds: below(9),
    admittedMs,
    firstByteMs: oneOf([null, admittedMs + below(5_000)]),
    endedMs,
  };
}

/** Brings a new store up to date. */
export async function migrated(engine: TestEngine, { place }: TestPlace): Promise<void> {
  const database = "file" in place ? kyselyOver(openForWriting(place.file)) : openUnhurried(place.url);
  await migrate(database, engine.name);
  await database.destroy();
}

/** A connection that may write figures. */
export function openFigures({ place }: TestPlace): Database {
  return "file" in place ? kyselyOver(openForFigures(place.file)) : openPostgres(place.url, 2);
}

/** A new store for each test of a suite, and draws that are the same each time. */
export function figuresOf(engine: TestEngine) {
  let place: TestPlace;
  let database: Database;
  let random: () => number;
  beforeEach(async () => {
    place = await engine.newPlace();
    await migrated(engine, place);
    database = openFigures(place);
    random = seededRandom(SEED);
  });
  afterEach(async () => {
    await database.destroy();
    await place.remove();
  });
  return { database: (): Database => database, random: (): number => random() };
}

/** Writes requests, which are numbered from `first`. */
export async function insertRequests(
  database: Database,
  rows: readonly Made[],
  first: number,
): Promise<void> {
  const values = rows.map(({ input, cacheRead, output, images, seconds, ...row }, i) => ({
    id: `req_${first + i}`,
    hold_id: `hold_${first + i}`,
    account_id: row.account,
    key_id: row.key,
    model: row.model,
    provider: row.provider,
    outcome: row.outcome,
    charge: row.charge,
    price_version: "v",
    usage: JSON.stringify({ input, cacheRead, output, images, seconds }),
    flags: null,
    attempts: "[]",
    admitted_at_ms: BigInt(row.admittedMs),
    held_at_ms: BigInt(row.admittedMs),
    first_byte_at_ms: row.firstByteMs === null ? null : BigInt(row.firstByteMs),
    ended_at_ms: BigInt(row.endedMs),
    settled_at_ms: BigInt(row.endedMs),
    cost: row.cost,
  }));
  await database.insertInto("requests").values(values).execute();
}

/** An entry of the ledger as a test makes it. */
export interface MadeEntry {
  readonly cause: string;
  readonly account: string;
  readonly key: string;
  readonly atMs: number;
}

/** Writes entries of charges, which have their numbers from the store. */
export async function insertEntries(database: Database, entries: readonly MadeEntry[]): Promise<void> {
  const values = entries.map(({ cause, account, key, atMs }) => ({
    cause,
    account_id: account,
    key_id: key,
    counter: "revenue" as const,
    amount: -1n,
    balance_after: 1n,
    kind: "settle" as const,
    request_id: null,
    reason: null,
    created_at_ms: BigInt(atMs),
  }));
  await database.insertInto("ledger").values(values).execute();
}
