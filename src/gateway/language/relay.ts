import { GatewayError, toGatewayError, withHeaders } from "../../core/errors.ts";
import type { Hold } from "../../core/money/hold.ts";
import type { Caller } from "../../core/caller.ts";
import { type ProtocolId, PROTOCOLS } from "../../core/model.ts";
import { type Handover, handOver } from "../../core/handover.ts";
import { JSON_FACTOR, type MemoryShare } from "../../core/bytes/request-memory.ts";
import type { KeptResponses } from "../../kept/kept.ts";
import type { Limiter, UsedTokens } from "../../limits/limiter.ts";
import type {
  AnswerContext,
  RelayAnswer,
  RelayProtocol,
  RelayTarget,
  UpstreamBody,
  WireRequest,
} from "../../protocols/protocol.ts";
import { compactedBy } from "../../protocols/index.ts";
import { familyOf } from "../../protocols/recalled-thinking.ts";
import type { Provider } from "../../providers/provider.ts";
import { NO_USAGE } from "../../core/money/usage.ts";
import { admit, type Admission, type Destination, findDestination, mostOutput } from "./admit.ts";
import type { Reading, ReadRequest } from "../reading/read-request.ts";
import type { Reader } from "../reading/reader.ts";
import type { Offer } from "../offer.ts";
import { holdRefusalError } from "../hold-refusal.ts";
import { type KeyPass, passKeyLimits } from "../key-limits.ts";
import { endOfTurn } from "../../runtime/end-of-turn.ts";
import {
  type CalledFormat,
  type CallServices,
  ClientGone,
  openPaidCall,
  type PaidCall,
} from "./paid-call.ts";
import { openStreamAnswer, type StreamAnswer } from "./relay-stream.ts";
import { type AnswerKeeping, keepingFor, withNamed } from "./kept-state.ts";
import type { ThinkingMemory } from "./thinking-memory.ts";
import { noteAsked, type RequestRecord } from "../request-record.ts";

/** What relaying needs. */
export interface RelayServices extends CallServices {
  /** The models and providers of this moment; a request sees one of them throughout. */
  offer(): Offer;
  readonly limiter: Limiter;
  readonly reader: Reader;
  /** What was thought before calls, for clients that drop it. */
  readonly thinking: ThinkingMemory;
  /** Answers that later requests may name. */
  readonly kept: KeptResponses;
}

/** One request of a caller. */
export interface RelayInput {
  readonly caller: Caller;
  readonly protocol: RelayProtocol;
  /** Of a request for a shorter conversation, which is never streamed. */
  readonly compacts?: true | undefined;
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
  readonly headers: Readonly<Record<string, string>>;
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
  try {
    const { call, body, keeping, warnings } = await openCall(services, input, admitted);
    const { record, memory } = input;
    if (!admitted.request.stream) {
      const plain = await plainAnswer(services, call, { body, record, memory });
      await keeping?.kept();
      return { kind: "plain", body: plain, warnings, headers: headersOf(admitted) };
    }
    const answer = await openStreamAnswer({ services, call, protocol: call.protocol, record, body, keeping });
    return { kind: "stream", answer, warnings, headers: headersOf(admitted) };
  } catch (error) {
    const headers = headersOf(admitted);
    throw headers === NO_HEADERS ? error : withHeaders(toGatewayError(error), headers);
  }
}

/** A request that nothing speaks against but what it costs. */
interface Admitted {
  readonly admission: Admission;
  readonly request: ReadRequest;
  /** Of a key with limits. */
  readonly limited: KeyPass | undefined;
}

const NO_HEADERS: Readonly<Record<string, string>> = {};

/** What the key's limits and the provider tell the client beside the answer. */
function headersOf({ limited, admission }: Admitted): Readonly<Record<string, string>> {
  const { answerHeaders } = admission.provider;
  if (limited === undefined) return answerHeaders ?? NO_HEADERS;
  return { ...limited.headers(), ...answerHeaders };
}

/** Everything that nobody outside is asked for. Rejects with a 400 or a 429. */
async function admitRequest(
  services: RelayServices,
  { caller, protocol, compacts, record, wire, body, memory, signal }: RelayInput,
): Promise<Admitted> {
  const offer = services.offer();
  const { id: format } = protocol;
  let name: unknown = wire.address?.model;
  let request: ReadRequest | undefined;
  let admission: Admission | undefined;
  try {
    const asked = (model: unknown): void => void (name ??= model);
    const carrier = { secret: services.carrierSecret, account: caller.accountId };
    const terms = { owner: caller.keyId, carrier, asked, signal };
    // A small body is read at once: nothing is awaited then.
    const reading = services.reader.readRequest(compacts ? COMPACTING : READINGS[format], wire, body, terms);
    request = reading instanceof Promise ? await reading : reading;
    if (request.state?.names !== undefined) request = await withNamed(services.kept, caller, request, memory);
    const found = findDestination(offer, caller, format, request.model);
    const destination = compacts ? compactingAt(found) : found;
    const { spoken } = destination;
    const recalling = recalledFor(services.thinking, caller, request, destination);
    const target = recalling instanceof Promise ? await recalling : recalling;
    const aimed = request.aimAt({ spoken: spoken.id, target });
    const demand = aimed instanceof Promise ? await aimed : aimed;
    admission = admit(destination, format, demand, services.clock.nowMs());
    record.note({ model: admission.model.id, provider: admission.provider.id });
    // What the target cannot take is a 400, and that comes before the 429 and the 402.
    const written = request.write();
    if (written instanceof Promise) await written;
    const limited = passKeyLimits(services, { caller, record, format: protocol }, guessedTokens(admission));
    return { admission, request, limited };
  } catch (error) {
    request?.release();
    if (admission === undefined) noteAsked(record, offer, name);
    throw error;
  }
}

/** The target, with what its models thought before calls of the request that came back without a thought. */
function recalledFor(
  thinking: ThinkingMemory,
  { accountId }: Caller,
  request: ReadRequest,
  { protocol, spoken, target }: Destination,
): RelayTarget | Promise<RelayTarget> {
  const family = familyOf(target.model.id);
  const isTranslated = protocol.callsWithoutThinking !== undefined;
  if (!isTranslated || !thinking.has(accountId, family)) return target;
  const recall = (keys: readonly string[]): RelayTarget => {
    const recalled = keys.length === 0 ? {} : thinking.recall(accountId, family, keys);
    return Object.keys(recalled).length === 0 ? target : { ...target, recalled };
  };
  const keys = request.callsWithoutThinking(spoken.id);
  return keys instanceof Promise ? keys.then(recall) : recall(keys);
}

const READINGS = Object.fromEntries(
  PROTOCOLS.map((format) => [format, { format, purpose: "answer" }]),
) as Readonly<Record<ProtocolId, Reading>>;

const COMPACTING: Reading = { format: "compat_responses", purpose: "compact" };

function compactingAt(destination: Destination): Destination {
  return { ...destination, protocol: compactedBy(destination.spoken.id, destination.target) };
}

/** Keeps what a translated answer's model thinks before it calls tools. */
function rememberingFor(
  thinking: ThinkingMemory,
  { accountId }: Caller,
  { protocol, model }: Admission,
): AnswerContext["remember"] {
  if (protocol.callsWithoutThinking === undefined) return undefined;
  return (calls) => {
    if (calls.length > 0) thinking.remember(accountId, familyOf(model.id), calls);
  };
}

/** Output to reckon with for each choice while a request runs; most answers are shorter. */
const GUESSED_OUTPUT = 1_024;

function guessedTokens({ expectedInput, choices, mostOutput }: Admission): UsedTokens {
  return { input: expectedInput, output: Math.min(mostOutput ?? Infinity, GUESSED_OUTPUT * choices) };
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
  /** Of an answer that is to be kept. */
  readonly keeping: AnswerKeeping | undefined;
  readonly warnings: UpstreamBody["warnings"];
}

/** Sets credit aside, and gives the call that it pays for. The call ends when the client leaves. */
async function openCall(
  services: RelayServices,
  { caller, record, wire, memory, signal }: RelayInput,
  { admission, request, limited }: Admitted,
): Promise<OpenedCall> {
  let call: PaidCall | undefined;
  let keeping: AnswerKeeping | undefined;
  try {
    // The holds and calls of all requests that came in this turn are made together.
    await endOfTurn();
    const hold = await holdFor(services, caller, admission, record);
    const heldAtMs = services.clock.nowMs();
    const carrier = { secret: services.carrierSecret, account: caller.accountId };
    const pass = limited?.pass;
    const remember = rememberingFor(services.thinking, caller, admission);
    if (request.state?.keeps === true) keeping = await keepingFor(services.kept, caller, request);
    call = openPaidCall({
      services,
      admission,
      hold,
      heldAtMs,
      record,
      carrier,
      remember,
      keep: keeping?.hear,
      pass,
      memory,
    });
    const taken = request.take(outputBound(hold, admission));
    const body = taken instanceof Promise ? await taken : taken;
    call.keepEcho(body.echo);
    endWith(signal, call);
    const warnings =
      admission.warnings.length === 0 ? body.warnings : [...admission.warnings, ...body.warnings];
    return { call, body: handOver(withClientHeaders(body, admission.provider, wire)), keeping, warnings };
  } catch (error) {
    request.release();
    await call?.settleBroken(undefined, error as Error);
    // No call was made: nothing of the limit on tokens is used.
    limited?.pass.end({ input: 0, output: 0 });
    throw error;
  }
}

/** Ends the call when the client leaves. */
export function endWith(signal: AbortSignal, call: Pick<PaidCall, "abort">): void {
  const leave = (): void => call.abort(new ClientGone());
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave, { once: true });
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
    ...(admission.elastic !== undefined && { elastic: admission.elastic }),
    expectedCost: admission.plan.charge({ ...NO_USAGE, input: admission.expectedInput }).cost,
  });
  if (typeof hold !== "string") return hold;
  // Of a hold that goes by the balance no one amount was missing.
  const amount = admission.elastic === undefined ? admission.amount : undefined;
  throw holdRefusalError(hold, { amount, less: "fewer output tokens" });
}

/** What a plain answer is made of. */
export interface PlainParts {
  readonly body: Handover<UpstreamBody>;
  readonly record: RequestRecord;
  readonly memory: MemoryShare;
}

/** A format whose answers are read whole. */
interface PlainFormat extends CalledFormat {
  readAnswer(body: Uint8Array, context: AnswerContext): Pick<RelayAnswer, "metered" | "repairs" | "encode">;
}

/** Sends the call, reads its answer to the end, and charges it. Gives the answer with the charge in it. */
export async function plainAnswer(
  services: CallServices,
  call: PaidCall<PlainFormat>,
  { body, record, memory }: PlainParts,
): Promise<Uint8Array> {
  const deadline = services.clock.setTimer(services.timeouts.plainMs, () =>
    call.abort(new GatewayError("timeout_error", "The provider did not answer in time.")),
  );
  try {
    const upstream = await call.send(body, false);
    call.sawByte();
    let read = 0;
    const bytes = await upstream.readAll(MAX_ANSWER_BYTES, (more) => {
      read += more;
      memory.hold(read * JSON_FACTOR);
    });
    record.goesOn();
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
