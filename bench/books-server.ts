// The books by themselves: the gateway's ledger and writer over a store, and callers that hold and settle in a loop.
// A process of its own: `books-server.ts (--file <path> | --url <PostgreSQL's>)` prints {"url"} when it listens, and
// runs one load for each `GET /?callers=&accounts=&seconds=`.
import { join } from "node:path";
import { parseArgs } from "node:util";
import { loadModelFiles } from "../src/catalog/catalog.ts";
import { systemClock } from "../src/core/time/clock.ts";
import { noFailpoint } from "../src/core/failpoint.ts";
import { newId, newRequestId } from "../src/core/ids.ts";
import { costOf } from "../src/core/money/price.ts";
import { systemRandom } from "../src/core/random.ts";
import { NO_USAGE } from "../src/core/money/usage.ts";
import { createLedger } from "../src/ledger/ledger.ts";
import { openStore, type Store } from "../src/ledger/store.ts";
import { createWriter, type Writer } from "../src/ledger/writer.ts";
import type { BooksLoad } from "./books.ts";
import { percentile } from "./percentile.ts";

const ACCOUNTS_AT_ONCE = 512;
const GRANT = 10n ** 15n;
/** Longer than a measurement. */
const LEASE_MS = 24 * 60 * 60 * 1000;
const MODEL = "openai/gpt-5.6-luna";
const USAGE = { ...NO_USAGE, input: 312, cacheRead: 128, output: 187, reasoning: 64 };

interface Payer {
  readonly accountId: string;
  readonly keyId: string;
}

async function open(store: Store) {
  let commits = 0;
  const counted = {
    ...store.executor,
    execute: (commands: Parameters<Store["executor"]["execute"]>[0]) => {
      commits += 1;
      return store.executor.execute(commands);
    },
  };
  const writer = createWriter(counted, { info: fail, warn: fail, error: fail }, systemClock);
  const bootId = newId("boot", systemRandom);
  // Where processes share a store, they hold from memory while their lease lasts.
  await writer.submit({
    kind: "heartbeat",
    boot: bootId,
    leaseMs: LEASE_MS,
    steadyMs: systemClock.steadyMs(),
  });
  const ledger = createLedger({
    writer,
    openHolds: store.openHolds,
    clock: systemClock,
    random: systemRandom,
    failpoint: noFailpoint,
    bootId,
    holdLifetimeMs: () => 60_000,
  });
  const payers: Payer[] = [];
  /** The first so many accounts; makes those that are missing. */
  const payersOf = async (accounts: number): Promise<readonly Payer[]> => {
    while (payers.length < accounts) {
      const length = Math.min(ACCOUNTS_AT_ONCE, accounts - payers.length);
      payers.push(...(await Promise.all(Array.from({ length }, () => createPayer(writer)))));
    }
    return payers.slice(0, accounts);
  };
  return { writer, payersOf, pair: createPair(ledger), commits: () => commits };
}

/** The log of a writer, which logs only failures. */
function fail(message: string, fields?: object): void {
  throw new Error(`${message} ${JSON.stringify(fields ?? {})}`);
}

async function createPayer(writer: Writer): Promise<Payer> {
  const account = newId("acct", systemRandom);
  const key = newId("key", systemRandom);
  const nowMs = Date.now();
  const grant = {
    account,
    amount: GRANT,
    reason: "benchmark",
    requestId: newRequestId(Date.now(), systemRandom),
    nowMs,
  };
  await writer.submit({ kind: "create_account", account, name: "benchmark", nowMs });
  await writer.submit({ kind: "grant", cause: newId("grant", systemRandom), ...grant });
  const limits = { models: null, budget: null, expiresAtMs: null };
  const issued = { key, account, name: "benchmark", hash: key, hint: "", ...limits, nowMs };
  await writer.submit({ kind: "issue_key", ...issued });
  return { accountId: account, keyId: key };
}

/** One request's way through the books, as a paid call takes it. */
function createPair(ledger: ReturnType<typeof createLedger>): (payer: Payer) => Promise<void> {
  const models = loadModelFiles(join(import.meta.dir, "../models"));
  const model = models.find(({ id }) => id === MODEL);
  if (model === undefined) throw new Error(`there is no model ${MODEL}`);
  return async (payer) => {
    const admittedAtMs = Date.now();
    const snapshot = { version: model.priceVersion, prices: model.prices, pricedAtMs: admittedAtMs };
    const used = costOf(USAGE, snapshot);
    const money = { amount: used * 4n, expectedCost: used };
    const requestId = newRequestId(Date.now(), systemRandom);
    const hold = await ledger.hold({ ...payer, requestId, model, snapshot, ...money });
    if (typeof hold === "string") throw new Error(`a hold was refused: ${hold}`);
    const nowMs = Date.now();
    const attempt = { provider: "openai", upstream_id: "gpt-5.6-luna", sent_at_ms: nowMs, status: 200 };
    const times = { admittedAtMs, heldAtMs: nowMs, firstByteAtMs: nowMs, endedAtMs: nowMs };
    const timeline = { provider: "openai", ...times, attempts: [attempt] };
    const settlement = { delivered: true, used, usage: USAGE, flags: [], outcome: "completed", timeline };
    const charged = await ledger.settle(hold, settlement);
    if (charged !== used) throw new Error(`${charged} was charged for ${used}`);
  };
}

/** Keeps so many callers busy for so long; each is charged to the next of the accounts in turn. */
async function load(books: Awaited<ReturnType<typeof open>>, request: URL): Promise<BooksLoad> {
  const given = (name: string): number => Number(request.searchParams.get(name));
  const payers = await books.payersOf(given("accounts"));
  const times: number[] = [];
  const commitsBefore = books.commits();
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  const endsAt = startedAt + given("seconds") * 1_000;
  let begun = 0;
  const caller = async (): Promise<void> => {
    for (let now = performance.now(); now < endsAt;) {
      const payer = payers[begun++ % payers.length];
      if (payer === undefined) throw new Error("there are no accounts to charge");
      await books.pair(payer);
      const then = now;
      now = performance.now();
      times.push(now - then);
    }
  };
  await Promise.all(Array.from({ length: given("callers") }, caller));
  const { user, system } = process.cpuUsage(cpuBefore);
  const seconds = (performance.now() - startedAt) / 1_000;
  times.sort((a, b) => a - b);
  return {
    pairs: times.length,
    seconds,
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
    cpuSeconds: (user + system) / 1e6,
    commits: books.commits() - commitsBefore,
  };
}

const { values } = parseArgs({ options: { file: { type: "string" }, url: { type: "string" } } });
const store = await openStore({
  place: values.url === undefined ? { file: values.file ?? "" } : { url: values.url },
  failpoint: noFailpoint,
  writerFailpoint: undefined,
  kill: () => process.kill(process.pid, "SIGKILL"),
  notesFolder: join(process.env.SWITCHYARD_HOME ?? "", "open-holds"),
});
const books = await open(store);
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 255,
  development: false,
  fetch: async (request) => Response.json(await load(books, new URL(request.url))),
  error: (error) => new Response(String(error), { status: 500 }),
});
process.once("SIGTERM", () => void books.writer.close().then(() => process.exit(0)));
console.log(JSON.stringify({ url: server.url.origin }));
