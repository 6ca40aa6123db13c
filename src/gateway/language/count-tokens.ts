import { type Handover, handOver } from "../../core/handover.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import type { MemoryShare } from "../../core/bytes/request-memory.ts";
import type { Caller } from "../../core/caller.ts";
import type { Clock } from "../../core/time/clock.ts";
import { describeError } from "../../core/log/log.ts";
import type { Model, ProtocolId, RouteOrder } from "../../core/model.ts";
import { NO_LIMITS } from "../../core/rate-limits.ts";
import type { KeptResponses } from "../../kept/kept.ts";
import type { Limiter } from "../../limits/limiter.ts";
import type { LimitSettings } from "../../limits/settings.ts";
import { readAnswerJson } from "../../protocols/answer-json.ts";
import type { TokenCounter, UpstreamBody, WireRequest } from "../../protocols/protocol.ts";
import { permitCount } from "../../providers/permits.ts";
import type { Provider, SpokenProtocol } from "../../providers/provider.ts";
import { callUpstream } from "../../providers/upstream.ts";
import { findAsked, findModel, type FoundModel, resolveId } from "../find-model.ts";
import type { Offer } from "../offer.ts";
import type { ReadRequest } from "../reading/read-request.ts";
import type { Reader } from "../reading/reader.ts";
import { admitting, type RequestRecord } from "../request-record.ts";
import { orderAsked } from "../routing/asked-order.ts";
import type { Health } from "../routing/health.ts";
import type { Routing } from "../routing/routing.ts";
import { checkInputs, type Destination, waysTo } from "./admit.ts";
import { withNamed } from "./kept-state.ts";
import { ownCount } from "./own-count.ts";
import { ClientGone } from "./client-gone.ts";
import type { CallServices } from "./paid-call.ts";
import { clientHeaders } from "./candidates.ts";

/** What counting needs. It sees no ledger: nothing is held, charged or written down for it. */
export interface CountServices extends Pick<CallServices, "live" | "carrierSecret"> {
  readonly clock: Clock;
  readonly routing: Pick<Routing, "order"> & { readonly health: Pick<Health, "look"> };
  /** The models and providers of this moment. */
  offer(): Offer;
  /** Of counts that providers are asked for, and of nothing else. */
  readonly limiter: Limiter;
  readonly limits: () => LimitSettings;
  readonly reader: Reader;
  /** Answers that requests may name. */
  readonly kept: KeptResponses;
}

/** One request to count. */
export interface CountInput {
  readonly caller: Caller;
  readonly counter: TokenCounter;
  readonly wire: Pick<WireRequest, "headers" | "address">;
  readonly body: Handover<Uint8Array>;
  /** Where it is held. */
  readonly memory: MemoryShare;
  /** Ends when the client has gone. */
  readonly signal: AbortSignal;
  readonly record: RequestRecord;
}

/** What the client is sent. */
export interface CountOutput {
  readonly body: Uint8Array;
  readonly warnings: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
}

/** How long the gateway waits for a provider's count before it gives its own. */
const MOST_WAIT_MS = 2_000;

/** A count is a few dozen bytes. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** Why a count is our own, as it stands in the warning. */
class Uncounted extends Error {
  override readonly name = "Uncounted";
}

/**
 * Counts the input of one request. The provider of its model counts it where that speaks the caller's format and
 * answers in time. Else the count is our own estimate, which says so. Throws a `GatewayError` for a request that is not
 * valid, and for a model that the caller may not use. A provider's failure is never one.
 */
export async function countTokens(services: CountServices, input: CountInput): Promise<CountOutput> {
  const { caller, counter, record, wire, body, signal } = input;
  const { id: format } = counter.protocol;
  const offer = services.offer();
  let read: ReadRequest | undefined;
  try {
    const { request, model, by, warnings } = await admitting(record, offer, async (asked) => {
      asked(wire.address?.model);
      const by = orderAsked(caller, wire.headers);
      const reading = { format, purpose: "count" } as const;
      const carrier = { secret: services.carrierSecret, account: caller.accountId };
      const terms = { owner: caller.keyId, carrier, asked, signal };
      let request = await services.reader.readRequest(reading, wire, body, terms);
      read = request;
      request = read = await withNamed(services.kept, caller, request, input.memory);
      const [first] = request.models ?? [{ name: request.model, field: "model" }];
      const found = findAsked(first, (name) => findCounted(offer.catalog, caller, name, format));
      checkInputs(found.model, request.demand, format);
      return { request, by, ...found };
    });
    record.note({ model: model.id });
    const output = await countFor(services, input, { offer, model, by, request });
    return { ...output, warnings: [...warnings, ...output.warnings] };
  } finally {
    read?.release();
  }
}

/**
 * The model that the caller means, in whatever format it is served. Clients count before they ask, and those of another
 * format than the model's have their count all the same.
 */
function findCounted(catalog: Catalog, caller: Caller, name: string, format: ProtocolId): FoundModel {
  const { id, warnings } = resolveId(catalog, caller, name, format);
  const model = catalog.byId(id).find(({ category }) => category === "language");
  return model === undefined ? findModel(catalog, caller, name, format) : { model, warnings };
}

/** A request that is good. */
interface Counted {
  readonly offer: Offer;
  readonly model: Model;
  /** The order that the caller asked for. */
  readonly by: RouteOrder | undefined;
  readonly request: ReadRequest;
}

async function countFor(
  services: CountServices,
  input: CountInput,
  { offer, model, by, request }: Counted,
): Promise<CountOutput> {
  const { counter, record } = input;
  const { id: format } = counter.protocol;
  if (model.formats[format] === undefined) return estimate(input, model, request, NOT_ITS_FORMAT);
  const { routing } = services;
  // A count costs a provider next to nothing, so one that cools may be asked where no other counts.
  const isOpen = ({ key }: Destination): boolean => routing.health.look(key).state === "open";
  const ways = routing.order(waysTo(offer, model, format), model, { by }).filter((way) => !isOpen(way));
  const [first] = ways;
  if (first === undefined) return estimate(input, model, request, NOT_COUNTED);
  const way = ways.find(({ spoken }) => spoken.id === format) ?? first;
  const { provider, spoken } = way;
  record.note({ provider: provider.id });
  if (spoken.id !== format) return estimate(input, model, request, NOT_ITS_FORMAT, provider);
  await request.aimAt({ spoken: format, target: way.target });
  await request.write();
  const body = await request.take(undefined);
  const asked = { ...body, ...clientHeaders(body, provider, input.wire) };
  try {
    const answer = await askProvider(services, input, spoken, way.upstreamId, asked);
    record.note({ outcome: "counted" });
    return { body: answer, warnings: asked.warnings, headers: { ...provider.answerHeaders } };
  } catch (error) {
    if (error instanceof ClientGone) throw error;
    record.note({ upstream_error: describeError(error) });
    return estimate(input, model, request, reasonOf(error), provider);
  }
}

const NOT_ITS_FORMAT = "the provider of this model does not count in this format";
const NOT_COUNTED = "the provider did not count it";

function reasonOf(error: unknown): string {
  return error instanceof Uncounted ? error.message : NOT_COUNTED;
}

/** Our own count as an answer of the format. */
function estimate(
  { counter, record }: CountInput,
  model: Model,
  { demand }: ReadRequest,
  why: string,
  provider?: Provider,
): CountOutput {
  record.note({ outcome: "estimated" });
  const count = counter.encodeCount(ownCount(model, demand));
  return {
    body: new TextEncoder().encode(JSON.stringify(count)),
    warnings: [`the count is an estimate: ${why}`],
    headers: { "x-switchyard-estimate": "true", ...provider?.answerHeaders },
  };
}

/** The provider's own answer. Rejects when it is none, with `ClientGone` when the client has gone. */
async function askProvider(
  services: CountServices,
  { caller, counter, signal, record }: CountInput,
  provider: SpokenProtocol,
  upstreamId: string,
  { body, headers = {} }: UpstreamBody,
): Promise<Uint8Array> {
  const { clock, limiter, live } = services;
  const { countTokensPerMinute: most } = services.limits();
  const limits = { ...NO_LIMITS, requestsPerMinute: most };
  const pass = limiter.admit({ keyId: caller.keyId, limits, inputTokens: 0, outputTokens: 0 });
  if (!pass.ok) {
    record.note({ limit: "count_tokens_per_minute" });
    throw new Uncounted(`providers count for this key ${most} times a minute at the most`);
  }
  const controller = new AbortController();
  const call = { abort: (reason: Error): void => controller.abort(reason) };
  const leave = (): void => call.abort(new ClientGone());
  const timer = clock.setTimer(MOST_WAIT_MS, () => call.abort(new Uncounted("the provider took too long")));
  live.add(call);
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave, { once: true });
  try {
    const path = counter.upstreamPath(upstreamId);
    const answer = await callUpstream(permitCount(path), {
      provider,
      path,
      headers,
      body: handOver(body),
      stream: false,
      signal: controller.signal,
    });
    record.note({ upstream_status: answer.status });
    const bytes = await answer.readAll(MAX_ANSWER_BYTES);
    // Which status it was is for the log: it may be about the operator's own account.
    if (answer.status !== 200) throw new Uncounted(NOT_COUNTED);
    checkCount(counter.countIn(readAnswerJson(bytes).value));
    return bytes;
  } catch (error) {
    const reason: unknown = controller.signal.aborted ? controller.signal.reason : error;
    // What has not been read of an answer is not waited for.
    controller.abort(reason);
    throw reason;
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", leave);
    live.delete(call);
    pass.end("as_guessed");
  }
}

/** A count of nothing would keep a client from ever making room. */
function checkCount(count: unknown): void {
  if (typeof count === "number" && Number.isSafeInteger(count) && count > 0) return;
  throw new Uncounted("the provider gave no count");
}
