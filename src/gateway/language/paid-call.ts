import type { Clock } from "../../core/time/clock.ts";
import { GatewayError, toGatewayError } from "../../core/errors.ts";
import type { Failpoint } from "../../core/failpoint.ts";
import type { Hold } from "../../core/money/hold.ts";
import { type Handover, handOver } from "../../core/handover.ts";
import { present } from "../../core/json/json-value.ts";
import { describeError } from "../../core/log/log.ts";
import { creditsText, type MicroCredits } from "../../core/money/credits.ts";
import { lengthOf } from "../../core/bytes/bytes.ts";
import type { MemoryShare } from "../../core/bytes/request-memory.ts";
import { inputTokens, NO_USAGE, outputTokens, type UsageFlag } from "../../core/money/usage.ts";
import type { Attempt, RequestTimeline } from "../../ledger/commands.ts";
import type { Ledger } from "../../ledger/ledger.ts";
import type { Pass, UsedTokens } from "../../limits/limiter.ts";
import type { CarrierKey } from "../../protocols/carrier.ts";
import type { AnswerContext, Metered, RelayProtocol, UpstreamBody } from "../../protocols/protocol.ts";
import type { Dialect } from "../../providers/provider.ts";
import { callUpstream, type UpstreamAnswer, type UpstreamCall } from "../../providers/upstream.ts";
import type { Admission } from "./admit.ts";
import type { RequestRecord } from "../request-record.ts";
import type { Timeouts } from "../timeouts.ts";

/** What a paid call is made with. */
export interface CallServices {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly failpoint: Failpoint;
  readonly timeouts: Timeouts;
  /** Seals what answers give clients to keep. */
  readonly carrierSecret: string;
  /** Calls that have not ended, so that a shutdown can end them as it should. */
  readonly live: Set<Pick<PaidCall, "abort">>;
}

/** The reason of an abort that the client caused by leaving. */
export class ClientGone extends Error {
  constructor() {
    super("The client has gone.");
    this.name = "ClientGone";
  }
}

/** What a call needs of the form in which its provider is asked. */
export type CalledFormat = Pick<RelayProtocol, "upstreamPath" | "readRefusal">;

/** What a call needs of its admission. */
export interface CallAdmission<Format extends CalledFormat> extends Omit<
  Admission,
  "warnings" | "target" | "snapshot" | "amount" | "elastic" | "spoken" | "protocol"
> {
  readonly protocol: Format;
  readonly spoken: UpstreamCall["provider"] & {
    readonly dialect: Pick<Dialect, "kind"> & Partial<Pick<Dialect, "padding">>;
  };
}

/**
 * One call to a provider and the hold that pays for it, from the moment the hold is durable until it has ended.
 * It ends exactly once, whichever way out is taken first; the charge follows the charging table.
 */
export interface PaidCall<Format extends CalledFormat = RelayProtocol> {
  /** The way to the provider that is called. */
  readonly protocol: Format;
  readonly context: AnswerContext;
  /** Keeps for the answer what its writer must know of the request: before either is begun. */
  keepEcho(echo: AnswerContext["echo"]): void;
  /** Sends the request. Rejects with the refusal as the client is to see it. */
  send(request: Handover<UpstreamBody>, stream: boolean): Promise<UpstreamAnswer>;
  /** The first byte of the provider's answer has come. */
  sawByte(): void;
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
export interface CallParts<Format extends CalledFormat> {
  readonly services: CallServices;
  readonly admission: CallAdmission<Format>;
  readonly hold: Hold;
  readonly heldAtMs: number;
  readonly record: RequestRecord;
  readonly carrier: CarrierKey;
  readonly remember?: AnswerContext["remember"] | undefined;
  readonly keep?: AnswerContext["keep"] | undefined;
  /** The request's place among those of its key, when the key has limits. It is freed when the call ends. */
  readonly pass: Pass | undefined;
  /** What the request holds: all that was needed to write what is sent, then just that, then nothing. */
  readonly memory: MemoryShare;
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
export function openPaidCall<Format extends CalledFormat>(parts: CallParts<Format>): PaidCall<Format> {
  return new OpenCall(parts);
}

/** A class, since one is made for each request: its functions are not. */
class OpenCall<Format extends CalledFormat> implements PaidCall<Format> {
  readonly protocol: Format;
  context: AnswerContext;
  readonly #parts: CallParts<Format>;
  readonly #controller = new AbortController();
  readonly #attempts: { -readonly [Field in keyof Attempt]: Attempt[Field] }[] = [];
  #firstByteAtMs: number | null = null;
  #ending: Promise<MicroCredits> | undefined;

  constructor(parts: CallParts<Format>) {
    const { services, admission, record } = parts;
    this.#parts = parts;
    this.protocol = admission.protocol;
    this.context = {
      model: admission.model.id,
      native: admission.spoken.dialect.kind === "native",
      padding: admission.spoken.dialect.padding ?? NO_PADDING,
      secrets: admission.provider.secrets,
      requestId: record.requestId,
      nowSec: Math.floor(services.clock.nowMs() / 1000),
      choices: admission.choices,
      expectedInput: admission.expectedInput,
      carrier: parts.carrier,
      ...present({ remember: parts.remember, keep: parts.keep }),
    };
    services.live.add(this);
  }

  keepEcho(echo: AnswerContext["echo"]): void {
    if (echo !== undefined) this.context = { ...this.context, echo };
  }

  async send(request: Handover<UpstreamBody>, stream: boolean): Promise<UpstreamAnswer> {
    const { services, admission, hold, record, memory } = this.#parts;
    const { provider, spoken, upstreamId } = admission;
    const { clock, timeouts } = services;
    const { connectMs, writeMs } = timeouts;
    const { signal } = this.#controller;
    signal.throwIfAborted();
    const sent_at_ms = services.clock.nowMs();
    const attempt = { provider: provider.id, upstream_id: upstreamId, sent_at_ms, status: null };
    const at = this.#attempts.push(attempt) - 1;
    const { body, headers = NO_HEADERS } = request.take();
    memory.hold(lengthOf(body));
    record.waits();
    const answer = await callUpstream(hold, {
      provider: spoken,
      path: this.protocol.upstreamPath(upstreamId, stream),
      headers,
      body: handOver(body),
      onSent: () => memory.hold(0),
      stream,
      signal,
      limits: { clock, connectMs, writeMs },
    });
    services.failpoint("upstream.after_headers");
    this.#attempts[at] = { ...attempt, status: answer.status };
    record.note({ upstream_status: answer.status });
    if (isAnswer(answer, stream)) return answer;
    throw await refusalOf(answer, stream, this.protocol, this.context);
  }

  sawByte(): void {
    this.#firstByteAtMs ??= this.#parts.services.clock.nowMs();
  }

  abort(reason: Error): void {
    this.#controller.abort(reason);
  }

  settle(metered: Metered, delivered: boolean): Promise<MicroCredits> {
    const { admission, hold } = this.#parts;
    if (isPlausible(metered, admission, hold)) return this.#end({ outcome: "completed", metered, delivered });
    // What cannot be is never taken from the free balance: the hold is the most that was agreed to.
    const clamped = withFlag(metered, "clamped");
    return this.#end({ outcome: "completed", metered: clamped, most: hold.amount, delivered });
  }

  settleBroken(metered: Metered | undefined, error: Error): Promise<MicroCredits> {
    const { hold, record } = this.#parts;
    noteUpstreamError(record, error);
    const partial = metered === undefined ? undefined : withFlag(metered, "partial");
    const outcome = toGatewayError(error).kind;
    return this.#end({ outcome, metered: partial, most: hold.amount, delivered: true });
  }

  settleLeft(metered: Metered | undefined): Promise<MicroCredits> {
    const { admission, hold } = this.#parts;
    // Nothing went out yet, so nothing was used.
    if (this.#attempts.length === 0)
      return this.#end({ outcome: "client_gone", metered: undefined, delivered: true });
    const seen = metered ?? {
      usage: { ...NO_USAGE, input: admission.expectedInput },
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
    const { services, admission, hold, record, memory, pass } = this.#parts;
    try {
      const timeline = this.#timeline();
      record.called(timeline.attempts);
      if (metered === undefined) {
        record.note({ outcome, credit: "0" });
        await services.ledger.void(hold, { outcome, timeline });
        return 0n;
      }
      const { usage, cost } = admission.plan.charge(metered.usage);
      const used = most !== undefined && cost > most ? most : cost;
      const { flags } = metered;
      const settlement = { delivered, used, usage, flags, outcome, timeline };
      const charged = await services.ledger.settle(hold, settlement);
      record.charged(usage, charged);
      record.note({
        outcome,
        credit: creditsText(charged),
        input_tokens: inputTokens(usage),
        output_tokens: outputTokens(usage),
      });
      if (flags.length > 0) record.note({ usage_flags: flags });
      return charged;
    } finally {
      services.live.delete(this);
      memory.hold(0);
      pass?.end(tokensOf(metered));
    }
  }

  #timeline(): RequestTimeline {
    const { services, admission, heldAtMs } = this.#parts;
    return {
      provider: admission.provider.id,
      admittedAtMs: admission.admittedAtMs,
      heldAtMs,
      firstByteAtMs: this.#firstByteAtMs,
      endedAtMs: services.clock.nowMs(),
      attempts: this.#attempts,
    };
  }
}

const NO_HEADERS: Readonly<Record<string, string>> = {};
const NO_PADDING: readonly string[] = [];

/** What counts against a limit on tokens. Counts that cannot be true could lock a key out: the guess stands then. */
function tokensOf(metered: Metered | undefined): UsedTokens | "as_guessed" {
  if (metered === undefined) return { input: 0, output: 0 };
  if (metered.flags.includes("clamped")) return "as_guessed";
  return { input: inputTokens(metered.usage), output: outputTokens(metered.usage) };
}

/** Counts somewhat above a bound happen: vendors end a word, and count their own marks. */
const SLACK = 1.25;

/** Whether a count can be true: no number was bent, no more output than was asked for, no more input than fits. */
function isPlausible(metered: Metered, admission: CallAdmission<CalledFormat>, hold: Hold): boolean {
  if (metered.flags.includes("clamped")) return false;
  const asked = admission.mostOutput ?? (hold.outputTokens ?? Infinity) * admission.choices;
  const { tokens, asCounted } = admission.mostReasoning;
  const onTop = asCounted ? Math.min(metered.usage.reasoning, tokens) : tokens;
  if (outputTokens(metered.usage) > (asked + onTop) * SLACK + 256) return false;
  if ((metered.usage.webSearches ?? 0) > admission.mostSearches) return false;
  const room = (admission.model.totalContext ?? Infinity) * admission.inputReads;
  return inputTokens(metered.usage) <= room * SLACK;
}

const MAX_REFUSAL_BYTES = 1024 * 1024;

/** Whether the answer has a good status and a content type that fits. */
function isAnswer({ status, contentType }: UpstreamAnswer, stream: boolean): boolean {
  return (
    status >= 200 && status < 300 && contentType.toLowerCase().includes(stream ? "text/event-stream" : "json")
  );
}

/** The error for anything else. */
async function refusalOf(
  answer: UpstreamAnswer,
  stream: boolean,
  protocol: CalledFormat,
  context: AnswerContext,
): Promise<GatewayError> {
  const { status, contentType, retryAfter } = answer;
  if (status >= 300 && status < 400) {
    const message = "The provider answered with a redirect, which is not followed.";
    return new GatewayError("upstream_error", message, { operatorFault: true });
  }
  const isGood = status >= 200 && status < 300;
  // A provider that answers a streamed request with JSON says what is wrong in it.
  if (isGood && !(stream && contentType.toLowerCase().includes("json")))
    return new GatewayError(
      "upstream_error",
      "The provider answered with something that is no model answer.",
    );
  const body = await answer.readAll(MAX_REFUSAL_BYTES);
  return protocol.readRefusal({ status, body, retryAfter }, context);
}

function withFlag(metered: Metered, flag: UsageFlag): Metered {
  return metered.flags.includes(flag) ? metered : { usage: metered.usage, flags: [...metered.flags, flag] };
}

/** What upstream said goes to the log, redacted, and to nobody else. */
function noteUpstreamError(record: RequestRecord, error: Error): void {
  const operatorFault = error instanceof GatewayError && error.operatorFault;
  record.note({ upstream_error: describeError(error), ...(operatorFault ? { operator_fault: true } : {}) });
}
