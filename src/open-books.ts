import { join } from "node:path";
import type { Config } from "./environment.ts";
import { type Clock, systemClock } from "./core/time/clock.ts";
import { createInterval, type Interval } from "./core/time/interval.ts";
import type { Failpoint } from "./core/failpoint.ts";
import { newId } from "./core/ids.ts";
import { creditsText } from "./core/money/credits.ts";
import { describeError, type Log } from "./core/log/log.ts";
import type { Random } from "./core/random.ts";
import { openHome, type Home } from "./db/home.ts";
import type { Engine } from "./db/engine.ts";
import type { Database } from "./db/schema.ts";
import { createAdmin, type Admin } from "./gateway/admin/admin.ts";
import type { ThreadPlace } from "./gateway/admin/thread/messages.ts";
import { createStoreReader, type StoreReader } from "./gateway/store-read.ts";
import { createInstallation, type Installation } from "./gateway/installation.ts";
import type { Refusals } from "./gateway/refusals.ts";
import type { Timeouts } from "./gateway/timeouts.ts";
import { createKeys, type Keys } from "./keys/keys.ts";
import { findKey } from "./keys/key-store.ts";
import { createAudit, type Audit } from "./ledger/audit/audit.ts";
import { createLedger, type Ledger } from "./ledger/ledger.ts";
import { type Held, NOTHING_HELD } from "./ledger/open-holds.ts";
import { readHeld } from "./ledger/reads/held.ts";
import { readSpendable, type Spendable } from "./ledger/reads/spendable.ts";
import type { HoldRow } from "./ledger/rows.ts";
import { endsIn, type Gap } from "./ledger/sqlite/gaps.ts";
import { openStore, type Store } from "./ledger/store.ts";
import { createSweeper } from "./ledger/sweeper.ts";
import { timedExecutor } from "./ledger/timed-executor.ts";
import { createWriter, type Writer } from "./ledger/writer.ts";
import type { OpenMetrics } from "./open-metrics.ts";
import { openUsage } from "./open-usage.ts";
import { createCipher, type Cipher } from "./runtime/cipher.ts";
import { createKeyedHash, deriveSecret } from "./runtime/hash.ts";

/** Everything that is kept in the store: accounts, keys and credit. */
export interface Books {
  /** Names this run of the process in the store. */
  readonly bootId: string;
  readonly engine: Engine;
  readonly database: Database;
  /** Reads that see everything that was answered before. */
  readonly read: StoreReader;
  readonly writer: Writer;
  /** What a key may spend now. */
  spendable(keyId: string): Promise<Spendable | undefined>;
  readonly ledger: Ledger;
  readonly keys: Keys;
  readonly admin: Admin;
  /** What operators read is read on a thread: no request waits for it. */
  readonly operatorReads: Database;
  readonly audit: Pick<Audit, "last">;
  /** Holds in the memory of this process. */
  openHolds(): number;
  readonly installation: Installation;
  /** Where requests that are refused are noted. */
  readonly refusals: Refusals;
  /** The keyed hash of a token. */
  tokenHash(token: string): string;
  /** Seals the requests of tasks; every process on the store can open them. */
  readonly cipher: Cipher;
  /** A secret for one use, the same in every process on the store. */
  secretFor(label: string): string;
  /** Starts the threads that are needed later. */
  startThreads(): void;
  /** Waits for writes under way, and closes the store. */
  close(): Promise<void>;
}

/** What the books are opened with. */
export interface BooksParts {
  readonly config: Config;
  /** Time limits, as the settings now are. */
  readonly timeouts: () => Timeouts;
  /** Whether there is a model of that id, served now or not. */
  readonly isModel: (id: string) => boolean;
  /** The providers that there can be. */
  readonly providers: () => readonly string[];
  readonly failpoint: Failpoint;
  /** Ends this process at once, as a failpoint asks. */
  readonly kill: () => void;
  /** Called when the disk has failed to keep what was written: nothing is written any more. */
  readonly onLost?: (reason: string) => void;
  /** Where commits are counted. */
  readonly metrics: Pick<OpenMetrics, "registry" | "nowMs">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** A hold outlives the longest request by the time that its end may have to wait for the store. */
const END_MS = 10 * 60 * 1000;

/** How often a running gateway audits its books. */
const AUDIT_MS = 60 * 60 * 1000;

/** Opens the store, brings it up to date, and ends what dead processes left in it. */
export async function openBooks(parts: BooksParts): Promise<Books> {
  const { config, timeouts, isModel, providers, failpoint, metrics, clock, random, log } = parts;
  const home = config.databaseUrl === undefined ? openHome(config.home, random) : undefined;
  const store = await storeOf(parts, home);
  const { engine, database, openHolds, current, auditor, startThreads } = store;
  const executor = timedExecutor(store.executor, metrics.registry, metrics.nowMs);
  const writer = store.recalling(createWriter(executor, log, systemClock));
  const pepper = home?.pepper ?? (await sharedPepper(writer, random));
  const bootId = newId("boot", random);
  const read = createStoreReader(current);
  const held = async (): Promise<Held> => {
    const own = openHolds?.held() ?? NOTHING_HELD;
    return engine === "postgres" ? read(() => readHeld(database, bootId, own)) : own;
  };
  const { processLeaseMs: leaseMs } = timeouts();
  const sweeper = createSweeper({ database, engine, writer, openHolds, clock, log, bootId, leaseMs });
  await sweeper.start();
  const keys = createKeys({ find: (name) => findKey(database, name), pepper, clock, random });
  const tokenHash = createKeyedHash(pepper);
  const { heardSinceMs: thereSinceMs } = sweeper;
  const audit = createAudit({ auditor, current, openHolds, writer, clock, thereSinceMs });
  const usage = openUsage({ place: placeOf(parts, home), database, clock, log });
  const { thread, refusals } = usage;
  const holdLifetimeMs = (): number => Math.max(timeouts().plainMs, timeouts().streamMs) + END_MS;
  const auditing = auditHourly(audit, clock, log);
  return {
    bootId,
    engine,
    database,
    read,
    writer,
    spendable: (keyId) => current().then(async () => readSpendable(database, keyId, await held())),
    ledger: createLedger({ writer, openHolds, clock, random, failpoint, bootId, holdLifetimeMs }),
    keys,
    audit,
    openHolds: () => openHolds?.count() ?? 0,
    operatorReads: thread.database,
    admin: createAdmin({
      database: thread.database,
      thread,
      flushRefusals: () => refusals.flush(),
      read,
      writer,
      held,
      keys,
      audit,
      isModel,
      providers,
      clock,
      random,
    }),
    refusals,
    installation: createInstallation({
      database,
      writer,
      keys,
      tokenHash,
      isAlone: sweeper.isAlone,
      earlierTokenHash: home?.adminTokenHash,
      clock,
      random,
    }),
    tokenHash,
    cipher: createCipher(pepper),
    secretFor: (label) => deriveSecret(pepper, label),
    startThreads() {
      startThreads();
      thread.start();
    },
    async close() {
      void auditing.close();
      await usage.close();
      await sweeper.close();
      await writer.close();
      await database.destroy();
      home?.close();
    },
  };
}

function storeOf(
  { config, failpoint, kill, onLost = () => {}, clock, log }: BooksParts,
  home: Home | undefined,
): Promise<Store> {
  return openStore({
    place: placeOf({ config }, home),
    failpoint,
    writerFailpoint: config.writerFailpoint,
    kill,
    clock,
    notesFolder: join(config.home, "open-holds"),
    onLost,
    onGap: (gap) => logGap(gap, log),
    onUnbooked: (hold, reason) => logUnbooked(hold, reason, log),
  });
}

/** Says what the books lack, and of a record that was set aside each request with its charge. */
function logGap({ reason, refused }: Gap, log: Log): void {
  log.error("the books lack charges that clients were told of", { error: reason });
  for (const { request, account, charge } of refused === undefined ? [] : endsIn(refused.text))
    log.error("the end of a request was set aside", {
      request_id: request,
      account_id: account,
      credit: creditsText(charge),
    });
}

function logUnbooked({ requestId, account, expectedCost }: HoldRow, reason: string, log: Log): void {
  log.error("what a request of a dead process probably cost could not be booked", {
    request_id: requestId,
    account_id: account,
    credit: creditsText(expectedCost),
    error: reason,
  });
}

/** Audits hourly; logs what is wrong with the books. */
function auditHourly(audit: Audit, clock: Clock, log: Log): Interval {
  const look = async (): Promise<void> => {
    try {
      const { ok, checks } = await audit.run(false);
      if (!ok)
        for (const check of checks.filter((each) => !each.ok))
          log.error("the books are wrong", { check: check.id, error: check.detail });
    } catch (error) {
      log.error("the books could not be audited", { error: describeError(error) });
    }
  };
  const interval = createInterval(clock, AUDIT_MS, look);
  interval.start();
  return interval;
}

function placeOf(
  { config: { databaseUrl } }: Pick<BooksParts, "config">,
  home: Home | undefined,
): ThreadPlace {
  return databaseUrl === undefined ? { file: databaseFileOf(home) } : { url: databaseUrl };
}

function databaseFileOf(home: Home | undefined): string {
  if (home === undefined) throw new Error("There is no home folder.");
  return home.databaseFile;
}

/** Processes that share a store share the secret that keys are hashed with; the first of them makes it. */
async function sharedPepper(writer: Writer, random: Random): Promise<string> {
  const made = random.bytes(32).toHex();
  return (await writer.submit({ kind: "remember", name: "pepper", value: made })).value;
}
