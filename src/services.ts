import { join } from "node:path";
import { createCatalog, loadModelFiles } from "./catalog/catalog.ts";
import { readSettings, type Config, type Environment, type Settings } from "./config.ts";
import { systemClock, type Clock } from "./core/clock.ts";
import { noFailpoint, parseFailpoint, type Failpoint } from "./core/failpoint.ts";
import { GatewayError } from "./core/errors.ts";
import { newId } from "./core/ids.ts";
import type { Log } from "./core/log.ts";
import type { Random } from "./core/random.ts";
import { openHome, type AdminToken } from "./db/home.ts";
import { migrate } from "./db/migrate.ts";
import { kyselyOver, openForReading, openForWriting, type Database } from "./db/sqlite.ts";
import { createAdmin, type Admin } from "./gateway/admin.ts";
import type { Offer } from "./gateway/admit.ts";
import type { PaidCall } from "./gateway/paid-call.ts";
import { createApp, type App } from "./http/app.ts";
import { ROUTES } from "./http/routes.ts";
import { createKeys, type StoredKey } from "./keys/keys.ts";
import { createLedger } from "./ledger/ledger.ts";
import { createSqliteExecutor } from "./ledger/sqlite-executor.ts";
import { createWriter } from "./ledger/writer.ts";
import { PROVIDERS } from "./providers/registry.ts";
import { createKeyedHash } from "./runtime/hash.ts";

/** What a gateway is built from; a test passes its own. */
export interface ServiceParts {
  readonly config: Config;
  readonly environment: Environment;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** A built gateway that does not listen yet. */
export interface Services {
  readonly app: App;
  readonly admin: Admin;
  /** The admin token, when this start made it; it is not kept. */
  readonly newAdminToken: string | undefined;
  /** Whether the store has no account yet. */
  isEmpty(): Promise<boolean>;
  /** Which providers can be called and how many models they serve. */
  offer(): Offer;
  /** Reads the settings file again. Throws its sentence and keeps what is in force when it cannot be used. */
  reload(): void;
  /** Tells where the gateway listens, once it does. */
  listensAt(url: string): void;
  /** From here on `readyz` says no. */
  drain(): void;
  /** Ends every call under way, each with an end that says so and with its charge. */
  endCalls(): void;
  /** Waits for the ledger and lets go of the home folder. */
  close(): Promise<void>;
}

const VERSION = "0.1.0";
const MODELS_FOLDER = join(import.meta.dirname, "..", "models");

/** A hold that outlives this was lost: no request lasts so long. */
const HOLD_LIFETIME_MS = 2 * 60 * 60 * 1000;

/** Builds every object once, in order. Throws one sentence when something outside is not as it must be. */
export async function buildServices({
  config,
  environment,
  clock,
  random,
  log,
}: ServiceParts): Promise<Services> {
  const files = loadModelFiles(MODELS_FOLDER);
  const offers = createOffers(() => readSettings(config.settingsFile, environment, PROVIDERS), files);
  const home = openHome(config.home, random);
  await migrateFile(home.databaseFile);
  const database = openForReading(home.databaseFile);
  const writer = createWriter(
    createSqliteExecutor({ databaseFile: home.databaseFile, failpoint: config.writerFailpoint ?? null }),
    log,
    systemClock,
  );
  const bootId = newId("boot", random);
  // One process has the home folder: every hold that is open now belongs to a run that has died.
  await writer.submit({ kind: "void_orphans", boot: bootId, nowMs: clock.nowMs() });
  const failpoint = readFailpoint(config.failpoint);
  const ledger = createLedger({ writer, clock, random, failpoint, bootId, holdLifetimeMs: HOLD_LIFETIME_MS });
  const keys = createKeys({ find: (hash) => findKey(database, hash), pepper: home.pepper, clock, random });
  const admin = createAdmin({ database, writer, keys, clock, random });
  const token: AdminToken | { text: string; isNew: false } =
    config.adminToken === undefined ? home.adminToken() : { text: config.adminToken, isNew: false };
  const tokenHash = createKeyedHash(home.pepper);
  const expected = token.text === undefined ? token.hash : tokenHash(token.text);

  let url = `http://${config.host}:${config.port}`;
  let draining = false;
  const live = new Set<PaidCall>();
  const app = createApp({
    routes: ROUTES,
    clock,
    random,
    log,
    services: {
      admin,
      authenticate: keys.authenticate,
      isAdminToken: (text) => tokenHash(text) === expected,
      publicUrl: () => config.publicUrl ?? url,
      version: VERSION,
      relay: {
        ledger,
        clock,
        failpoint,
        live,
        get timeouts() {
          return offers.current().settings.timeouts;
        },
        offer: () => offers.current().offer,
      },
      async ready() {
        if (draining) throw new Error("The gateway is shutting down.");
        await writer.submit({ kind: "ping" });
      },
    },
  });

  return {
    app,
    admin,
    newAdminToken: token.isNew ? token.text : undefined,
    isEmpty: async () => (await admin.accounts({ after: undefined, limit: 1 })).data.length === 0,
    offer: () => offers.current().offer,
    reload: () => offers.reload(),
    listensAt: (at) => (url = at),
    drain: () => (draining = true),
    endCalls() {
      for (const call of live)
        call.abort(new GatewayError("overloaded_error", "The gateway is shutting down."));
    },
    async close() {
      await writer.close();
      await database.destroy();
      home.close();
    },
  };
}

interface CurrentOffer {
  readonly offer: Offer;
  readonly settings: Settings;
}

/** What is offered now, replaced whole, so that each request sees one version. */
function createOffers(read: () => Settings, files: ReturnType<typeof loadModelFiles>) {
  const build = (): CurrentOffer => {
    const settings = read();
    const enabled = [...files, ...settings.models].filter((model) =>
      model.routes.some((route) => settings.providers.has(route.provider)),
    );
    const twice = enabled.find(
      (model, i) => enabled.findIndex((other) => other.uniqueId === model.uniqueId) !== i,
    );
    if (twice !== undefined)
      throw new Error(`The model ${twice.uniqueId} is defined twice: give one of them another id.`);
    return { settings, offer: { catalog: createCatalog(enabled), providers: settings.providers } };
  };
  let current = build();
  return {
    current: () => current,
    reload: () => {
      current = build();
    },
  };
}

async function migrateFile(file: string): Promise<void> {
  const database = kyselyOver(openForWriting(file));
  try {
    await migrate(database);
  } finally {
    await database.destroy();
  }
}

function readFailpoint(text: string | undefined): Failpoint {
  return text === undefined ? noFailpoint : parseFailpoint(text, () => process.kill(process.pid, "SIGKILL"));
}

async function findKey(database: Database, hash: string): Promise<StoredKey | undefined> {
  const row = await database
    .selectFrom("keys")
    .innerJoin("accounts", "accounts.id", "keys.account_id")
    .select([
      "keys.id",
      "keys.account_id",
      "keys.models",
      "keys.expires_at_ms",
      "keys.revoked_at_ms",
      "accounts.status",
    ])
    .where("keys.hash", "=", hash)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  return {
    keyId: row.id,
    accountId: row.account_id,
    models: row.models === null ? null : (JSON.parse(row.models) as string[]),
    expiresAtMs: row.expires_at_ms === null ? null : Number(row.expires_at_ms),
    revoked: row.revoked_at_ms !== null,
    accountActive: row.status === "active",
  };
}
