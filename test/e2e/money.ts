import { expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../src/core/time/clock.ts";
import { noFailpoint } from "../../src/core/failpoint.ts";
import { openPostgres } from "../../src/db/postgres.ts";
import type { Database } from "../../src/db/schema.ts";
import { openForReading } from "../../src/db/sqlite.ts";
import { openStore, type Store } from "../../src/ledger/store.ts";
import { createSweeper } from "../../src/ledger/sweeper.ts";
import { createWriter, type Writer } from "../../src/ledger/writer.ts";
import { systemClock } from "../../src/core/time/clock.ts";
import type { TestEngine, TestPlace } from "../gateway/engines.ts";
import { waitingReads } from "../ledger/waiting-reads.ts";
import { createFakeClock, type FakeClock } from "../gateway/fake-clock.ts";
import {
  startGateway,
  withRouting,
  type Json,
  type TestGateway,
  type TestGatewayOptions,
  UPSTREAM_KEY,
} from "../gateway/gateway.ts";
import { temporaryFolder } from "../gateway/process.ts";
import { SEED } from "../runs.ts";
import type { Answer } from "../upstream/answer.ts";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { seededRandom } from "../upstream/cuts.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import type { SeenRequest } from "../upstream/seen-request.ts";

// What the tests of money share: models with round prices, gateways on one store, and the books read by SQL.

/** Numbers that follow from the seed; it is printed, so that a failure can be run again. */
export function seeded(name: string): (below: number) => number {
  console.log(`${name}: SWITCHYARD_TEST_SEED=${SEED}`);
  const random = seededRandom(SEED);
  return (below) => Math.floor(random() * below);
}

/** The model whose input is free and whose output costs `credits` a token. */
export const UNIT = "bank/unit";

/** A model with a price on both sides: one credit a token of input, two a token of output. */
export const BOTH = "bank/both";

/** Settings with both models at the double; the unit model's output at so many USD per million tokens. */
export function bankSettings(double: UpstreamDouble, output = 100): string {
  return JSON.stringify({
    providers: {
      bank: {
        base_url: `${double.url}/v1`,
        dialect: "native",
        models: [
          { id: UNIT, prices: { input: 0, output } },
          { id: BOTH, prices: { input: 100, output: 200 } },
        ],
      },
    },
  });
}

/** A request of the unit model that can cost `tokens` credits and no more. */
export function unitBody(tokens: number, more: object = {}): object {
  return { model: UNIT, messages: [{ role: "user", content: "hi" }], max_tokens: tokens, ...more };
}

/** Usage as the double tells it. */
export function usageOf(input: number, output: number): Json {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

/** Answers with as many tokens as were asked for. */
export function inFull(request: SeenRequest): Answer {
  const { max_tokens: tokens, max_completion_tokens: other } = request.json() as Json;
  return chatAnswer({ words: ["a"], usage: usageOf(3, tokens ?? other ?? 1) });
}

/**
 * A clock that stands still at this moment. A store with a clock of its own must not find that all which is written
 * expired long ago.
 */
export function stoppedClock(): FakeClock {
  return createFakeClock(Date.now());
}

/** A store, the double, and one gateway or several on them. */
export interface Bank {
  readonly place: TestPlace;
  readonly double: UpstreamDouble;
  readonly gateway: TestGateway;
  /** Reads of the books, beside the gateway. */
  readonly books: Database;
  /** A further gateway on the same store; only a server can be shared. */
  another(options?: TestGatewayOptions): Promise<TestGateway>;
  /** Puts other settings into force in the first gateway. */
  change(settings: string): void;
  /** Ends everything, once nothing is held any more and the books have been found right. */
  close(): Promise<void>;
}

/** Opens a bank on an empty store. */
export async function openBank(engine: TestEngine, options: TestGatewayOptions = {}): Promise<Bank> {
  const place = await engine.newPlace();
  const double = await startUpstreamDouble();
  double.handle(inFull);
  const folder = temporaryFolder();
  const settingsFile = join(folder.path, "settings.yaml");
  writeFileSync(settingsFile, withRouting(bankSettings(double)));
  const environment = {
    ...place.environment,
    SWITCHYARD_CONFIG: settingsFile,
    GEMINI_API_KEY: UPSTREAM_KEY,
    GEMINI_BASE_URL: double.url,
    XAI_BASE_URL: `${double.url}/v1`,
    DASHSCOPE_BASE_URL: `${double.url}/v1`,
    ...options.environment,
  };
  const start = (more: TestGatewayOptions): Promise<TestGateway> =>
    startGateway({ openai: `${double.url}/v1`, anthropic: double.url, ...more, environment });
  const gateway = await start(options);
  const others: TestGateway[] = [];
  const books = waitingReads(openBooks(place), gateway.account);
  return {
    place,
    double,
    gateway,
    books,
    async another(more = {}) {
      const other = await start(more);
      others.push(other);
      return other;
    },
    change(settings) {
      writeFileSync(settingsFile, withRouting(settings));
      gateway.services.reload();
    },
    async close() {
      await gateway.settled();
      await checkBooks(books);
      await checkAudit(gateway);
      for (const one of [...others, gateway]) await one.close();
      await books.destroy();
      await double.close();
      await place.remove();
      folder.remove();
    },
  };
}

/** Typed reads of a place. */
export function openBooks({ place }: TestPlace): Database {
  return "file" in place ? openForReading(place.file) : openPostgres(place.url);
}

const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** Another process on the same store, as far as its books go: a writer, and a sweeper that takes others for dead. */
export interface OtherProcess {
  readonly store: Store;
  readonly writer: Writer;
  /** Ends the holds of every other process as if it had died; returns how many. */
  sweep(clock?: Clock): Promise<number>;
  close(): Promise<void>;
}

/** Opens the store of a place a second time. */
export async function openOtherProcess({ place }: TestPlace): Promise<OtherProcess> {
  const store = await openStore({
    place,
    failpoint: noFailpoint,
    writerFailpoint: undefined,
    kill: () => undefined,
  });
  const writer = createWriter(store.executor, SILENT, systemClock);
  return {
    store,
    writer,
    async sweep(clock = systemClock) {
      const { database, engine, openHolds } = store;
      // Where the store is shared, a process is dead when its lease is gone.
      for (const { boot_id: boot } of await database.selectFrom("processes").select("boot_id").execute())
        await writer.submit({ kind: "leave", boot });
      const parts = {
        database,
        engine,
        writer,
        openHolds,
        clock,
        log: SILENT,
        bootId: "boot_other",
        leaseMs: 30_000,
      };
      return createSweeper(parts).sweep();
    },
    async close() {
      await writer.close();
      await store.database.destroy();
    },
  };
}

/** Looks at an account again and again; `stop` gives the number of looks, and fails when one saw what must not be. */
export function watchAccount(books: Database, id: string): { stop(): Promise<number> } {
  const wrong: string[] = [];
  let looks = 0;
  let stopped = false;
  const watching = (async () => {
    while (!stopped) {
      const row = await books
        .selectFrom("accounts")
        .select(["balance", "held"])
        .where("id", "=", id)
        .execute();
      const { balance = 0n, held = 0n } = row[0] ?? {};
      if (held < 0n || balance < held) wrong.push(`${balance} with ${held} held`);
      looks += 1;
      await Bun.sleep(1);
    }
  })();
  return {
    async stop() {
      stopped = true;
      await watching;
      expect(wrong).toEqual([]);
      return looks;
    },
  };
}

/** Invariants I1 to I4, over everything that stands in the books when nothing is under way. */
export async function checkBooks(books: Database): Promise<void> {
  const [accounts, keys, holds, entries, requests] = await Promise.all([
    books.selectFrom("accounts").selectAll().execute(),
    books.selectFrom("keys").selectAll().execute(),
    books.selectFrom("holds").selectAll().execute(),
    books.selectFrom("ledger").selectAll().orderBy("seq").execute(),
    books.selectFrom("requests").selectAll().execute(),
  ]);
  const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, amount) => total + amount, 0n);
  for (const { id, balance, held } of accounts) {
    const own = entries.filter((entry) => entry.account_id === id);
    expect({ id, balance, held }).toEqual({ id, balance: sum(own.map((entry) => entry.amount)), held: 0n });
    let running = 0n;
    for (const entry of own) {
      running += entry.amount;
      expect(entry.balance_after).toBe(running);
      expect(running >= 0n).toBe(true);
    }
  }
  for (const { id, spent, held } of keys) {
    const charged = holds.filter((hold) => hold.key_id === id).map((hold) => hold.settled ?? 0n);
    expect({ id, spent, held }).toEqual({ id, spent: sum(charged), held: 0n });
  }
  const settled = entries.filter((entry) => entry.kind === "settle");
  expect(settled.map((entry) => `${entry.cause} ${-entry.amount}`).toSorted()).toEqual(
    holds
      .filter((hold) => hold.state === "settled")
      .map((hold) => `${hold.id}:settle ${hold.settled}`)
      .toSorted(),
  );
  expect(requests.map((row) => `${row.id} ${row.hold_id} ${row.charge}`).toSorted()).toEqual(
    holds.map((hold) => `${hold.request_id} ${hold.id} ${hold.settled ?? 0n}`).toSorted(),
  );
}

/** What the gateway itself says of its books, where it can be asked. */
export async function checkAudit(gateway: TestGateway): Promise<void> {
  const { status, json } = await gateway.admin("GET", "/audit");
  if (status === 404) return;
  expect(json.checks.filter((check: Json) => !check.ok)).toEqual([]);
  expect(json.ok).toBe(true);
}

/** All ledger entries of an account as the admin interface gives them, page by page. */
export async function statement(gateway: TestGateway, account = gateway.accountId): Promise<Json[]> {
  const all: Json[] = [];
  for (let after = ""; ;) {
    const { json } = await gateway.admin("GET", `/accounts/${account}/ledger?limit=1000${after}`);
    all.push(...json.data);
    if (json.next === null) return all;
    after = `&after=${json.next}`;
  }
}
