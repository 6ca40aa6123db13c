import type { Caller } from "../../core/caller.ts";
import { toGatewayError, withHeaders, withWarnings } from "../../core/errors.ts";
import type { Hold } from "../../core/money/hold.ts";
import { NO_USAGE } from "../../core/money/usage.ts";
import { endOfTurn } from "../../runtime/end-of-turn.ts";
import { holdRefusalError } from "../hold-refusal.ts";
import type { RequestRecord } from "../request-record.ts";
import { type Admitted, admitRequest } from "./admit-request.ts";
import { checkWays } from "./attempts.ts";
import { openCandidates } from "./candidates.ts";
import { type AnswerKeeping, keepingFor } from "./kept-state.ts";
import { dearestQuote } from "./legs.ts";
import { giveBack } from "./give-back.ts";
import { ClientGone } from "./client-gone.ts";
import { openPaidCall, type PaidCall } from "./paid-call.ts";
import { plainAnswer } from "./plain-answer.ts";
import type { RelayInput, RelayServices } from "./relay-input.ts";
import { openStreamAnswer, type StreamAnswer } from "./relay-stream.ts";

/** What the client is sent: a whole answer, or a stream that has begun. */
export type RelayOutput = (
  | { readonly kind: "plain"; readonly body: Uint8Array }
  | { readonly kind: "stream"; readonly answer: StreamAnswer }
) & {
  readonly warnings: readonly string[];
  /** How the caller's key stands against its limits, and where the answer comes from, as far as there is something to say. */
  readonly headers: Readonly<Record<string, string>>;
};

/**
 * Relays one request: admit, limit, hold, call, meter, settle. A plain answer comes back only after its charge is durable.
 * Throws a `GatewayError` for everything that happens before the answer's first byte.
 */
export async function relay(services: RelayServices, input: RelayInput): Promise<RelayOutput> {
  services.failpoint("request.authenticated");
  const admitted = await admitRequest(services, input);
  let call: PaidCall | undefined;
  try {
    const opened = await openCall(services, input, admitted);
    call = opened.call;
    const { keeping } = opened;
    const { record, memory } = input;
    if (!admitted.request.stream) {
      const plain = await plainAnswer(services, call, { record, memory });
      await keeping?.kept();
      return { kind: "plain", body: plain, warnings: call.warnings, headers: headersOf(admitted, call) };
    }
    const answer = await openStreamAnswer({ services, call, record, memory, keeping });
    return { kind: "stream", answer, warnings: call.warnings, headers: headersOf(admitted, call) };
  } catch (error) {
    const headers = headersOf(admitted, call);
    const { left } = admitted;
    if (headers === NO_HEADERS && left.length === 0) throw error;
    throw withWarnings(withHeaders(toGatewayError(error), headers), left);
  }
}

const NO_HEADERS: Readonly<Record<string, string>> = {};

/** What the key's limits and the provider tell the client beside the answer. */
function headersOf(
  { limited, legs: [{ admission }] }: Admitted,
  call: PaidCall | undefined,
): Readonly<Record<string, string>> {
  const answerHeaders = call === undefined ? admission.provider.answerHeaders : call.answerHeaders;
  if (limited === undefined) return answerHeaders ?? NO_HEADERS;
  return { ...limited.headers(), ...answerHeaders };
}

/** A call that is paid for. */
interface OpenedCall {
  readonly call: PaidCall;
  /** Of an answer that is to be kept. */
  readonly keeping: AnswerKeeping | undefined;
}

/** Sets credit aside, and gives the call that it pays for. The call ends when the client leaves. */
async function openCall(
  services: RelayServices,
  input: RelayInput,
  { request, legs, stickyKey, limited }: Admitted,
): Promise<OpenedCall> {
  const { caller, record, memory, signal } = input;
  try {
    checkWays(services.routing.health, legs);
    // The holds and calls of all requests that came in this turn are made together.
    await endOfTurn();
    const hold = await holdFor(services, caller, legs, record);
    const heldAtMs = services.clock.nowMs();
    const carrier = { secret: services.carrierSecret, account: caller.accountId };
    const parts = { services, hold, heldAtMs, record, carrier, pass: limited?.pass, memory };
    try {
      const keeping =
        request.state?.keeps === true ? await keepingFor(services.kept, caller, request) : undefined;
      const keep = keeping?.hear;
      const ways = await openCandidates({ services, input, request, legs, hold, stickyKey, keep });
      const call = openPaidCall(parts, ways);
      endWith(signal, call);
      return { call, keeping };
    } catch (error) {
      return await giveBack(parts, legs[0].admission, error);
    }
  } catch (error) {
    request.release();
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

async function holdFor(
  services: RelayServices,
  caller: Caller,
  legs: Admitted["legs"],
  record: RequestRecord,
): Promise<Hold> {
  const [{ admission }] = legs;
  const quote = dearestQuote(legs);
  const hold = await services.ledger.hold({
    accountId: caller.accountId,
    keyId: caller.keyId,
    requestId: record.requestId,
    model: admission.model,
    snapshot: admission.snapshot,
    amount: quote.amount,
    ...(quote.elastic !== undefined && { elastic: quote.elastic }),
    expectedCost: admission.plan.charge({ ...NO_USAGE, input: admission.expectedInput }).cost,
  });
  if (typeof hold !== "string") return hold;
  // Of a hold that goes by the balance no one amount was missing.
  const amount = quote.elastic === undefined ? quote.amount : undefined;
  throw holdRefusalError(hold, { amount, less: "fewer output tokens" });
}
