import { joinBytes } from "../core/bytes/bytes.ts";
import { createCatalog } from "../catalog/catalog.ts";
import type { Caller } from "../core/caller.ts";
import { createRequestMemory } from "../core/bytes/request-memory.ts";
import { noFailpoint } from "../core/failpoint.ts";
import type { Log } from "../core/log/log.ts";
import { type Model, type ProtocolId, PROTOCOLS } from "../core/model.ts";
import type { Random } from "../core/random.ts";
import type { Clock } from "../core/time/clock.ts";
import { createReader } from "../gateway/reading/reader.ts";
import type { Offer } from "../gateway/offer.ts";
import { type LiveProviders, servedNow } from "../gateway/served.ts";
import { createRouting } from "../gateway/routing/routing.ts";
import { DEFAULT_ROUTING } from "../gateway/routing/settings.ts";
import { DEFAULT_TIMEOUTS } from "../gateway/timeouts.ts";
import { createApp } from "../http/app.ts";
import type { EdgeServices } from "../http/route.ts";
import { ROUTES } from "../http/routes.ts";
import { createKeys } from "../keys/keys.ts";
import { createLimiter } from "../limits/limiter.ts";
import { logLine } from "../log.ts";
import type { Provider, SpokenProtocol, Transport } from "../providers/provider.ts";
import { createSandbox, PROVIDERS } from "../providers/registry.ts";
import type { Connection } from "../runtime/serve.ts";
import { openMadeUpBooks } from "./books.ts";
import { requestsIn } from "./requests.ts";
import type { Breathe, Rehearsal } from "./warm-up.ts";

/** What a rehearsal is made of. */
export interface RehearsalParts {
  /** The services of the gateway; those that would leave something are replaced. */
  readonly edge: EdgeServices;
  /** The models of the catalogue's files. */
  readonly files: readonly Model[];
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * A rehearsal of paid calls. Made-up requests in each format, plain and streamed, go through the whole interface to
 * models of each format. The gateway's providers are the sandbox, its books write nothing, and its log lines go
 * nowhere. Each request is charged to nobody. Calling it runs all requests once.
 */
export async function openRehearsal(parts: RehearsalParts, breathe: Breathe): Promise<Rehearsal> {
  const { random } = parts;
  const clock = withoutTimers(parts.clock);
  const limiter = createLimiter(clock);
  const shared = { clock, limiter, live: new Set<never>(), offer: offerOf({ ...parts, clock }, breathe) };
  const keys = createKeys({
    async find() {
      await breathe();
      return { ...CALLER, models: null, expiresAtMs: null, revoked: false, accountActive: true };
    },
    pepper: "",
    clock,
    random,
  });
  const ledger = await openMadeUpBooks({ clock: parts.clock, random, log: NOWHERE, caller: CALLER, breathe });
  const app = createApp({
    routes: ROUTES,
    services: {
      ...parts.edge,
      addresses: undefined,
      memory: createRequestMemory(() => Infinity),
      authenticate: (text) => keys.remembered(text) ?? keys.authenticate(text),
      relay: {
        ...parts.edge.relay,
        ...shared,
        reader: createReader(),
        kept: { ...parts.edge.relay.kept, isOn: () => false },
        ledger,
        failpoint: noFailpoint,
        timeouts: DEFAULT_TIMEOUTS,
        routing: createRouting({ clock, random, settings: () => DEFAULT_ROUTING, ways: () => [] }),
      },
    },
    clock,
    random,
    log: NOWHERE,
  });
  const key = keys.issue().text;
  const requests = shared
    .offer()
    .catalog.models.flatMap((model) =>
      model.supportedProtocols.flatMap((format) => requestsIn(format, model)),
    );

  return async () => {
    for (const { path, body } of requests) {
      const request = new Request(`http://127.0.0.1${path}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${key}`,
          "content-type": "application/json",
          "content-length": String(body.length),
          host: "127.0.0.1",
        },
        body: body.slice(),
      });
      const answer = await app(request, CONNECTION);
      const said = await answer.text();
      if (answer.status !== 200) throw new Error(`${path} was answered with ${answer.status}: ${said}`);
      await breathe();
    }
  };
}

const CALLER: Caller = { keyId: "key_rehearsal", accountId: "acc_rehearsal", models: null };

const CONNECTION: Connection = {
  keepOpen() {},
  limitIdle() {},
  limitStall() {},
  hasRoom: () => true,
  address: () => undefined,
};

/** A log whose lines are written and dropped. */
const NOWHERE: Log = {
  info: (message, fields) => void logLine("info", message, fields),
  warn: (message, fields) => void logLine("warn", message, fields),
  error: (message, fields) => void logLine("error", message, fields),
};

/** Nothing in a rehearsal may wait: no deadline comes. */
function withoutTimers(clock: Clock): Clock {
  return { ...clock, setTimer: () => ({ cancel() {} }) };
}

/** A model of each format, at its own provider; what that would answer, the sandbox does. */
function offerOf({ files, clock }: RehearsalParts, breathe: Breathe): () => Offer {
  const models = PROTOCOLS.flatMap((format) => files.find((model) => isSpokenIn(format, model)) ?? []);
  const live: LiveProviders = {
    providers: providersOf(sandboxFor(models, clock), breathe),
    mediaProviders: new Map(),
  };
  const offer = { ...live, catalog: createCatalog(models.map((model) => servedNow(model, live))) };
  return () => offer;
}

function isSpokenIn(format: ProtocolId, { category, routes: [first] }: Model): boolean {
  const provider = PROVIDERS.find(({ id }) => id === first?.provider);
  return category === "language" && provider?.protocols[0]?.id === format;
}

/** The sandbox, by format. It knows the models by what their providers call them. */
function sandboxFor(models: readonly Model[], clock: Clock): ReadonlyMap<ProtocolId, Transport> {
  const sandbox = createSandbox({
    clock,
    hash: (text) => text,
    modelOf: (upstreamId) => models.find(({ routes: [first] }) => first?.upstreamId === upstreamId),
    definitions: PROVIDERS,
  });
  const spoken = [...sandbox.providers.values()].flatMap(({ protocols }) => protocols);
  return new Map(
    spoken.flatMap(({ id, transport }) => (transport === undefined ? [] : [[id, transport] as const])),
  );
}

function providersOf(
  sandbox: ReadonlyMap<ProtocolId, Transport>,
  breathe: Breathe,
): ReadonlyMap<string, Provider> {
  const spokenOf = ({ id, dialect }: Pick<SpokenProtocol, "id" | "dialect">): SpokenProtocol => ({
    id,
    baseUrl: "http://rehearsal.invalid",
    headers: {},
    dialect,
    transport: answeredOnce(sandbox.get(id), breathe),
  });
  return new Map(
    PROVIDERS.map(({ id, protocols }) => [id, { id, protocols: protocols.map(spokenOf), secrets: [] }]),
  );
}

/** Asks once for each body, and answers with the same from then on. */
function answeredOnce(ask: Transport | undefined, breathe: Breathe): Transport {
  const answers = new Map<string, readonly Uint8Array[]>();
  return async (url, request) => {
    if (ask === undefined) throw new Error("Nobody speaks this format.");
    await breathe();
    const name = `${url} ${new TextDecoder().decode(joinBytes(request.body ?? []))}`;
    const known = answers.get(name) ?? (await piecesOf(await ask(url, request), breathe));
    answers.set(name, known);
    const headers = { "content-type": request.headers.accept ?? "" };
    return new Response(streamOf(known), { headers });
  };
}

/** A body that comes in pieces, as from the network. */
function streamOf(pieces: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  const left = pieces.values();
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const { done, value } = left.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
  });
}

async function piecesOf(answer: Response, breathe: Breathe): Promise<readonly Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for await (const piece of answer.body ?? []) {
    pieces.push(piece);
    await breathe();
  }
  return pieces;
}
