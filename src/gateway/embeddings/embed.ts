import type { Caller } from "../../core/caller.ts";
import type { MemoryShare } from "../../core/bytes/request-memory.ts";
import { toGatewayError, withHeaders } from "../../core/errors.ts";
import { type Handover, handOver } from "../../core/handover.ts";
import type { Hold } from "../../core/money/hold.ts";
import { NO_USAGE } from "../../core/money/usage.ts";
import { chatCompletions } from "../../protocols/chat-completions/index.ts";
import type { EmbeddingFormat } from "../../protocols/embeddings/format.ts";
import type { EmbeddingRequest } from "../../protocols/embeddings/request.ts";
import type { UpstreamBody } from "../../protocols/protocol.ts";
import { endOfTurn } from "../../runtime/end-of-turn.ts";
import { createKeyedHash, deriveSecret } from "../../runtime/hash.ts";
import { holdRefusalError } from "../hold-refusal.ts";
import { type KeyPass, passKeyLimits } from "../key-limits.ts";
import { openPaidCall, type PaidCall } from "../language/paid-call.ts";
import { endWith, plainAnswer, type RelayServices, withClientHeaders } from "../language/relay.ts";
import { admitting, type RequestRecord } from "../request-record.ts";
import { admitEmbeddings, type EmbeddingAdmission } from "./admit.ts";

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
  const { request, admission } = await admitting(record, offer, async (asked) => {
    const read = await services.reader.readEmbeddings(input.body, { asked, signal });
    return { request: read, admission: admitEmbeddings(offer, caller, read, services.clock.nowMs()) };
  });
  record.note({ model: admission.model.id, provider: admission.provider.id });
  const written = writeBody(services, input, request, admission);
  const guess = { input: admission.expectedInput, output: 0 };
  const limited = passKeyLimits(services, { caller, record, format: chatCompletions }, guess);
  const headers = (): EmbedOutput["headers"] => ({
    ...limited?.headers(),
    ...admission.provider.answerHeaders,
  });
  try {
    const call = await openCall(services, input, admission, limited);
    call.keepEcho(written.echo);
    endWith(signal, call);
    const body = await plainAnswer(services, call, { body: handOver(written), record, memory });
    return { body, warnings: [...admission.warnings, ...written.warnings], headers: headers() };
  } catch (error) {
    throw withHeaders(toGatewayError(error), headers());
  }
}

function writeBody(
  { carrierSecret }: RelayServices,
  { caller, headers }: EmbedInput,
  request: EmbeddingRequest,
  { protocol, upstreamId, spoken, facts, provider }: EmbeddingAdmission,
): UpstreamBody {
  const user = request.user === undefined ? {} : { user: hashOf(request.user, caller, carrierSecret) };
  const target = { upstreamId, dialect: spoken.dialect, facts, ...user };
  return withClientHeaders(protocol.upstreamBody(request, target), provider, { headers });
}

/** Tells a provider whether two requests are of one user, and not who that is. */
function hashOf(user: string, { accountId }: Caller, secret: string): string {
  return createKeyedHash(deriveSecret(secret, "users of embeddings"))(`${accountId}/${user}`);
}

/** Sets credit aside, and gives the call that it pays for. */
async function openCall(
  services: RelayServices,
  { caller, record, memory }: EmbedInput,
  admission: EmbeddingAdmission,
  limited: KeyPass | undefined,
): Promise<PaidCall<EmbeddingFormat>> {
  try {
    // The holds and calls of all requests that came in this turn are made together.
    await endOfTurn();
    const hold = await holdFor(services, caller, admission, record);
    const heldAtMs = services.clock.nowMs();
    const carrier = { secret: services.carrierSecret, account: caller.accountId };
    return openPaidCall({
      services,
      admission,
      hold,
      heldAtMs,
      record,
      carrier,
      pass: limited?.pass,
      memory,
    });
  } catch (error) {
    // No call was made: nothing of the limit on tokens is used.
    limited?.pass.end({ input: 0, output: 0 });
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
