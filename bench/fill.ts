import { join } from "node:path";
import { parseArgs } from "node:util";
import { sql } from "kysely";
import { jsonOfAmounts } from "../src/core/json/json-value.ts";
import { systemClock } from "../src/core/time/clock.ts";
import { systemRandom } from "../src/core/random.ts";
import type { Engine } from "../src/db/engine.ts";
import { openHome } from "../src/db/home.ts";
import { migrate } from "../src/db/migrate.ts";
import { openUnhurried } from "../src/db/postgres.ts";
import type { Database } from "../src/db/schema.ts";
import { kyselyOver } from "../src/db/sqlite.ts";
import { openForFigures, openForWriting } from "../src/db/sqlite-file.ts";
import { givenRows } from "../src/ledger/given-rows.ts";
import { columnList, ENTRIES, HOLDS, REQUESTS, type RowOf, type Rows } from "../src/ledger/rows.ts";
import { createHorizon } from "../src/ledger/usage/horizon.ts";
import { noteLedgerHours } from "../src/ledger/usage/ledger-hours.ts";
import { rollUpRecent } from "../src/ledger/usage/recent.ts";
import { rollUp } from "../src/ledger/usage/roll-up.ts";
import { sumThirtyDays } from "../src/ledger/usage/thirty-days.ts";
import { fillModels, fillRefusals, fillTasks } from "./fill-more.ts";
import { seededRandom } from "../test/upstream/cuts.ts";

// Fills a new store with a year of requests, each with its hold and its entry in the ledger, and rolls them up. Half of
// the last month's are tasks, and there are refusals. The books are right: an audit finds nothing. `--url` fills an
// empty database of a PostgreSQL server instead of a home.

const YEAR_MS = 365 * 24 * 3_600_000;
const BATCH = 5_000;
const ACCOUNTS = 50;
const KEYS_OF_ACCOUNT = 4;
const MODELS = [
  "openai/gpt-5.6",
  "anthropic/claude-opus-5",
  "google/gemini-3.5-flash",
  "xai/grok-5",
  "deepseek/v4",
];
/** Models that one key uses, of all. */
const MODELS_OF_KEY = 3;
const GRANTED = 10n ** 15n;
const MICRO_PER_TOKEN = 10n;
const RULES = JSON.stringify(
  Object.fromEntries(
    ["input", "cacheRead", "output", "reasoning"].map((bucket) => [
      bucket,
      [{ when: {}, price: String(MICRO_PER_TOKEN) }],
    ]),
  ),
);
/** The outcome of requests whose holds were voided. */
const FAILED = "upstream_error";

type Request = RowOf<typeof REQUESTS>;

interface Key {
  readonly id: string;
  readonly account: string;
  readonly models: readonly string[];
  spent: bigint;
}

const { values, positionals } = parseArgs({
  options: {
    requests: { type: "string", default: "1000000" },
    url: { type: "string" },
    seed: { type: "string", default: "1" },
  },
  allowPositionals: true,
});
await fill(Number(values.requests), values.url, positionals[0]);

async function fill(requests: number, url: string | undefined, folder: string | undefined): Promise<void> {
  if (!(requests > 0) || (url === undefined) === (folder === undefined))
    throw new Error("Give a folder for the home or --url of an empty database, and --requests above 0.");
  const engine: Engine = url === undefined ? "sqlite" : "postgres";
  const home = folder === undefined ? undefined : openHome(folder, systemRandom);
  const file = join(folder ?? "", "switchyard.db");
  const before = url === undefined ? kyselyOver(openForWriting(file)) : openUnhurried(url);
  await migrate(before, engine);
  await before.destroy();
  const database = url === undefined ? kyselyOver(openForFigures(file)) : openUnhurried(url);
  await write(database, engine, requests);
  const began = systemClock.steadyMs();
  const counted = createHorizon(database, engine, "requests");
  while (await rollUp({ database, engine, horizon: counted }));
  while (await rollUpRecent({ database, engine }));
  while (await sumThirtyDays({ database, engine }));
  const entries = createHorizon(database, engine, "ledger");
  while (await noteLedgerHours({ database, engine, horizon: entries }));
  console.log(`rolled up in ${systemClock.steadyMs() - began} ms`);
  const nowMs = systemClock.nowMs();
  await fillModels(database, nowMs);
  await fillRefusals(database, engine, nowMs);
  console.log(`${await fillTasks(database, nowMs)} tasks`);
  await database.destroy();
  home?.close();
}

async function write(database: Database, engine: Engine, requests: number): Promise<void> {
  const random = seededRandom(Number(values.seed));
  const keys = makeKeys(random);
  const beganMs = systemClock.nowMs() - YEAR_MS;
  await writeBeginning(database, keys, beganMs);
  const balances = new Map(keys.map(({ account }) => [account, GRANTED]));
  for (let first = 0; first < requests; first += BATCH) {
    const rows = Array.from({ length: Math.min(BATCH, requests - first) }, (_, i): Request => {
      const atMs = Math.floor(beganMs + ((first + i) / requests) * YEAR_MS);
      return makeRequest(random, keys, first + i, atMs);
    });
    await database.transaction().execute(async (tx) => {
      await insert(tx, engine, HOLDS, rows.map(holdOf));
      await insert(
        tx,
        engine,
        ENTRIES,
        rows.filter(({ outcome }) => outcome !== FAILED).map((row) => entryOf(row, balances)),
      );
      await insert(tx, engine, REQUESTS, rows);
    });
    if (first % (20 * BATCH) === 0) console.log(`${first} of ${requests} requests …`);
  }
  for (const [account, balance] of balances)
    await database.updateTable("accounts").set({ balance }).where("id", "=", account).execute();
  for (const { id, spent } of keys)
    await database.updateTable("keys").set({ spent }).where("id", "=", id).execute();
}

function makeKeys(random: () => number): readonly Key[] {
  const pick = (): string => {
    // Some models are used far more than others.
    const name = MODELS[Math.floor(random() ** 2 * MODELS.length)] as string;
    return `${name}-${Math.floor(random() ** 2 * 4)}`;
  };
  return Array.from({ length: ACCOUNTS * KEYS_OF_ACCOUNT }, (_, i) => ({
    id: `key_filled_${i}`,
    account: `acct_filled_${Math.floor(i / KEYS_OF_ACCOUNT)}`,
    models: Array.from({ length: MODELS_OF_KEY }, pick),
    spent: 0n,
  }));
}

async function writeBeginning(database: Database, keys: readonly Key[], atMs: number): Promise<void> {
  const created_at_ms = BigInt(atMs);
  await database
    .insertInto("price_versions")
    .values({ version: "filled", model: "filled", rules: RULES, created_at_ms })
    .execute();
  for (const account of new Set(keys.map((key) => key.account))) {
    await database
      .insertInto("accounts")
      .values({ id: account, name: account, balance: GRANTED, created_at_ms })
      .execute();
    await database
      .insertInto("ledger")
      .values({
        cause: `${account}:grant`,
        account_id: account,
        counter: "funding",
        amount: GRANTED,
        balance_after: GRANTED,
        kind: "grant",
        created_at_ms,
      })
      .execute();
  }
  for (const { id, account } of keys)
    await database
      .insertInto("keys")
      .values({ id, account_id: account, name: id, hash: id, hint: "sk-…", created_at_ms })
      .execute();
}

function makeRequest(random: () => number, keys: readonly Key[], number: number, atMs: number): Request {
  const below = (most: number): number => Math.floor(random() * most);
  const key = keys[Math.floor(random() ** 2 * keys.length)] as Key;
  const model = key.models[Math.floor(random() ** 2 * key.models.length)] as string;
  const failed = random() < 0.02;
  const usage = { input: below(4_000), cacheRead: below(8_000), output: below(1_500), reasoning: below(500) };
  const tokens = failed ? 0 : usage.input + usage.cacheRead + usage.output + usage.reasoning;
  const charge = BigInt(tokens) * MICRO_PER_TOKEN;
  key.spent += charge;
  const provider = model.slice(0, model.indexOf("/"));
  const firstByteMs = atMs + 200 + below(1_500);
  const endedMs = firstByteMs + below(20_000);
  return {
    id: `req_filled_${number}`,
    account: key.account,
    key: key.id,
    hold: `hold_filled_${number}`,
    model,
    provider,
    outcome: failed ? FAILED : random() < 0.03 ? "client_gone" : "completed",
    charge,
    priceVersion: "filled",
    usage: failed ? null : JSON.stringify(usage),
    flags: null,
    attempts: JSON.stringify([
      { provider, upstream_id: model, sent_at_ms: atMs, status: failed ? 500 : 200 },
    ]),
    admittedAtMs: atMs,
    heldAtMs: atMs,
    firstByteAtMs: failed ? null : firstByteMs,
    endedAtMs: endedMs,
    settledAtMs: endedMs,
    cost: random() < 0.1 ? null : charge / 2n,
  };
}

function holdOf(row: Request): RowOf<typeof HOLDS> {
  return {
    id: row.hold,
    account: row.account,
    key: row.key,
    requestId: row.id,
    boot: "boot_filled",
    model: row.model,
    amount: row.charge,
    expectedCost: 0n,
    priceVersion: row.priceVersion,
    createdAtMs: row.heldAtMs,
    expiresAtMs: row.endedAtMs + 1,
    task: null,
    state: row.outcome === FAILED ? "voided" : "settled",
    settled: row.outcome === FAILED ? null : row.charge,
    endReason: row.outcome,
    endedAtMs: row.endedAtMs,
  };
}

function entryOf(row: Request, balances: Map<string, bigint>): RowOf<typeof ENTRIES> {
  const balanceAfter = (balances.get(row.account) ?? 0n) - row.charge;
  balances.set(row.account, balanceAfter);
  return {
    cause: `${row.hold}:settle`,
    account: row.account,
    key: row.key,
    counter: "revenue",
    amount: -row.charge,
    balanceAfter,
    kind: "settle",
    requestId: row.id,
    reason: row.outcome,
    createdAtMs: row.endedAtMs,
  };
}

async function insert(
  database: Database,
  engine: Engine,
  rows: Rows,
  given: readonly object[],
): Promise<void> {
  const members = Object.keys(rows.columns).map((member) => sql.ref(`t.${member}`));
  await sql`insert into ${sql.table(rows.table)} (${sql.raw(columnList(rows))})
    select ${sql.join(members)} from ${givenRows(engine, rows, jsonOfAmounts(given))}`.execute(database);
}
