import { errorDetails, GatewayError, quoted, withWarnings } from "../../core/errors.ts";
import { type Handover, handOver } from "../../core/handover.ts";
import { type ProtocolId, PROTOCOLS, type RouteOrder } from "../../core/model.ts";
import type { UsedTokens } from "../../limits/limiter.ts";
import { besideModel, modelsInHeader } from "../../protocols/asked-models.ts";
import { compactedBy } from "../../protocols/index.ts";
import { printable } from "../../protocols/printable.ts";
import type { AskedModel } from "../../protocols/protocol.ts";
import { checksum } from "../../runtime/hash.ts";
import { findAsked, resolveId } from "../find-model.ts";
import { type KeyPass, passKeyLimits } from "../key-limits.ts";
import type { Offer } from "../offer.ts";
import type { Reading, ReadRequest } from "../reading/read-request.ts";
import { noteAsked } from "../request-record.ts";
import { orderAsked } from "../routing/asked-order.ts";
import { hasChoices } from "../routing/ways.ts";
import { admit, type Admission, type Destination, type Destinations, findDestinations } from "./admit.ts";
import { recalledFor } from "./dropped-thinking.ts";
import { withNamed } from "./kept-state.ts";
import { isOfModelAlone, type Leg } from "./legs.ts";
import type { RelayInput, RelayServices } from "./relay-input.ts";

/** A request that nothing speaks against but what it costs. */
export interface Admitted {
  /** Aimed at the first way of the first leg, and written for it. */
  readonly request: ReadRequest;
  readonly legs: readonly [Leg, ...Leg[]];
  /** Why models that were named cannot serve it: the gateway warns the client of each, also where the request fails. */
  readonly left: readonly string[];
  /** See `Choice`. */
  readonly stickyKey: number | undefined;
  /** Of a key with limits. */
  readonly limited: KeyPass | undefined;
}

/** The models that may serve a request, and the warnings about those that cannot. */
type Legs = Pick<Admitted, "legs" | "left">;

/** A request that is being admitted. */
interface Asked {
  readonly services: RelayServices;
  readonly input: RelayInput;
  readonly offer: Offer;
  readonly request: ReadRequest;
  readonly choice: Choice;
}

/** What a request's way depends on beside its model. */
interface Choice {
  /** The same for requests that begin alike; `undefined` where no model has two ways. */
  readonly stickyKey: number | undefined;
  /** The order that the caller asked for. */
  readonly by: RouteOrder | undefined;
  /** The answer is not streamed. */
  readonly isPlain: boolean;
}

/** Everything that nobody outside is asked for. Rejects with a 400, a 429, or a 503 where no provider can be asked. */
export async function admitRequest(services: RelayServices, input: RelayInput): Promise<Admitted> {
  const { caller, protocol, compacts, record, wire, memory, signal } = input;
  const offer = services.offer();
  const { id: format } = protocol;
  let name: unknown = wire.address?.model;
  let request: ReadRequest | undefined;
  let admitted: Legs | undefined;
  try {
    const by = orderAsked(caller, wire.headers);
    const { body, stickyKey } = hasChoices(offer) ? peek(input) : { body: input.body, stickyKey: undefined };
    const asked = (model: unknown): void => void (name ??= model);
    const carrier = { secret: services.carrierSecret, account: caller.accountId };
    const terms = { owner: caller.keyId, carrier, asked, signal };
    // A small body is read at once: nothing is awaited then.
    const reading = services.reader.readRequest(compacts ? COMPACTING : READINGS[format], wire, body, terms);
    request = reading instanceof Promise ? await reading : reading;
    if (request.state?.names !== undefined) request = await withNamed(services.kept, caller, request, memory);
    const choice = { by, stickyKey, isPlain: !request.stream };
    admitted = await admitLegs({ services, input, offer, request, choice });
    const [{ admission }] = admitted.legs;
    record.note({ model: admission.model.id, provider: admission.provider.id });
    const limited = passKeyLimits(services, { caller, record, format: protocol }, guessedTokens(admission));
    return { request, ...admitted, stickyKey, limited };
  } catch (error) {
    request?.release();
    if (admitted === undefined) noteAsked(record, offer, name);
    else if (error instanceof GatewayError) throw withWarnings(error, admitted.left);
    throw error;
  }
}

/** How much of a body tells conversations apart, and what their provider's cache knows them by. */
const STICKY_BYTES = 2_048;

/** A body without its model has that in its path. */
function peek({ caller, body, wire }: RelayInput): {
  readonly body: Handover<Uint8Array>;
  readonly stickyKey: number;
} {
  const bytes = body.take();
  const stickyKey = checksum(
    bytes.subarray(0, STICKY_BYTES),
    checksum(wire.address?.model ?? "", checksum(caller.keyId)),
  );
  return { body: handOver(bytes), stickyKey };
}

/** The models that may serve the request. Throws what is wrong with it for the first, where none can. */
async function admitLegs(asked: Asked): Promise<Legs> {
  const { input, request } = asked;
  const names = namesOf(input, request);
  if (names.length > 1) return admitNamed(asked, names);
  let found: Destinations;
  try {
    found = findFor(asked, names[0]);
  } catch (error) {
    if (!isOfModelAlone(error) || error.code !== "no_live_provider" || input.compacts === true) throw error;
    return admitInPlace(asked, error);
  }
  const { fallback = [] } = found.model.routing ?? {};
  if (fallback.length === 0 || input.compacts === true)
    return { legs: [await admitLeg(asked, found)], left: [] };
  input.record.asks(found.model.id);
  const first = await admitLeg(asked, found);
  const { legs, left } = await admitFallbacks(asked, fallback);
  return aimedAtFirst(asked, { legs: [first, ...legs], left });
}

function namesOf(
  { wire, compacts }: RelayInput,
  { model, models }: ReadRequest,
): readonly [AskedModel, ...AskedModel[]] {
  if (models !== undefined) return compacts === true ? [models[0]] : models;
  return besideModel(model, (compacts === true ? undefined : modelsInHeader(wire.headers)) ?? NO_MODELS);
}

const NO_MODELS: readonly AskedModel[] = [];

function findFor({ input, offer }: Asked, asked: AskedModel): Destinations {
  return findAsked(asked, (name) => findDestinations(offer, input.caller, input.protocol.id, name));
}

/** The models that the caller names. One that cannot serve the request is left out with a warning. */
async function admitNamed(asked: Asked, names: readonly [AskedModel, ...AskedModel[]]): Promise<Legs> {
  const { input, offer } = asked;
  const [id, ...more] = offer.catalog.names.find(names[0].name)?.ids ?? [];
  if (id !== undefined && more.length === 0) input.record.asks(id);
  const legs: Leg[] = [];
  const refused: Refused[] = [];
  const left = (): readonly string[] => refused.map(({ name, error }) => leftOut("models", name, error));
  for (const named of names) {
    try {
      const found = findFor(asked, named);
      // One by two of its names is one.
      if (legs.some(({ admission }) => admission.model === found.model)) continue;
      legs.push(await admitLeg(asked, found, named !== names[0]));
    } catch (error) {
      if (!isOfModelAlone(error)) throw error;
      if (UNSERVABLE.has(error.code ?? "")) throw withWarnings(error, left());
      refused.push({ name: named.name, error });
    }
  }
  const [first, ...others] = legs;
  if (first === undefined) throw noneServes(refused);
  return aimedAtFirst(asked, { legs: [first, ...others], left: left() });
}

/** A name of the list whose model cannot serve the request. */
interface Refused {
  readonly name: string;
  readonly error: GatewayError;
}

/** The refusal of the first, which says of each other why it cannot serve either. */
function noneServes([first, ...others]: readonly Refused[]): GatewayError {
  if (first === undefined) throw new Error("No model was refused.");
  const { kind, message } = first.error;
  const told = others.map(({ name, error }) => `Nor can ${quoted(name)} serve: ${reasonOf(error)}`);
  return new GatewayError(kind, [message, ...told].join(" "), errorDetails(first.error));
}

/** Characters of the reason of each model but the first, when none can serve. */
const MOST_REASON = 240;

/** Text in which each quotation that begins also ends; the log leaves quotations out. */
const WHOLE_QUOTATIONS = /^(?:[^"]|"(?:[^"\\]|\\.)*")*/;

function reasonOf({ message }: GatewayError): string {
  if (message.length <= MOST_REASON) return message;
  return `${WHOLE_QUOTATIONS.exec(message.slice(0, MOST_REASON))?.[0] ?? ""}…`;
}

function leftOut(field: "models" | "fallback", name: string, { message }: GatewayError): string {
  return `${field}: ${printable(name)} cannot serve this request, and was left out (${message})`;
}

/** What is wrong with a name that stands for models, whatever the request: it is told, and no other model serves. */
const UNSERVABLE: ReadonlySet<string> = new Set(["model_ambiguous", "model_not_allowed"]);

/** Models that the operator names for another. */
interface Fallbacks {
  readonly legs: readonly Leg[];
  /** What the client is told of those that cannot serve the request; of one that its key may not use, nothing. */
  readonly left: readonly string[];
}

async function admitFallbacks(asked: Asked, fallback: readonly string[]): Promise<Fallbacks> {
  const legs: Leg[] = [];
  const left: string[] = [];
  for (const id of fallback) {
    try {
      legs.push(await admitLeg(asked, findFor(asked, { name: id, field: "model" }), true));
    } catch (error) {
      if (!isOfModelAlone(error)) throw error;
      if (error.code !== "model_not_allowed") left.push(leftOut("fallback", id, error));
    }
  }
  return { legs, left };
}

/** The models that the operator names for one without a live provider. Throws its `refusal` where none can serve. */
async function admitInPlace(asked: Asked, refusal: GatewayError): Promise<Legs> {
  const { input, offer, request } = asked;
  const { id, warnings } = resolveId(offer.catalog, input.caller, request.model, input.protocol.id);
  input.record.asks(id);
  const named = offer.catalog.knownById(id).find(({ category }) => category === "language");
  const { legs, left } = await admitFallbacks(asked, named?.routing?.fallback ?? []);
  const told = (leg: Leg): Leg => {
    const served = `model: ${id} has no live provider, and ${leg.admission.model.id} serves`;
    return { ...leg, warnings: [...warnings, served, ...leg.warnings] };
  };
  const [first, ...others] = legs.map(told);
  if (first === undefined) throw refusal;
  return aimedAtFirst(asked, { legs: [first, ...others], left });
}

/**
 * One model, by the first of its ways in their present order that can be asked for all of it. Throws a 400 where none
 * can: what the way says that is listed first, whatever their order.
 */
async function admitLeg(
  asked: Asked,
  { model, ways, warnings }: Destinations,
  isFallback = false,
): Promise<Leg> {
  const { services, input, choice } = asked;
  const ordered = ways.length === 1 ? ways : services.routing.order(ways, model, choice);
  let left = input.compacts === true ? ordered.map(compactingAt) : ordered;
  let refusal: GatewayError | undefined;
  for (let [way] = left; way !== undefined; [way] = left) {
    try {
      const admission = await admitWay(asked, way, left);
      return { ways: input.compacts === true ? [way] : left, admission, isFallback, warnings };
    } catch (error) {
      // The sandbox stands in for every route: there it is as strict as the one that is asked first.
      if (!isOfModelAlone(error) || way.failsAsAsked) throw error;
      // Another way may take it, now or soon: which one comes first must not decide what a good request is.
      const { target } = way;
      if (refusal === undefined || target === ways[0]?.target) refusal = error;
      left = left.filter((other) => other.target !== target);
    }
  }
  throw refusal;
}

async function admitWay(
  asked: Asked,
  destination: Destination,
  ways: readonly Destination[],
): Promise<Admission> {
  const { services, input, request } = asked;
  const recalling = recalledFor(asked, destination);
  const target = recalling instanceof Promise ? await recalling : recalling;
  const aimed = request.aimAt({ spoken: destination.spoken.id, target });
  const demand = aimed instanceof Promise ? await aimed : aimed;
  const hasOtherFormats = ways.some(({ spoken }) => spoken.id !== destination.spoken.id);
  const admission = admit(destination, input.protocol.id, demand, services.clock.nowMs(), hasOtherFormats);
  // What the target cannot take is a 400, and that comes before the 429 and the 402.
  const written = request.write();
  if (written instanceof Promise) await written;
  return admission;
}

/** The legs with the request aimed at the first, since others were tried behind it, and what is told of those left out. */
async function aimedAtFirst(asked: Asked, { legs: [first, ...others], left }: Legs): Promise<Legs> {
  const told = (leg: Leg): Leg => ({ ...leg, warnings: [...left, ...leg.warnings] });
  const admission = await admitWay(asked, first.admission, first.ways);
  return { legs: [told({ ...first, admission }), ...others.map(told)], left };
}

const READINGS = Object.fromEntries(
  PROTOCOLS.map((format) => [format, { format, purpose: "answer" }]),
) as Readonly<Record<ProtocolId, Reading>>;

const COMPACTING: Reading = { format: "compat_responses", purpose: "compact" };

function compactingAt(destination: Destination): Destination {
  return { ...destination, protocol: compactedBy(destination.spoken.id, destination.target) };
}

/** Output to reckon with for each choice while a request runs; most answers are shorter. */
const GUESSED_OUTPUT = 1_024;

function guessedTokens({ expectedInput, choices, mostOutput }: Admission): UsedTokens {
  return { input: expectedInput, output: Math.min(mostOutput ?? Infinity, GUESSED_OUTPUT * choices) };
}
