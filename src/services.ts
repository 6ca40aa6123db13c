import type { RelayServices } from "./gateway/language/relay-input.ts";
import { createThinkingMemory } from "./gateway/language/thinking-memory.ts";
import { join } from "node:path";
import type { Assets, AssetUrls } from "./assets/assets.ts";
import { openDiskAssets } from "./assets/disk.ts";
import { openS3Assets } from "./assets/s3.ts";
import { loadModelFiles } from "./catalog/catalog.ts";
import { loadNameRules } from "./catalog/name-rules.ts";
import { readSettings, type Settings } from "./config.ts";
import type { Clock } from "./core/time/clock.ts";
import { noFailpoint, parseFailpoint, type Failpoint } from "./core/failpoint.ts";
import { GatewayError } from "./core/errors.ts";
import { describeError, type Log } from "./core/log/log.ts";
import type { Category, Model } from "./core/model.ts";
import type { Random } from "./core/random.ts";
import { createRequestMemory } from "./core/bytes/request-memory.ts";
import type { Config, Environment } from "./environment.ts";
import type { Admin } from "./gateway/admin/admin.ts";
import { createOperations, type Operations } from "./gateway/admin/operations.ts";
import { checkRouteFilter, listRoutes, type RouteFilterParts } from "./gateway/admin/routes.ts";
import type { StatusParts } from "./gateway/admin/status.ts";
import { openAsset } from "./gateway/assets-file.ts";
import type { Offer } from "./gateway/offer.ts";
import { createOffers, hasProvider, type Offers } from "./gateway/offers.ts";
import { createLiveCalls } from "./gateway/live-calls.ts";
import { createReader } from "./gateway/reading/reader.ts";
import { offeredWays } from "./gateway/routing/offered-ways.ts";
import { createProber, type Prober } from "./gateway/routing/probes.ts";
import { createRouting, type Routing } from "./gateway/routing/routing.ts";
import { createSandboxRule } from "./gateway/sandbox-rule.ts";
import { createUnknownUsage } from "./gateway/unknown-usage.ts";
import { createApp, type App } from "./http/app.ts";
import type { EdgeServices } from "./http/route.ts";
import { ROUTED } from "./http/routes.ts";
import { type AddressLimiter, createAddressLimiter } from "./limits/addresses.ts";
import { openKept, type OpenKept } from "./kept/open.ts";
import { createLimiter, type Limiter } from "./limits/limiter.ts";
import { type Books, openBooks } from "./open-books.ts";
import { type OpenMetrics, openMetrics } from "./open-metrics.ts";
import { openTasks, type OpenTasks } from "./open-tasks.ts";
import { openWeb } from "./open-web.ts";
import { createSandbox, PROVIDERS } from "./providers/registry.ts";
import { placesOf, providerIds, providerStatus, shownSettings } from "./shown-settings.ts";
import { createTaskCounts } from "./tasks/task-counts.ts";
import type { Tasks } from "./tasks/tasks.ts";
import { openRehearsal } from "./warmup/rehearsal.ts";
import { createWarmUp, type WarmUp } from "./warmup/warm-up.ts";

/** What a gateway is built from; a test passes its own. */
export interface ServiceParts {
  readonly config: Config;
  readonly environment: Environment;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Milliseconds and parts of them, for durations that are counted; absent: whole ones, by `clock`. */
  readonly stopwatch?: () => number;
  /** Where the console's built files are; absent: in the repository. */
  readonly consoleFolder?: string;
  /** Called when the disk has failed to keep what was written; paid work is refused from then on. */
  readonly onLost?: (reason: string) => void;
}

/** A built gateway that does not listen yet. */
export interface Services {
  readonly app: App;
  readonly admin: Admin;
  /** Files that tasks made. */
  readonly assets: Assets;
  /** The admin token, when this start made it; its text is stored nowhere. */
  readonly newAdminToken: string | undefined;
  /** The first account of a new installation and a key to it, when they are still to be shown. */
  firstAccount(): Promise<{ readonly accountId: string; readonly key: string } | undefined>;
  /** Notes that the secrets were shown. */
  shown(): Promise<void>;
  /** Which providers can be called and how many models they serve. */
  offer(): Offer;
  /** Reads the settings file again. Throws its sentence and keeps those in force when it is wrong. */
  reload(): void;
  /**
   * Starts the threads that are needed later: none can be started once descriptors have run out. Without this each
   * starts when it is needed.
   */
  startThreads(): void;
  /**
   * Has the code of paid calls compiled before the first of them, while no client asks for anything. Resolves when that
   * has ended; rejects with what went wrong in it.
   */
  warmUp(): Promise<void>;
  /** What the process counts. */
  readonly metrics: Pick<OpenMetrics, "text" | "sawLoopDelay">;
  /** Sets the address at which the gateway listens. */
  listensAt(url: string): void;
  /** From here on `readyz` is 503. Tasks are still begun, since requests may wait for them. */
  drain(): void;
  /** Ends every call under way and to come, each with an error and its charge; no task is begun any more. */
  endCalls(): void;
  /** Releases running tasks for the next process; waits for the ledger and closes the store. */
  close(): Promise<void>;
}

const VERSION = "0.1.0";
const MODELS_FOLDER = join(import.meta.dirname, "..", "models");

/** Builds every object once, in order. Throws one sentence when something outside is not as it must be. */
export async function buildServices(parts: ServiceParts): Promise<Services> {
  const { config, clock } = parts;
  const files = loadModelFiles(MODELS_FOLDER);
  const offers = openOffers(parts, files);
  const settings = (): Settings => offers.current().settings;
  const failpoint = readFailpoint(config.failpoint);
  const offer = (): Offer => offers.current().offer;
  const metrics = openMetrics(parts, offer);
  const counted = { ...parts, metrics, failpoint, kill };
  const books = await openBooks({
    ...counted,
    timeouts: () => settings().timeouts,
    ...knownIn(offers),
  });
  let url = `http://${config.host}:${config.port}`;
  const publicUrl = (): string => config.publicUrl ?? url;
  const assets = await openAssets(parts, books, publicUrl);
  const sandbox = await openSandbox(parts, offers, books, files);
  const token = await adminTokenOf(config, books);
  const kept = await keptOf(parts, books, settings);
  let draining = false;
  const shared = { ...sharedOf(parts, books, offers), offer, kept };
  const { reader, routing } = shared;
  const opened = { books, offers, routing, assets, failpoint, metrics };
  const { tasks, scheduler, ...media } = openTasks({ ...parts, ...opened });
  const [calls, waits] = [createLiveCalls(), createLiveCalls()];
  const memory = createRequestMemory(() => settings().memory.bodiesBytes);
  const prober = createProber({ clock, routing, providers: () => offer().providers });
  metrics.readState({ memory, calls, routing, database: books.database, version: VERSION });
  const edge: EdgeServices = {
    admin: books.admin,
    operations: operationsOf(parts, { ...shared, books, offers, tasks, assets }),
    ...(await openWeb({ ...parts, books, adminTokenHash: token.hash, offer, publicUrl })),
    modelRoutes: (filter) =>
      listRoutes(offer(), routing.health.snapshot(), checkRouteFilter(knownIn(offers), filter)),
    memory,
    addresses: openAddresses(config),
    authenticate: (text) => books.keys.remembered(text) ?? books.keys.authenticate(text),
    isAdminToken: (text) => books.tokenHash(text) === token.hash,
    publicUrl,
    openAsset: (path, query) => openAsset(assets, path, query),
    version: VERSION,
    metrics: metrics.text,
    media: { ...shared, live: waits, tasks, assets, allowedHosts: () => settings().outbound.allowedHosts },
    counts: { ...shared, live: waits, limiter: createLimiter(clock), limits: () => settings().limits },
    largeBodies: { ...shared, spendable: books.spendable },
    relay: relayOf({ ...shared, live: calls, ledger: books.ledger, failpoint }, settings),
    ready: () => readiness(draining, books),
  };
  const { refusals } = books;
  const app = createApp({ ...parts, routes: ROUTED, services: edge, meter: metrics.meter, refusals });
  const warming = warmUpOf(parts, edge, files);
  await scheduler.start();
  kept.start();
  prober.start();
  return {
    app(request, connection) {
      warming.giveWay();
      return app(request, connection);
    },
    admin: books.admin,
    assets,
    newAdminToken: token.text,
    firstAccount: books.installation.firstAccount,
    shown: books.installation.shown,
    offer,
    reload: reloading(offers, { metrics, routing, prober, scheduler }),
    startThreads: () => startAll([reader, books, media, sandbox, kept]),
    warmUp: warming.run,
    metrics,
    listensAt: (at) => (url = at),
    drain() {
      draining = true;
      warming.stop();
      prober.close();
    },
    endCalls() {
      // Until now requests that wait for a task could still get it.
      scheduler.drain();
      for (const live of [calls, waits]) live.end(shuttingDown());
    },
    close: () => closeInTurn(prober, scheduler, kept, reader, books),
  };
}

/** Reads the settings again, and tells all that depends on the offer. Throws their sentence where they are wrong. */
function reloading(
  offers: Offers<Settings>,
  parts: {
    readonly metrics: Pick<OpenMetrics, "keepNames">;
    readonly routing: Pick<Routing, "health">;
    readonly prober: Pick<Prober, "start">;
    readonly scheduler: Pick<OpenTasks["scheduler"], "wake">;
  },
) {
  const { metrics, routing, prober, scheduler } = parts;
  return (): void => {
    metrics.keepNames();
    offers.reload();
    routing.health.retain();
    prober.start();
    // Tasks may wait for a model that is served from now on.
    scheduler.wake();
  };
}

/** What filters may name by the settings of the moment. */
function knownIn(offers: Offers<Settings>): RouteFilterParts {
  return {
    isModel: (id) => offers.current().offer.catalog.knownById(id).length > 0,
    providers: () => providerIds(offers.current().settings),
  };
}

/** What the operator sees and does beyond the books. */
function operationsOf(
  { config, clock }: ServiceParts,
  opened: {
    readonly books: Books;
    readonly offers: Offers<Settings>;
    readonly tasks: Tasks;
    readonly assets: Assets;
    readonly limiter: Limiter;
  },
): Operations {
  const { books, offers, tasks, assets, limiter } = opened;
  const status: StatusParts = {
    ...books,
    database: books.operatorReads,
    version: VERSION,
    startedAtMs: clock.nowMs(),
    places: placesOf(config),
    countTasks: createTaskCounts(books.operatorReads, clock),
    providers: () => providerStatus(offers.current()),
    settings: () => shownSettings(config, offers.current().settings),
    lastAudit: books.audit.last,
    steadyMs: () => clock.steadyMs(),
  };
  return createOperations({
    ...books,
    database: books.operatorReads,
    tasks,
    assets,
    limiter,
    clock,
    status,
  });
}

/** What requests of all kinds share. */
function sharedOf(parts: ServiceParts, books: Books, offers: Offers<Settings>) {
  const { clock } = parts;
  return {
    clock,
    limiter: createLimiter(clock),
    reader: createReader(),
    carrierSecret: books.secretFor("carriers 1"),
    routing: routingOf(parts, offers),
    unknownUsage: createUnknownUsage(parts.log),
  };
}

async function closeInTurn(...parts: readonly { close(): Promise<void> | void }[]): Promise<void> {
  for (const part of parts) await part.close();
}

function startAll(parts: readonly { startThreads(): void }[]): void {
  for (const { startThreads } of parts) startThreads();
}

/** How requests find their way, by the settings and the offer of the moment. */
function routingOf(parts: ServiceParts, offers: Offers<Settings>): Routing {
  return createRouting({
    ...parts,
    settings: () => offers.current().settings.routing,
    ways: () => offeredWays(offers.current().offer),
  });
}

/** What language requests are relayed with; the time limits are those of the moment. */
function relayOf(
  parts: Omit<RelayServices, "timeouts" | "thinking">,
  settings: () => Settings,
): RelayServices {
  return {
    ...parts,
    thinking: createThinkingMemory(parts.clock),
    get timeouts() {
      return settings().timeouts;
    },
  };
}

async function readiness(draining: boolean, { writer }: Books): Promise<void> {
  if (draining) throw new Error("The gateway is shutting down.");
  await writer.submit({ kind: "ping" });
}

function warmUpOf(parts: ServiceParts, edge: EdgeServices, files: readonly Model[]): WarmUp {
  const { clock } = parts;
  return createWarmUp({ clock, open: (breathe) => openRehearsal({ ...parts, edge, files }, breathe) });
}

function shuttingDown(): GatewayError {
  return new GatewayError("overloaded_error", "The gateway is shutting down.", { retryAfterSec: 1 });
}

function openOffers({ config, environment }: ServiceParts, files: readonly Model[]): Offers<Settings> {
  const read = () => readSettings(config.settingsFile, environment, PROVIDERS);
  return createOffers(read, files, loadNameRules(join(MODELS_FOLDER, "names.yaml")));
}

/** Opens the store of result files. Closes the books when it cannot. */
async function openAssets(
  { config, clock, random }: ServiceParts,
  books: Books,
  publicUrl: () => string,
): Promise<Assets & AssetUrls> {
  try {
    if (config.assets !== undefined) {
      const spoolFolder = join(config.home, "assets-on-their-way");
      return await openS3Assets({ address: config.assets, spoolFolder, clock, random });
    }
    return await openDiskAssets({
      folder: join(config.home, "assets"),
      publicUrl,
      signingSecret: books.secretFor("signed URLs 1"),
      clock,
      random,
    });
  } catch (error) {
    await books.close();
    throw error;
  }
}

/** Answers of Responses that later requests may name. */
function keptOf(
  { config, clock, log }: ServiceParts,
  books: Books,
  settings: () => Settings,
): Promise<OpenKept> {
  const secret = books.secretFor("kept responses 1");
  const { home, databaseUrl } = config;
  return openKept({ home, databaseUrl, secret, clock, log, settings: () => settings().responses });
}

/** The token that was set, else the installation's own; its text only when this start made it. */
async function adminTokenOf({ adminToken }: Config, { installation, tokenHash }: Books) {
  if (adminToken === undefined) return installation.adminToken();
  return { text: undefined, hash: tokenHash(adminToken) };
}

/** From here on the sandbox serves models without a live provider, where the rule of this installation allows it. */
async function openSandbox(
  { config, clock, log }: ServiceParts,
  offers: Offers<Settings>,
  { installation, tokenHash }: Books,
  files: readonly Model[],
): Promise<{ startThreads(): void }> {
  const rule = await createSandboxRule({
    mode: config.sandbox,
    onSqlite: config.databaseUrl === undefined,
    installation,
    hasProvider: hasProvider(offers.current().settings),
    onFailure: (error) =>
      log.error("it could not be noted that a provider is set", { error: describeError(error) }),
  });
  const modelOf = (id: string, category: Category): Model | undefined =>
    files.find((model) => model.id === id && model.category === category);
  const sandbox = createSandbox({ clock, hash: tokenHash, modelOf, definitions: PROVIDERS });
  offers.openSandbox(sandbox, rule);
  return {
    startThreads() {
      if (rule.serves()) sandbox.startThread();
    },
  };
}

/** Bounds the requests of each client address, where a bound is set. */
function openAddresses({ connectionsPerAddress: most, trustedProxies }: Config): AddressLimiter | undefined {
  return most === undefined ? undefined : createAddressLimiter(most, trustedProxies);
}

function readFailpoint(text: string | undefined): Failpoint {
  return text === undefined ? noFailpoint : parseFailpoint(text, kill);
}

function kill(): void {
  process.kill(process.pid, "SIGKILL");
}
