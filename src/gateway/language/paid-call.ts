import type { Clock } from "../../core/time/clock.ts";
import { toGatewayError } from "../../core/errors.ts";
import type { Failpoint } from "../../core/failpoint.ts";
import type { Hold } from "../../core/money/hold.ts";
import { creditsText, type MicroCredits } from "../../core/money/credits.ts";
import type { MemoryShare } from "../../core/bytes/request-memory.ts";
import { operatorCost } from "../../core/money/operator-cost.ts";
import type { PricePlan } from "../../core/money/price-plan.ts";
import { inputTokens, NO_USAGE, outputTokens } from "../../core/money/usage.ts";
import type { Attempt, RequestTimeline } from "../../ledger/commands.ts";
import type { Ledger, Served } from "../../ledger/ledger.ts";
import type { Pass } from "../../limits/limiter.ts";
import type { CarrierKey } from "../../protocols/carrier.ts";
import type { AnswerContext, Metered, RelayProtocol } from "../../protocols/protocol.ts";
import { callUpstream, keptByCall, type UpstreamAnswer } from "../../providers/upstream.ts";
import { type Attempts, type AttemptWays, openAttempts } from "./attempts.ts";
import type { LiveCalls } from "../live-calls.ts";
import type { RequestRecord } from "../request-record.ts";
import type { UnknownUsage } from "../unknown-usage.ts";
import { isPlausible, tokensOf, withFlag } from "./metered.ts";
import { isAnswer, noteUpstreamError, refusalOf } from "./refused-answer.ts";
import type { CalledFormat, CallTerms, PreparedCall } from "./prepared-call.ts";
import type { Routing } from "../routing/routing.ts";
import { type Answered, isGoodStatus } from "../routing/retry.ts";
import type { Timeouts } from "../timeouts.ts";

/** What a paid call is made with. */
export interface CallServices {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly failpoint: Failpoint;
  readonly timeouts: Timeouts;
  readonly routing: Routing;
  /** Seals what answers give clients to keep. */
  readonly carrierSecret: string;
  readonly unknownUsage: UnknownUsage;
  /** Calls that have not ended, so that a shutdown can end them as it should. */
  readonly live: Pick<LiveCalls, "add" | "delete">;
}

/**
 * The calls to providers for one request and the hold that pays for them. It lasts from the moment the hold is durable
 * until the answer has ended. It ends exactly once, whichever way out is taken first; the charge follows the charging
 * table.
 */
export interface PaidCall<Format extends CalledFormat = RelayProtocol> {
  /** The way to the provider that is called now. */
  readonly protocol: Format;
  readonly context: AnswerContext;
  /** What the client is told of how it was sent to the provider that is called now. */
  readonly warnings: readonly string[];
  /** Headers by which that provider's answers say where they come from. */
  readonly answerHeaders: Readonly<Record<string, string>> | undefined;
  /**
   * Sends the request, and again where it was refused and that is safe. Resolves when an answer has begun; rejects with
   * the last refusal as the client is to see it.
   */
  send(stream: boolean): Promise<UpstreamAnswer>;
  /**
   * Sends the request again after an answer that turned out to be none before any of it was sent on. `undefined` where
   * that is not safe, or of no use. `onAgain` is called as soon as it is certain that it is sent.
   */
  sendAgain(error: Error, stream: boolean, onAgain?: () => void): Promise<UpstreamAnswer | undefined>;
  /** The first byte of the provider's answer has come. */
  sawByte(): void;
  /** The answer is one, as far as it has come. */
  sawAnswer(): void;
  /** Stops upstream for `reason`, unless the call has ended. */
  abort(reason: Error): void;
  /** Charges a whole answer; one that the client has not been given yet is charged now or never. */
  settle(metered: Metered, delivered: boolean): Promise<MicroCredits>;
  /** Charges what was delivered of an answer that broke: nothing where no content came. */
  settleBroken(metered: Metered | undefined, error: Error): Promise<MicroCredits>;
  /** Charges what a client that left has used by then; the input where nothing had been answered. */
  settleLeft(metered: Metered | undefined): Promise<MicroCredits>;
}

/** What belongs to one call. */
export interface CallParts {
  readonly services: CallServices;
  readonly hold: Hold;
  readonly heldAtMs: number;
  readonly record: RequestRecord;
  readonly carrier: CarrierKey;
  /** The request's place among those of its key, when the key has limits. It is freed when the call ends. */
  readonly pass: Pass | undefined;
  /** What the request holds: all that is needed to write what is sent, then just that, then nothing. */
  readonly memory: MemoryShare;
}

/** The ways of one request. */
export interface CallWays<Format extends CalledFormat> extends AttemptWays<PreparedCall<Format>> {
  /** As the first of them is sent it. */
  readonly first: PreparedCall<Format>;
  /** Lets go of what other ways would be written from. */
  readonly release?: () => void;
}

/** How a call ends. */
interface Ending {
  readonly outcome: string;
  /** What was used; without it nothing is charged. */
  readonly metered: Metered | undefined;
  /** The charge is no more than this. */
  readonly most?: MicroCredits;
  /** Whether the client has what it is charged for. */
  readonly delivered: boolean;
}

/** Takes charge of a hold. */
export function openPaidCall<Format extends CalledFormat>(
  parts: CallParts,
  ways: CallWays<Format>,
): PaidCall<Format> {
  return new OpenCall(parts, ways);
}

/** A class, since one is made for each request: its functions are not. */
class OpenCall<Format extends CalledFormat> implements PaidCall<Format> {
  context: AnswerContext;
  warnings: PaidCall["warnings"];
  readonly #parts: CallParts;
  readonly #tries: Attempts<PreparedCall<Format>>;
  readonly #controller = new AbortController();
  readonly #attempts: { -readonly [Field in keyof Attempt]: Attempt[Field] }[] = [];
  readonly #admittedAtMs: number;
  /** The prices that the hold was made by. */
  readonly #plan: PricePlan;
  /** Of the way that it was sent last, or is about to be. */
  #terms: CallTerms<Format>;
  /** As it is sent there: let go of once an answer has begun, since a stream may last for long. */
  #prepared: PreparedCall<Format> | undefined;
  #release: (() => void) | undefined;
  /** The answer to the last attempt, as far as it got one. */
  #answered: Answered | undefined;
  #firstByteAtMs: number | null = null;
  /** The last attempt has failed, and the next has not begun. */
  #isBetween = false;
  #ending: Promise<MicroCredits> | undefined;

  constructor(parts: CallParts, ways: CallWays<Format>) {
    const { services } = parts;
    const { first, release } = ways;
    const { admission } = first.terms;
    this.#parts = parts;
    this.#admittedAtMs = admission.admittedAtMs;
    this.#plan = admission.plan;
    this.#release = release;
    this.#tries = openAttempts(services, ways, parts.record);
    this.#terms = first.terms;
    this.#prepared = first;
    this.warnings = first.body.warnings;
    this.context = contextOf(parts, first);
    services.live.add(this);
  }

  get protocol(): Format {
    return this.#terms.admission.protocol;
  }

  get answerHeaders(): PaidCall["answerHeaders"] {
    return this.#terms.admission.provider.answerHeaders;
  }

  async send(stream: boolean): Promise<UpstreamAnswer> {
    const { signal } = this.#controller;
    signal.throwIfAborted();
    const { clock, timeouts } = this.#parts.services;
    const limitMs = stream ? Math.min(timeouts.firstByteMs, timeouts.streamMs) : timeouts.plainMs;
    const first = await this.#tries.first({ signal, lateMs: clock.steadyMs() + limitMs });
    return this.#sendUntilAnswered(first, stream);
  }

  async sendAgain(error: Error, stream: boolean, onAgain?: () => void): Promise<UpstreamAnswer | undefined> {
    const next = await this.#nextAfter(error);
    if (next === undefined) return undefined;
    onAgain?.();
    return this.#sendUntilAnswered(next, stream);
  }

  async #nextAfter(error: Error): Promise<PreparedCall<Format> | undefined> {
    const { signal } = this.#controller;
    // A client that leaves between two attempts has this called once more, with the attempt before ended.
    this.#isBetween ||= !signal.aborted;
    try {
      const next = await this.#tries.next(error, this.#answered);
      if (next !== undefined) this.#parts.services.failpoint("upstream.before_retry");
      return next;
    } catch (ending) {
      // The client gets another error than this one, which the log has.
      if (!signal.aborted) noteUpstreamError(this.#parts.record, error);
      throw ending;
    }
  }

  async #sendUntilAnswered(first: PreparedCall<Format>, stream: boolean): Promise<UpstreamAnswer> {
    let prepared = first;
    for (;;) {
      try {
        return await this.#sendOnce(prepared, stream);
      } catch (error) {
        const next = await this.#nextAfter(error as Error);
        if (next === undefined) throw error;
        noteUpstreamError(this.#parts.record, error as Error);
        prepared = next;
      }
    }
  }

  async #sendOnce(prepared: PreparedCall<Format>, stream: boolean): Promise<UpstreamAnswer> {
    const { services, hold, record, memory } = this.#parts;
    if (prepared !== this.#prepared) this.#turnTo(prepared);
    const { terms, body } = prepared;
    const { provider, spoken, upstreamId } = terms.admission;
    const { clock, timeouts } = services;
    const { connectMs, writeMs } = timeouts;
    const { signal } = this.#controller;
    signal.throwIfAborted();
    const sent_at_ms = services.clock.nowMs();
    const attempt = { provider: provider.id, upstream_id: upstreamId, sent_at_ms, status: null };
    const at = this.#attempts.push(attempt) - 1;
    this.#answered = undefined;
    this.#firstByteAtMs = null;
    this.#isBetween = false;
    record.waits();
    const answer = await callUpstream(hold, {
      provider: spoken,
      path: this.protocol.upstreamPath(upstreamId, stream),
      headers: body.headers,
      body,
      onSent: body.isKept ? undefined : () => memory.hold(0),
      stream,
      signal,
      limits: { clock, connectMs, writeMs },
    });
    services.failpoint("upstream.after_headers");
    this.#answered = { status: answer.status, stream };
    this.#attempts[at] = { ...attempt, status: answer.status };
    record.note({ upstream_status: answer.status });
    if (isAnswer(answer, stream)) return answer;
    throw await refusalOf(answer, stream, this.protocol, { context: this.context, clock });
  }

  /** From here on the answer is that of this way. */
  #turnTo(prepared: PreparedCall<Format>): void {
    const { admission } = prepared.terms;
    this.#terms = prepared.terms;
    this.#prepared = prepared;
    this.warnings = prepared.body.warnings;
    this.context = contextOf(this.#parts, prepared);
    this.#parts.record.note({ model: admission.model.id, provider: admission.provider.id });
  }

  sawByte(): void {
    this.#firstByteAtMs ??= this.#parts.services.clock.nowMs();
  }

  sawAnswer(): void {
    this.#tries.answered(this.#answered?.stream === false);
    this.#parts.memory.hold(keptByCall(this.#prepared?.body.length ?? 0));
    this.#letGo();
  }

  /** Nothing is sent again. */
  #letGo(): void {
    this.#prepared?.body.release();
    this.#prepared = undefined;
    this.#release?.();
    this.#release = undefined;
  }

  abort(reason: Error): void {
    this.#controller.abort(reason);
  }

  settle(metered: Metered, delivered: boolean): Promise<MicroCredits> {
    const { hold } = this.#parts;
    if (isPlausible(metered, this.#terms)) return this.#end({ outcome: "completed", metered, delivered });
    // What cannot be is never taken from the free balance: the hold is the most that was agreed to.
    const clamped = withFlag(metered, "clamped");
    return this.#end({ outcome: "completed", metered: clamped, most: hold.amount, delivered });
  }

  settleBroken(metered: Metered | undefined, error: Error): Promise<MicroCredits> {
    const { hold, record } = this.#parts;
    this.#tries.end(error, this.#answered);
    noteUpstreamError(record, error);
    const partial = metered === undefined ? undefined : withFlag(metered, "partial");
    const outcome = toGatewayError(error).kind;
    return this.#end({ outcome, metered: partial, most: hold.amount, delivered: true });
  }

  settleLeft(metered: Metered | undefined): Promise<MicroCredits> {
    const { hold } = this.#parts;
    const isRefused = this.#answered !== undefined && !isGoodStatus(this.#answered.status);
    // Nothing is under way, or the provider has refused it, whatever the rest of its answer says: nothing was used.
    if (this.#attempts.length === 0 || this.#isBetween || isRefused)
      return this.#end({ outcome: "client_gone", metered: undefined, delivered: true });
    const seen = metered ?? {
      usage: { ...NO_USAGE, input: this.#terms.admission.expectedInput },
      flags: ["estimated"] as const,
    };
    const partial = withFlag(seen, "partial");
    return this.#end({ outcome: "client_gone", metered: partial, most: hold.amount, delivered: true });
  }

  #end(how: Ending): Promise<MicroCredits> {
    return (this.#ending ??= this.#conclude(how));
  }

  /** Writes the end of the hold to the ledger and to the record. */
  async #conclude({ outcome, metered, most, delivered }: Ending): Promise<MicroCredits> {
    const { services, hold, record, memory, pass } = this.#parts;
    try {
      const end = { outcome, timeline: this.#timeline(), served: this.#served() };
      record.called(end.timeline.attempts);
      if (metered === undefined) {
        record.note({ outcome, credit: "0" });
        await services.ledger.void(hold, end);
        return 0n;
      }
      const { usage, cost, rates } = this.#terms.admission.plan.charge(metered.usage);
      const used = most !== undefined && cost > most ? most : cost;
      const { flags, unknown } = metered;
      if (unknown !== undefined) services.unknownUsage.seen(end.timeline.provider, unknown);
      const settlement = { ...end, cost: this.#costOf(metered), delivered, used, usage, flags };
      const charged = await services.ledger.settle(hold, settlement);
      record.charged({ usage, charge: charged, rates });
      record.note({
        outcome,
        credit: creditsText(charged),
        input_tokens: inputTokens(usage),
        output_tokens: outputTokens(usage),
      });
      if (flags.length > 0) record.note({ usage_flags: flags });
      return charged;
    } finally {
      this.#tries.end();
      this.#letGo();
      services.live.delete(this);
      memory.hold(0);
      pass?.end(tokensOf(metered));
    }
  }

  /** The model that served, where the hold was made for another. */
  #served(): Served | undefined {
    const { model, plan } = this.#terms.admission;
    return plan === this.#plan ? undefined : { model, snapshot: plan.snapshot };
  }

  /** What the operator owes for it, where the route says what that is. */
  #costOf({ usage }: Metered): MicroCredits | undefined {
    const { route, plan } = this.#terms.admission;
    return operatorCost(route.cost, usage, plan.snapshot);
  }

  #timeline(): RequestTimeline {
    const { services, heldAtMs } = this.#parts;
    return {
      provider: this.#terms.admission.provider.id,
      admittedAtMs: this.#admittedAtMs,
      heldAtMs,
      firstByteAtMs: this.#firstByteAtMs,
      endedAtMs: services.clock.nowMs(),
      attempts: this.#attempts,
    };
  }
}

const NO_PADDING: readonly string[] = [];

/** What an answer by this way is read against. */
function contextOf<Format extends CalledFormat>(
  { services, record, carrier }: CallParts,
  { terms: { admission }, body: { echo }, reading }: PreparedCall<Format>,
): AnswerContext {
  return {
    ...reading,
    ...(echo === undefined ? {} : { echo }),
    model: admission.model.id,
    native: admission.spoken.dialect.kind === "native",
    padding: admission.spoken.dialect.padding ?? NO_PADDING,
    secrets: admission.provider.secrets,
    requestId: record.requestId,
    nowSec: Math.floor(services.clock.nowMs() / 1000),
    choices: admission.choices,
    expectedInput: admission.expectedInput,
    namesStored: admission.namesStored,
    carrier,
  };
}
