import { GatewayError, toGatewayError, withHeaders } from "../../core/errors.ts";
import type { Hold } from "../../core/money/hold.ts";
import type { Caller } from "../../core/caller.ts";
import { type Handover, handOver } from "../../core/handover.ts";
import { JSON_FACTOR, type MemoryShare } from "../../core/bytes/request-memory.ts";
import type { Limiter, UsedTokens } from "../../limits/limiter.ts";
import type { RelayProtocol, UpstreamBody, WireRequest } from "../../protocols/protocol.ts";
import type { Provider } from "../../providers/provider.ts";
import { costOf } from "../../core/money/price.ts";
import { NO_USAGE } from "../../core/money/usage.ts";
import { admit, type Admission, findDestination, mostOutput } from "./admit.ts";
import type { ReadRequest } from "../reading/read-request.ts";
import type { Reader } from "../reading/reader.ts";
import type { Offer } from "../offer.ts";
import { holdRefusalError } from "../hold-refusal.ts";
import { type KeyPass, passKeyLimits } from "../key-limits.ts";
import { type CallServices, ClientGone, openPaidCall, type PaidCall } from "./paid-call.ts";
import { openStreamAnswer, type StreamAnswer } from "./relay-stream.ts";
import { admitting, type RequestRecord } from "../request-record.ts";

/** What relaying needs. */
export interface RelayServices extends CallServices {
  /** The models and providers of this moment; a request sees one of them throughout. */
  offer(): Offer;
  readonly limiter: Limiter;
  readonly reader: Reader;
}

/** One request of a caller. */
export interface RelayInput {
  readonly caller: Caller;
  readonly protocol: RelayProtocol;
  readonly wire: Pick<WireRequest, "headers" | "address">;
  readonly body: Handover<Uint8Array>;
  /** Where the body is held. A plain answer is when it comes back, for whoever sends it to let go of. */
  readonly memory: MemoryShare;
  /** Ends when the client has gone. */
  readonly signal: AbortSignal;
  readonly record: RequestRecord;
}

/** What the client is sent: a whole answer, or a stream that has begun. */
export type RelayOutput = (
  | { readonly kind: "plain"; readonly body: Uint8Array }
  | { readonly kind: "stream"; readonly answer: StreamAnswer }
) & {
  readonly warnings: readonly string[];
  /** How the caller's key stands against its limits, and where the answer comes from, as far as there is something to say. */
  readonly headers?: Readonly<Record<string, string>>;
};

/** A plain answer beyond this is a fault of the provider. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * Relays one request: admit, limit, hold, call, meter, settle. A plain answer comes back only after its charge is durable.
 * Throws a `GatewayError` for everything that happens before the answer's first byte.
 */
export async function relay(services: RelayServices, input: RelayInput): Promise<RelayOutput> {
  services.failpoint("request.authenticated");
  const admitted = await admitRequest(services, input);
  const { limited } = admitted;
  const { answerHeaders } = admitted.admission.provider;
  if (limited === undefined && answerHeaders === undefined) return relayAdmitted(services, input, admitted);
  const headers = (): Readonly<Record<string, string>> => ({ ...limited?.headers(), ...answerHeaders });
  try {
    const output = await relayAdmitted(services, input, admitted);
    return { ...output, headers: headers() };
  } catch (error) {
    throw withHeaders(toGatewayError(error), headers());
  }
}

/** Everything that nobody outside is asked for. Rejects with a 400 or a 429. */
async function admitRequest(
  services: RelayServices,
  { caller, protocol, record, wire, body, signal }: RelayInput,
): Promise<Admitted> {
  const offer = services.offer();
  let read: ReadRequest | undefined;
  try {
    const { request, admission } = await admitting(record, offer, async (asked) => {
      asked(wire.address?.model);
      const reading = { format: protocol.id, purpose: "answer" } as const;
      const request = await services.reader.readRequest(reading, wire, body, { asked, signal });
      read = request;
      const destination = findDestination(offer, caller, protocol.id, request.model);
      const { spoken, target } = destination;
      const demand = await request.aimAt({ spoken: spoken.id, target });
      return { request, admission: admit(destination, protocol.id, demand, services.clock.nowMs()) };
    });
    record.note({ model: admission.model.id, provider: admission.provider.id });
    // What the target cannot take is a 400, and that comes before the 429 and the 402.
    await request.write();
    const limited = passKeyLimits(services, { caller, record, format: protocol }, guessedTokens(admission));
    return { admission, request, limited };
  } catch (error) {
    read?.release();
    throw error;
  }
}

/** Output to reckon with for each choice while a request runs; most answers are shorter. */
const GUESSED_OUTPUT = 1_024;

function guessedTokens({ expectedInput, choices, mostOutput }: Admission): UsedTokens {
  return { input: expectedInput, output: Math.min(mostOutput ?? Infinity, GUESSED_OUTPUT * choices) };
}

/** A request that nothing speaks against but what it costs. */
interface Admitted {
  readonly admission: Admission;
  readonly request: ReadRequest;
  /** Of a key with limits. */
  readonly limited: KeyPass | undefined;
}

async function relayAdmitted(
  services: RelayServices,
  input: RelayInput,
  admitted: Admitted,
): Promise<RelayOutput> {
  const { record } = input;
  const { call, body, warnings } = await openCall(services, input, admitted).catch((error: unknown) => {
    // No call was made: nothing of the limit on tokens is used.
    admitted.limited?.pass.end({ input: 0, output: 0 });
    throw error;
  });
  const leave = (): void => call.abort(new ClientGone());
  if (input.signal.aborted) leave();
  else input.signal.addEventListener("abort", leave, { once: true });
  if (!admitted.request.stream)
    return { kind: "plain", body: await relayPlain(services, call, input, body), warnings };
  const answer = await openStreamAnswer({ services, call, protocol: call.protocol, record, body });
  return { kind: "stream", answer, warnings };
}

/** The bound to send upstream: what the hold has room for, when that is less than the model would give by itself. */
function outputBound(hold: Hold, admission: Admission): number | undefined {
  if (hold.outputTokens === undefined || admission.mostOutput !== undefined) return undefined;
  const bound = Math.min(hold.outputTokens, mostOutput(admission.model));
  return bound === admission.model.maxOutput ? undefined : bound;
}

/** A call that is paid for, and what it is to send. */
interface OpenedCall {
  readonly call: PaidCall;
  readonly body: Handover<UpstreamBody>;
  readonly warnings: UpstreamBody["warnings"];
}

/** Sets credit aside, and gives the call that it pays for. */
async function openCall(
  services: RelayServices,
  { caller, record, wire, memory }: RelayInput,
  { admission, request, limited }: Admitted,
): Promise<OpenedCall> {
  const hold = await holdFor(services, caller, admission, record).catch((error: unknown) => {
    request.release();
    throw error;
  });
  const heldAtMs = services.clock.nowMs();
  const call = openPaidCall({ services, admission, hold, heldAtMs, record, pass: limited?.pass, memory });
  try {
    const body = await request.take(outputBound(hold, admission));
    return {
      call,
      body: handOver(withClientHeaders(body, admission.provider, wire)),
      warnings: [...admission.warnings, ...body.warnings],
    };
  } catch (error) {
    await call.settleBroken(undefined, error as Error);
    throw error;
  }
}

/** The client's own headers that this provider is to be told, beside those of the body. */
export function withClientHeaders(
  body: UpstreamBody,
  { clientHeaders }: Provider,
  { headers }: RelayInput["wire"],
): UpstreamBody {
  if (clientHeaders === undefined) return body;
  const told = clientHeaders.flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  return { ...body, headers: { ...Object.fromEntries(told), ...body.headers } };
}

async function holdFor(
  services: RelayServices,
  caller: Caller,
  admission: Admission,
  record: RequestRecord,
): Promise<Hold> {
  const hold = await services.ledger.hold({
    accountId: caller.accountId,
    keyId: caller.keyId,
    requestId: record.requestId,
    model: admission.model,
    snapshot: admission.snapshot,
    amount: admission.amount,
    ...(admission.elastic === undefined ? {} : { elastic: admission.elastic }),
    expectedCost: costOf({ ...NO_USAGE, input: admission.expectedInput }, admission.snapshot),
  });
  if (typeof hold !== "string") return hold;
  // Of a hold that goes by the balance no one amount was missing.
  const amount = admission.elastic === undefined ? admission.amount : undefined;
  throw holdRefusalError(hold, { amount, less: "fewer output tokens" });
}

async function relayPlain(
  services: RelayServices,
  call: PaidCall,
  { record, memory }: RelayInput,
  body: Handover<UpstreamBody>,
): Promise<Uint8Array> {
  const deadline = services.clock.setTimer(services.timeouts.plainMs, () =>
    call.abort(new GatewayError("timeout_error", "The provider did not answer in time.")),
  );
  try {
    const upstream = await call.send(body, false);
    call.sawByte();
    let read = 0;
    const bytes = await upstream.readAll(MAX_ANSWER_BYTES, async (more) => {
      read += more;
      memory.hold(read * JSON_FACTOR);
    });
    const answer = call.protocol.readAnswer(bytes, call.context);
    if (answer.repairs.length > 0) record.note({ repairs: answer.repairs });
    const credit = await call.settle(answer.metered, false);
    services.failpoint("answer.before_end");
    const encoded = answer.encode(credit);
    memory.hold(encoded.length);
    return encoded;
  } catch (error) {
    call.abort(error as Error);
    if (error instanceof ClientGone) await call.settleLeft(undefined);
    else await call.settleBroken(undefined, error as Error);
    throw error;
  } finally {
    deadline.cancel();
  }
}
