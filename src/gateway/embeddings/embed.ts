import type { Caller } from "../../core/caller.ts";
import type { MemoryShare } from "../../core/bytes/request-memory.ts";
import { GatewayError, toGatewayError, withHeaders } from "../../core/errors.ts";
import type { Handover } from "../../core/handover.ts";
import type { Model, Route } from "../../core/model.ts";
import type { Hold } from "../../core/money/hold.ts";
import { NO_USAGE } from "../../core/money/usage.ts";
import { chatCompletions } from "../../protocols/chat-completions/index.ts";
import type { EmbeddingFormat } from "../../protocols/embeddings/format.ts";
import type { EmbeddingRequest } from "../../protocols/embeddings/request.ts";
import type { UpstreamBody } from "../../protocols/protocol.ts";
import { endOfTurn } from "../../runtime/end-of-turn.ts";
import { createKeyedHash, deriveSecret } from "../../runtime/hash.ts";
import { findModel } from "../find-model.ts";
import { holdRefusalError } from "../hold-refusal.ts";
import { type KeyPass, passKeyLimits } from "../key-limits.ts";
import { checkWays } from "../language/attempts.ts";
import { clientHeaders } from "../language/candidates.ts";
import { openPaidCall, type PaidCall } from "../language/paid-call.ts";
import type { PreparedCall } from "../language/prepared-call.ts";
import { plainAnswer } from "../language/plain-answer.ts";
import { prepareBody } from "../language/prepared-body.ts";
import { endWith } from "../language/relay.ts";
import type { RelayServices } from "../language/relay-input.ts";
import { admitting, type RequestRecord } from "../request-record.ts";
import { orderAsked } from "../routing/asked-order.ts";
import { admitEmbeddings, type EmbeddingAdmission, type EmbeddingWay, embeddingWays } from "./admit.ts";

/** One request for embeddings. */
export interface EmbedInput {
  readonly caller: Caller;
  readonly headers: Headers;
  readonly body: Handover<Uint8Array>;
  /** Where the body is held, and then the answer, for whoever sends it to let go of. */
  readonly memory: MemoryShare;
  /** Ends when the client has gone. */
  readonly signal: AbortSignal;
  readonly record: RequestRecord;
}

/** What the client is sent. */
export interface EmbedOutput {
  readonly body: Uint8Array;
  readonly warnings: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Serves one request for embeddings: admit, limit, hold, call, meter, settle. The answer comes back only after its charge
 * is durable. Throws a `GatewayError` for everything else.
 */
export async function embed(relay: RelayServices, input: EmbedInput): Promise<EmbedOutput> {
  const { timeouts } = relay;
  const services = { ...relay, timeouts: { ...timeouts, ...timeouts.embedding } };
  services.failpoint("request.authenticated");
  const { caller, record, memory, signal } = input;
  const offer = services.offer();
  const admitted = await admitting(record, offer, async (asked) => {
    const request = await services.reader.readEmbeddings(input.body, { asked, signal });
    const { model, warnings } = findModel(offer.catalog, caller, request.model, "embedding");
    const by = orderAsked(caller, input.headers);
    const ways = embeddingWays(offer, model);
    const ordered = services.routing.order(ways, model, { by, isPlain: true });
    const first = ways[0]?.route;
    return { request, warnings, ...admitByAny(model, { ordered, first }, request, services.clock.nowMs()) };
  });
  const { admission } = admitted;
  record.note({ model: admission.model.id, provider: admission.provider.id });
  const written = writeBody(services, input, admitted.request, admission);
  const guess = { input: admission.expectedInput, output: 0 };
  const limited = passKeyLimits(services, { caller, record, format: chatCompletions }, guess);
  let call: PaidCall<EmbeddingFormat> | undefined;
  const headers = (): EmbedOutput["headers"] => ({
    ...limited?.headers(),
    ...(call === undefined ? admission.provider.answerHeaders : call.answerHeaders),
  });
  try {
    call = await openCall(services, input, admitted, written, limited);
    endWith(signal, call);
    const body = await plainAnswer(services, call, { record, memory });
    return { body, warnings: [...admitted.warnings, ...call.warnings], headers: headers() };
  } catch (error) {
    throw withHeaders(toGatewayError(error), headers());
  }
}

/**
 * By the first way that takes it, and those behind that. Throws where no way takes it what the way says that is listed
 * first: the same as for language models.
 */
function admitByAny(
  model: Model,
  { ordered, first }: { readonly ordered: readonly EmbeddingWay[]; readonly first: Route | undefined },
  request: EmbeddingRequest,
  nowMs: number,
): Pick<AdmittedEmbeddings, "ways" | "admission"> {
  let refusal: unknown;
  for (const [i, way] of ordered.entries()) {
    try {
      return { ways: ordered.slice(i), admission: admitEmbeddings(model, way, request, nowMs) };
    } catch (error) {
      if (!(error instanceof GatewayError) || way.failsAsAsked) throw error;
      if (refusal === undefined || way.route === first) refusal = error;
    }
  }
  throw refusal;
}

/** A request for embeddings that nothing speaks against but what it costs. */
interface AdmittedEmbeddings {
  readonly request: EmbeddingRequest;
  readonly ways: readonly EmbeddingWay[];
  /** By the first of them. */
  readonly admission: EmbeddingAdmission;
}

function writeBody(
  { carrierSecret }: RelayServices,
  { caller, headers }: EmbedInput,
  request: EmbeddingRequest,
  { protocol, upstreamId, spoken, facts, provider }: EmbeddingAdmission,
): UpstreamBody {
  const user = request.user === undefined ? {} : { user: hashOf(request.user, caller, carrierSecret) };
  const body = protocol.upstreamBody(request, { upstreamId, dialect: spoken.dialect, facts, ...user });
  return { ...body, ...clientHeaders(body, provider, { headers }) };
}

/** Tells a provider whether two requests are of one user, and not who that is. */
function hashOf(user: string, { accountId }: Caller, secret: string): string {
  return createKeyedHash(deriveSecret(secret, "users of embeddings"))(`${accountId}/${user}`);
}

/** Sets credit aside, and gives the call that it pays for. */
async function openCall(
  services: RelayServices,
  input: EmbedInput,
  { request, ways, admission }: AdmittedEmbeddings,
  written: UpstreamBody,
  limited: KeyPass | undefined,
): Promise<PaidCall<EmbeddingFormat>> {
  const { caller, record, memory } = input;
  try {
    checkWays(services.routing.health, [{ ways }]);
    // The holds and calls of all requests that came in this turn are made together.
    await endOfTurn();
    const hold = await holdFor(services, caller, admission, record);
    const heldAtMs = services.clock.nowMs();
    const carrier = { secret: services.carrierSecret, account: caller.accountId };
    const prepared = (at: EmbeddingAdmission, body: UpstreamBody): PreparedCall<EmbeddingFormat> => ({
      body: prepareBody(body, memory),
      terms: { admission: at, outputTokens: undefined },
      reading: {},
    });
    const first = prepared(admission, written);
    memory.hold(first.body.length);
    const candidates = ways.map((way, i) => ({
      way,
      prepare() {
        if (i === 0) return first;
        const other = admitOther(request, way, admission);
        return other && prepared(other, writeBody(services, input, request, other));
      },
    }));
    const parts = { services, hold, heldAtMs, record, carrier, pass: limited?.pass, memory };
    return openPaidCall(parts, { first, candidates });
  } catch (error) {
    // No call was made: nothing of the limit on tokens is used.
    limited?.pass.end({ input: 0, output: 0 });
    throw error;
  }
}

/** The request on another way, at the prices of the first; `undefined` where that does not take it. */
function admitOther(
  request: EmbeddingRequest,
  way: EmbeddingWay,
  { model, plan, snapshot, admittedAtMs }: EmbeddingAdmission,
): EmbeddingAdmission | undefined {
  try {
    return { ...admitEmbeddings(model, way, request, admittedAtMs), plan, snapshot };
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

async function holdFor(
  { ledger }: RelayServices,
  caller: Caller,
  { model, snapshot, amount, plan, expectedInput }: EmbeddingAdmission,
  { requestId }: RequestRecord,
): Promise<Hold> {
  const hold = await ledger.hold({
    accountId: caller.accountId,
    keyId: caller.keyId,
    requestId,
    model,
    snapshot,
    amount,
    expectedCost: plan.charge({ ...NO_USAGE, input: expectedInput }).cost,
  });
  if (typeof hold !== "string") return hold;
  throw holdRefusalError(hold, { amount, less: "less text" });
}
