import { join } from "node:path";
import { createCatalog, loadModelFiles } from "./catalog/catalog.ts";
import { readSettings, type Config, type Environment, type Settings } from "./config.ts";
import { systemClock, type Clock } from "./core/clock.ts";
import { noFailpoint, parseFailpoint, type Failpoint } from "./core/failpoint.ts";
import { GatewayError } from "./core/errors.ts";
import { newId } from "./core/ids.ts";
import type { Log } from "./core/log.ts";
import type { Random } from "./core/random.ts";
import { openHome, type Home } from "./db/home.ts";
import type { Database } from "./db/schema.ts";
import { createAdmin, type Admin } from "./gateway/admin.ts";
import type { Offer } from "./gateway/admit.ts";
import { createInstallation } from "./gateway/installation.ts";
import type { PaidCall } from "./gateway/paid-call.ts";
import { createApp, type App } from "./http/app.ts";
import { ROUTES } from "./http/routes.ts";
import { createKeys, type StoredKey } from "./keys/keys.ts";
import { createAudit } from "./ledger/audit.ts";
import { createLedger } from "./ledger/ledger.ts";
import { openStore } from "./ledger/store.ts";
import { createSweeper } from "./ledger/sweeper.ts";
import { createWriter, type Writer } from "./ledger/writer.ts";
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
  /** The first account of a new installation and a key to it, when they are still to be shown. */
  firstAccount(): Promise<{ readonly accountId: string; readonly key: string } | undefined>;
  /** The secrets that were made have been shown. */
  shown(): Promise<void>;
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
  const failpoint = readFailpoint(config.failpoint);
  const home = config.databaseUrl === undefined ? openHome(config.home, random) : undefined;
  const { engine, database, executor, auditor } = await openStore({
    place: config.databaseUrl === undefined ? { file: databaseFileOf(home) } : { url: config.databaseUrl },
    failpoint,
    writerFailpoint: config.writerFailpoint,
    kill,
  });
  const writer = createWriter(executor, log, systemClock);
  const pepper = home?.pepper ?? (await sharedPepper(writer, random));
  const bootId = newId("boot", random);
  const leaseMs = offers.current().settings.timeouts.processLeaseMs;
  const sweeper = createSweeper({ database, engine, writer, clock, log, bootId, leaseMs });
  await sweeper.start();
  const ledger = createLedger({ writer, clock, random, failpoint, bootId, holdLifetimeMs: HOLD_LIFETIME_MS });
  const keys = createKeys({ find: (hash) => findKey(database, hash), pepper, clock, random });
  const audit = createAudit(auditor, writer, clock);
  const admin = createAdmin({ database, writer, keys, audit, clock, random });
  const tokenHash = createKeyedHash(pepper);
  const earlierTokenHash = home?.adminTokenHash;
  const installation = createInstallation({
    database,
    writer,
    keys,
    tokenHash,
    earlierTokenHash,
    clock,
    random,
  });
  const token =
    config.adminToken === undefined
      ? await installation.adminToken()
      : { text: undefined, hash: tokenHash(config.adminToken) };

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
      isAdminToken: (text) => tokenHash(text) === token.hash,
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
    newAdminToken: token.text,
    firstAccount: installation.firstAccount,
    shown: installation.shown,
    offer: () => offers.current().offer,
    reload: () => offers.reload(),
    listensAt: (at) => (url = at),
    drain: () => (draining = true),
    endCalls() {
      for (const call of live)
        call.abort(new GatewayError("overloaded_error", "The gateway is shutting down."));
    },
    async close() {
      await sweeper.close();
      await writer.close();
      await database.destroy();
      home?.close();
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

function databaseFileOf(home: Home | undefined): string {
  if (home === undefined) throw new Error("There is no home folder.");
  return home.databaseFile;
}

/** Processes that share a store share the secret that keys are hashed with; the first of them makes it. */
async function sharedPepper(writer: Writer, random: Random): Promise<string> {
  const made = random.bytes(32).toHex();
  return (await writer.submit({ kind: "remember", name: "pepper", value: made })).value;
}

function readFailpoint(text: string | undefined): Failpoint {
  return text === undefined ? noFailpoint : parseFailpoint(text, kill);
}

function kill(): void {
  process.kill(process.pid, "SIGKILL");
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
